import { describe, expect, onTestFinished, test } from 'vitest'
import { createEmailReceiver } from '../../../src/delivery/receivers/email/send-email.ts'
import { Secret } from '../../../src/runtime/secret.ts'
import { aMessage, NOW } from '../example-messages.ts'
import { type Stage, startSmtpLine } from './smtp-line.ts'

const STAGES: Stage[] = ['greeting', 'EHLO', 'AUTH', 'MAIL', 'RCPT', 'DATA', 'message']

/** What a refusal at a stage is called. */
const REFUSED: Record<Stage, string> = {
  greeting: 'refused',
  EHLO: 'refused as plimsoll.example.com (EHLO, setting name)',
  AUTH: 'login refused',
  MAIL: 'sender or recipients refused',
  RCPT: 'sender or recipients refused',
  DATA: 'message refused',
  message: 'message refused',
}

test('a connection that ends behind the message: it is not sent again in the same attempt, for it may have arrived', async () => {
  const server = await startSmtpLine('message', 'closes')
  onTestFinished(server.close)
  expect(await sendBy(server.port)).toMatchObject({ outcome: 'retry' })
  expect(server.heard.filter((line) => line === 'DATA')).toHaveLength(1)
})

async function sendTo(stage: Stage, then: Parameters<typeof startSmtpLine>[1], timeoutMs = 5_000) {
  const server = await startSmtpLine(stage, then)
  onTestFinished(server.close)
  return sendBy(server.port, timeoutMs)
}

function sendBy(port: number, timeoutMs = 5_000) {
  const smtp = new Secret(`smtp://ops:hunter2@127.0.0.1:${port}`)
  const addresses = { from: 'plimsoll@example.com', to: ['ops@example.com'] }
  const receiver = createEmailReceiver({
    name: 'ops-mail',
    ehlo: 'plimsoll.example.com',
    smtp,
    ...addresses,
    tls: 'optional',
    timeoutMs,
  })
  onTestFinished(() => receiver.close())
  return receiver.send({ id: 'd-1', message: aMessage(), now: NOW }, new AbortController().signal)
}

test('a server that agrees to everything has the mail', async () => {
  expect(await sendTo('message', { says: '250 taken' })).toMatchObject({ outcome: 'delivered' })
})

describe.each(STAGES)('at %s', (stage) => {
  test.each(['421 4.3.2 shutting down', '450 4.2.0 come back later', '550 5.7.1 not you', '554 5.0.0 no'])(
    'the answer "%s" is quoted, and tried again later unless it refuses the login',
    async (says) => {
      const isRefused = stage === 'AUTH' && says.startsWith('5')
      const reason = `${REFUSED[stage]}: ${says}`
      const outcome = isRefused ? { outcome: 'disable', waits: true, reason } : { outcome: 'retry', reason }
      expect(await sendTo(stage, { says })).toMatchObject(outcome)
    },
  )

  test('a connection that ends is tried again later', async () => {
    expect(await sendTo(stage, 'closes')).toMatchObject({
      outcome: 'retry',
      reason: expect.stringMatching(/^(the mail server closed the connection|the connection was dropped)$/),
    })
  })

  test('a server that goes silent is given up on, and tried again later', async () => {
    expect(await sendTo(stage, 'is silent', 300)).toMatchObject({
      outcome: 'retry',
      reason: expect.stringMatching(/^timed out/),
    })
  })

  test('an answer that is none is tried again later', async () => {
    expect(await sendTo(stage, { says: 'HTTP/1.1 400 Bad Request' }, 500)).toMatchObject({ outcome: 'retry' })
  })
})
