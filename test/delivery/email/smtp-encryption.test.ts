import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { SMTPServerOptions } from 'smtp-server'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { mailEncryption } from '../../../src/delivery/receivers/email/email.ts'
import { createEmailReceiver } from '../../../src/delivery/receivers/email/send-email.ts'
import { checkReceiver } from '../../../src/doctor/receivers.ts'
import { Secret } from '../../../src/runtime/secret.ts'
import { type Authority, type Certificate, openAuthority, selfSignedCertificate } from '../authority.ts'
import { aMessage, NOW } from '../example-messages.ts'
import { startMailServer } from './mail-server.ts'
import { startStripper } from './smtp-line.ts'

const THIS_MACHINE = 'DNS:localhost,IP:127.0.0.1'
const never = new AbortController().signal
const trustedBefore = getCACertificates('default')

let trusted: Authority
let unknown: Authority
let certificates: Record<string, Certificate>
beforeAll(() => {
  trusted = openAuthority('one that this machine trusts')
  unknown = openAuthority('one that nobody knows')
  setDefaultCACertificates([...trustedBefore, trusted.cert])
  certificates = {
    good: trusted.certify(THIS_MACHINE),
    'for another host': trusted.certify('DNS:mail.example.com'),
    expired: trusted.certify(THIS_MACHINE, -1),
    'of an unknown issuer': unknown.certify(THIS_MACHINE),
    'self-signed': selfSignedCertificate(),
  }
})
afterAll(() => {
  setDefaultCACertificates(trustedBefore)
  trusted.close()
  unknown.close()
})

async function aServer(certificate: string, options: SMTPServerOptions = {}) {
  const logins: string[] = []
  const server = await startMailServer({
    ...certificates[certificate],
    onAuth: ({ username = '' }, _session, callback) => {
      logins.push(username)
      callback(null, { user: username })
    },
    ...options,
  })
  onTestFinished(server.close)
  return { ...server, logins }
}

function open(url: string, tls: 'required' | 'optional' = 'required') {
  const receiver = createEmailReceiver({
    name: 'ops-mail',
    ehlo: 'plimsoll.example.com',
    smtp: new Secret(url),
    from: 'plimsoll@example.com',
    to: ['ops@example.com'],
    tls,
    timeoutMs: 10_000,
  })
  onTestFinished(() => receiver.close())
  return receiver
}

function send(...where: Parameters<typeof open>) {
  return open(...where).send({ id: 'd-1', message: aMessage(), now: NOW }, never)
}

describe.each(['smtp', 'smtps'])('over %s, with encryption required,', (scheme) => {
  const url = (port: number) => `${scheme}://ops:hunter2@127.0.0.1:${port}`
  const from = (certificate: string) => aServer(certificate, { secure: scheme === 'smtps' })

  test('a server whose certificate is good gets login and mail, encrypted', async () => {
    const server = await from('good')
    expect(await send(url(server.port))).toMatchObject({ outcome: 'delivered' })
    expect(server.arrived).toMatchObject([{ encrypted: true, user: 'ops', recipients: ['ops@example.com'] }])
  })

  test.each([
    ['for another host', 'certificate is for another host name'],
    ['expired', 'certificate has expired'],
    ['of an unknown issuer', 'certificate is from an unknown issuer'],
    ['self-signed', 'certificate is self-signed'],
  ])('a certificate %s is refused, said so, and nothing is told to the server', async (certificate, reason) => {
    const server = await from(certificate)
    expect(await send(url(server.port))).toMatchObject({ outcome: 'retry', reason })
    expect(await open(url(server.port)).verify()).toEqual({ reason })
    expect(server.arrived).toEqual([])
    expect(server.logins).toEqual([])
  })
})

describe('where the config says insecure: true,', () => {
  const attempt = async (url: string) => {
    const mail = { smtp: new Secret(url), insecure: true }
    const settings = { ...mail, type: 'email', from: 'a@example.com', to: ['b@example.com'] } as const
    const checked = await checkReceiver('ops-mail', settings, 'https://plimsoll.example.com/', never)
    return { checked: checked.level, ...(await send(url, mailEncryption(mail))) }
  }

  test.each([
    ['for another host', 'certificate is for another host name'],
    ['of an unknown issuer', 'certificate is from an unknown issuer'],
    ['self-signed', 'certificate is self-signed'],
  ])('a certificate %s is refused behind smtps:// all the same', async (certificate, reason) => {
    const server = await aServer(certificate, { secure: true })
    const url = `smtps://ops:hunter2@127.0.0.1:${server.port}`
    expect(await attempt(url)).toEqual({ checked: 'fail', outcome: 'retry', reason })
    expect([server.arrived, server.logins]).toEqual([[], []])
  })

  test('a certificate that nobody vouches for will do behind smtp://', async () => {
    const server = await aServer('self-signed')
    expect(await send(`smtp://ops%40example.com:hunter2@127.0.0.1:${server.port}`, 'optional')).toMatchObject({
      outcome: 'delivered',
    })
    expect(server.arrived).toMatchObject([{ encrypted: true, user: 'ops@example.com' }])
  })

  test('smtp:// goes through without TLS', async () => {
    const server = await aServer('good', { disabledCommands: ['STARTTLS'] })
    expect(await attempt(`smtp://ops:hunter2@127.0.0.1:${server.port}`)).toMatchObject({
      checked: 'ok',
      outcome: 'delivered',
    })
  })
})

test('whoever takes the offer of encryption out of the conversation learns neither login nor mail', async () => {
  const server = await aServer('good')
  const stripper = await startStripper(server.port)
  onTestFinished(stripper.close)
  expect(await send(`smtp://ops:hunter2@127.0.0.1:${stripper.port}`)).toMatchObject({
    outcome: 'retry',
    reason: 'no encrypted connection, STARTTLS refused: 454 4.7.0 not now',
  })
  expect(stripper.heard.map((line) => line.split(' ')[0])).toEqual(['EHLO', 'STARTTLS'])
  expect([server.arrived, server.logins]).toEqual([[], []])
})

test('a server that offers no encryption gets nothing', async () => {
  const server = await aServer('good', { disabledCommands: ['STARTTLS'] })
  expect(await send(`smtp://ops:hunter2@127.0.0.1:${server.port}`)).toMatchObject({
    outcome: 'retry',
    reason: expect.stringMatching(/^no encrypted connection, STARTTLS refused: 50\d /),
  })
  expect([server.arrived, server.logins]).toEqual([[], []])
})
