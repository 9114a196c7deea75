import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { reconnectLink } from '../../src/accounts/install.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { redisOfFile } from '../support/of-file.ts'
import { ACCESS_TOKEN, openServer, REFRESH_TOKEN } from './open-server.ts'

const redis = redisOfFile()

const SECRET = 'a-secret-of-the-vendor'
const CODE = 'code-that-nobody-may-see'

/** The guide's own code, as a vendor would copy it. */
const GUIDE = readFileSync(new URL('../../config/guide/install.md', import.meta.url), 'utf8')
const [, SNIPPET = ''] = /```js\n([\s\S]*?)```/.exec(GUIDE) ?? []
const { connectedAccount } = (await import(`data:text/javascript,${encodeURIComponent(SNIPPET)}`)) as {
  connectedAccount(address: string, secret: string, now?: number): number | undefined
}

async function open(url = 'https://app.example.com/connected?from=plimsoll&hubId=1') {
  const opened = await openServer(redis, { afterInstall: { url, secret: new Secret(SECRET) } })
  opened.provider.customer = { hubId: 123, hubDomain: 'acme.example.com' }
  const install = async (more = '', link?: string) => {
    const { headers } = await opened.ask('GET', link ?? '/install')
    const state = new URL(String(headers.location)).searchParams.get('state') ?? ''
    const path = `/oauth/callback?code=${CODE}&state=${state}${more}`
    const answer = await opened.ask('GET', path)
    return { ...answer, state, path, to: String(answer.headers.location) }
  }
  return { ...opened, install }
}

describe('after an install the customer goes to the address of the config', () => {
  test('which the code of the guide takes for five minutes, and not changed', async () => {
    const { install, clock } = await open()
    const { status, to, headers } = await install()
    expect(status).toBe(302)
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
    const until = Math.ceil((clock.now() + 300_000) / 1_000)
    expect([...new URL(to).searchParams.keys()]).toEqual(['from', 'hubId', 'outcome', 'until', 'signature'])
    expect(to).toMatch(
      new RegExp(`^https://app.example.com/connected\\?from=plimsoll&hubId=123&outcome=connected&until=${until}&`),
    )

    const now = clock.now()
    expect(connectedAccount(to, SECRET, now)).toBe(123)
    expect(connectedAccount(to, SECRET, until * 1_000 - 1)).toBe(123)
    expect(connectedAccount(to, SECRET, until * 1_000)).toBeUndefined()
    expect(connectedAccount(to, 'another-secret-of-theirs', now)).toBeUndefined()
    for (const [from, by] of [
      ['hubId=123', 'hubId=124'],
      ['outcome=connected', 'outcome=reconnected'],
      [`until=${until}`, `until=${until + 1}`],
      [/&signature=.*/, ''],
      [/signature=./, 'signature=%C3%A9'],
      [/signature=(..).*/, 'signature=$1'],
    ] as const) {
      expect(connectedAccount(to.replace(from, by), SECRET, now), String(from)).toBeUndefined()
    }
  })

  test('with no token, code, state or name in it, also where the account was connected before', async () => {
    const { install, deps, clock, connectAccount, logs } = await open()
    await connectAccount({ hubId: 123, hubDomain: 'acme.example.com' })
    const link = reconnectLink(deps.connect.vault, '', 123, clock.now()).url
    const { to, state } = await install('', link)
    expect(new URL(to).searchParams.get('outcome')).toBe('reconnected')
    expect(connectedAccount(to, SECRET, clock.now())).toBe(123)
    for (const secret of [ACCESS_TOKEN, REFRESH_TOKEN, CODE, state, SECRET, 'acme']) expect(to).not.toContain(secret)
    expect(logs.text()).not.toContain(new URL(to).searchParams.get('signature'))
  })

  test('and to no address that a request names', async () => {
    const { install } = await open()
    const elsewhere = encodeURIComponent('https://elsewhere.example')
    const { to } = await install(`&afterInstall=${elsewhere}&redirect_uri=${elsewhere}&next=${elsewhere}`)
    expect(to).toMatch(/^https:\/\/app\.example\.com\/connected\?/)
    expect(to).not.toContain('elsewhere')
  })

  test('again where the success is loaded again', async () => {
    const { install, ask, clock } = await open()
    const { path } = await install()
    clock.move(600_000)
    const { status, headers } = await ask('GET', path)
    expect([status, connectedAccount(String(headers.location), SECRET, clock.now())]).toEqual([302, 123])
  })
})

test('what is no success keeps its page', async () => {
  const { install, ask, provider, beginInstall, deps, clock } = await open()
  const link = reconnectLink(deps.connect.vault, '', 7, clock.now()).url
  const statuses = [(await install('', link)).status]
  statuses.push((await ask('GET', `/oauth/callback?error=access_denied&state=${await beginInstall()}`)).status)
  statuses.push((await ask('GET', `/oauth/callback?code=${CODE}&state=forged`)).status)
  provider.metadataFailure = { class: 'forbidden', code: 'x', message: 'not now', status: 403 }
  const parked = await install()
  statuses.push(parked.status, (await ask('GET', parked.path)).status)
  provider.tokenFailure = { class: 'rejected', code: 'x', message: 'x', status: 400 }
  statuses.push((await install()).status)
  expect(statuses).toEqual([409, 403, 400, 202, 202, 422])
})
