import { readFileSync, statSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createKeys } from '../../src/redis/keys.ts'
import { putAccess, sealedAccess } from '../support/accounts.ts'
import { plimsollHere } from '../support/command.ts'
import type { Daemon } from '../support/daemon.ts'
import { ADMIN_TOKEN, connectAccount, connectAll, eventually, hubIdsOf, journalOf } from '../support/fleet.ts'
import { openScene, type Scene } from '../support/scene.ts'

describe('a token that the first start makes', () => {
  /** A daemon that was started for the first time, by a config without any token, and a proxy that says nothing of itself. */
  let scene: Scene
  let daemon: Daemon
  let proxyUrl: string
  let endProxy = () => {}
  const hubId = 1_000_001

  beforeAll(async () => {
    scene = await openScene({ accounts: 1 })
    daemon = await scene.daemon({ http: { adminToken: undefined } })
    await connectAccount(daemon.url, hubId)
    const proxy = createServer((incoming, outgoing) => {
      const { host: _, connection: __, ...headers } = incoming.headers
      const { hostname, port } = new URL(daemon.url)
      // HTTP/1.1, the Host of the daemon itself, no header of a proxy: what nginx does by `proxy_pass` alone from 1.29.7 on.
      const onwards = request({ hostname, port, path: incoming.url, method: incoming.method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(outgoing)
      })
      incoming.pipe(onwards)
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    endProxy = () => void proxy.close()
  })
  afterAll(async () => {
    endProxy()
    await scene.close()
  })

  const ASKED = [
    ['GET', '/'],
    ['GET', '/accounts'],
    ['GET', '/no-such-page'],
    ['POST', '/deliveries/replay'],
    ['GET', '/api/v1/accounts'],
    ['GET', `/api/v1/accounts/${hubId}/token`],
    ['POST', `/api/v1/accounts/${hubId}/uninstall`],
    ['POST', `/api/v1/accounts/${hubId}/refresh`],
    ['GET', '/metrics'],
  ] as const

  test('a first start without any token in the config answers 401 to whoever has none, through a proxy and from this machine', async () => {
    for (const url of [proxyUrl, daemon.url]) {
      for (const [method, path] of ASKED) {
        expect([method, path, (await fetch(url + path, { method, redirect: 'manual' })).status]).toEqual([
          method,
          path,
          401,
        ])
      }
      for (const path of ['/healthz', '/readyz']) expect((await fetch(url + path)).status, path).toBe(200)
      expect((await fetch(`${url}/install`, { redirect: 'manual' })).status).toBe(302)
      expect((await fetch(`${url}/oauth/callback`)).status).toBe(400)
    }
  })

  test('and has made a token, for this user alone, that opens them: the log says where it is, never what it is', async () => {
    const file = join(scene.folder, 'data', 'admin-token')
    const token = readFileSync(file, 'utf8').trim()
    expect(token).toMatch(/^plm_[\w-]{43}$/)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const log = daemon.lines.join('\n')
    expect(log).toContain(`${daemon.url}/sign-in`)
    expect(log).toContain(file)
    expect(log).not.toContain(token)
    const answer = await fetch(`${proxyUrl}/api/v1/accounts/${hubId}/token`, {
      headers: { authorization: `Bearer ${token}` },
    })
    expect(await answer.json()).toMatchObject({ accessToken: expect.any(String) })
  })
})

describe('tokens of accounts, and named ones', () => {
  /** What the vendor's own services see: two daemons, named tokens, one refresh. */
  let scene: Scene
  let config: string
  let daemons: [Daemon, Daemon]
  let hubIds: number[]

  beforeAll(async () => {
    scene = await openScene({ accounts: 3, tokenLifetimeMs: 1_800_000 })
    // After the first poll nobody but who asks for a token has a reason to refresh.
    const settings = { limits: { every: '1h', associations: [] } }
    daemons = [await scene.daemon(settings), await scene.daemon(settings)]
    config = await scene.configFile(settings)
    hubIds = await hubIdsOf(scene.sandbox.url)
    await connectAll(daemons[0].url, hubIds)
    await eventually('the first polls', async () => {
      const polled = (await journalOf(scene.sandbox.url)).filter(({ endpoint }) => endpoint === 'customProperties')
      return new Set(polled.map(({ hubId }) => hubId)).size === hubIds.length
    })
  })
  afterAll(() => scene.close())

  interface Served {
    accessToken: string
    expiresAt: string
    expiresIn: number
    scopes: string[]
  }

  const adminTokens = (...args: string[]) => plimsollHere(['admin-tokens', ...args, '--config', config], scene.folder)
  const ask = (daemon: Daemon, path: string, token = ADMIN_TOKEN) =>
    fetch(daemon.url + path, { headers: { authorization: `Bearer ${token}` } })

  test('200 who ask two daemons at once for a token that has expired make one refresh, and all get its token', async () => {
    const [hubId] = hubIds as [number]
    const store = scene.redis.connect()
    const past = Date.now() - 1
    const keys = createKeys('plimsoll')
    await store.hset(keys.account(hubId).account, { obtainedAt: past - 1_800_000, expiresAt: past })
    await putAccess(store, keys, (await sealedAccess(store, keys, hubId)) ?? '', hubId)
    const before = await refreshesOf(hubId)
    const answers = await Promise.all(
      Array.from({ length: 200 }, async (_, n) => {
        const response = await ask(daemons[n % 2] as Daemon, `/api/v1/accounts/${hubId}/token`)
        return { status: response.status, ...((await response.json()) as Served) }
      }),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(new Set(answers.map(({ accessToken }) => accessToken)).size).toBe(1)
    expect((await refreshesOf(hubId)) - before).toBe(1)
    expect(answers[0]).toMatchObject({ scopes: ['oauth', 'crm.objects.contacts.read'], expiresIn: expect.any(Number) })
    expect(await isTaken(answers[0]?.accessToken ?? '')).toBe(true)
  })

  /** How often a daemon gave `billing` a token: also until it has heard that there is no `billing` any more. */
  let servedToBilling = 0

  test('a named token is made by a command, works within two seconds, is listed without itself, and ends by a command', async () => {
    const [daemon] = daemons
    const path = `/api/v1/accounts/${hubIds[1]}/token`
    const added = await adminTokens('add', 'billing', '--scopes', 'tokens', '--json')
    expect(added).toMatchObject({ code: 0, err: expect.stringContaining('billing may: tokens') })
    const { token } = JSON.parse(added.out) as { token: string }
    const askForBilling = async () => {
      const { status } = await ask(daemon, path, token)
      if (status === 200) servedToBilling++
      return status
    }
    await eventually('the daemon to take it', async () => (await askForBilling()) === 200, 2_000)
    expect((await ask(daemon, '/api/v1/status', token)).status).toBe(403)

    expect(await adminTokens('add', 'billing', '--scopes', 'read')).toMatchObject({
      code: 1,
      err: 'plimsoll: there is a token billing already: plimsoll admin-tokens remove billing ends it\n',
    })
    const forPeople = await adminTokens('add', 'ann', '--scopes', 'write,read')
    expect(forPeople.out).toMatch(/^plm_[\w-]{43}\n$/)
    expect(forPeople.err).toBe('plimsoll: Keep it: it is shown this once. ann may: read, write\n')
    const ann = forPeople.out.trim()
    const listed = await eventually('its use', async () => {
      const { out } = await adminTokens('list', '--json')
      return /"billing"[^}]*"lastUsedAt":"/.test(out) && out
    })
    expect(JSON.parse(listed)).toMatchObject([
      { name: 'ann', scopes: ['read', 'write'] },
      { name: 'billing', scopes: ['tokens'] },
    ])
    expect((await adminTokens('list')).out).toMatch(/^NAME +SCOPES +AGE +LAST USED\nann +read,write +\d+ s/)

    await eventually('ann to be known', async () => (await ask(daemon, '/api/v1/status', ann)).status === 200, 2_000)
    const account = await (await ask(daemon, `/api/v1/accounts/${hubIds[1]}`, ann)).json()
    expect(account).toMatchObject({ tokenServedTo: 'billing' })
    const shown = await plimsollHere(['accounts', 'show', String(hubIds[1]), '--config', config], scene.folder)
    expect(shown.out).toMatch(/token served +\d{4}-\d\d-\d\d \d\d:\d\d UTC billing/)

    expect((await adminTokens('remove', 'billing')).out).toContain('billing is removed')
    await eventually('its end', async () => (await askForBilling()) === 401, 2_000)
    expect(await adminTokens('remove', 'billing')).toMatchObject({
      code: 1,
      err: 'plimsoll: there is no token billing: plimsoll admin-tokens list shows all\n',
    })
    expect(JSON.parse((await adminTokens('remove', 'ann', '--json')).out)).toEqual({ name: 'ann', outcome: 'removed' })
    for (const { lines } of daemons) {
      expect(lines.join('\n')).toContain('"token.served"')
      expect(lines.join('\n')).not.toMatch(new RegExp(`${token}|${ann}|plm_`))
    }
  })

  test('whoever removes the last named token is told what opens pages and API now', async () => {
    await adminTokens('add', 'ann', '--scopes', 'read')
    await adminTokens('add', 'bob', '--scopes', 'read')
    expect((await adminTokens('remove', 'ann')).out).not.toContain('last')
    expect((await adminTokens('remove', 'bob')).out).toMatch(
      /Pages and API now accept http\.adminToken of the config\n$/,
    )
    const dataDir = join(scene.folder, 'without')
    const without = await scene.configFile({ dataDir, http: { adminToken: undefined } })
    await adminTokens('add', 'eve', '--scopes', 'read')
    const { out } = await plimsollHere(['admin-tokens', 'remove', 'eve', '--config', without], scene.folder)
    expect(out).toContain(`Pages and API now accept the token in ${join(dataDir, 'admin-token')}\n`)
  })

  test('what the daemon refreshed for who asked counts in its metrics', async () => {
    const texts = await Promise.all(daemons.map(async (daemon) => (await ask(daemon, '/metrics')).text()))
    const sum = (pattern: RegExp) => texts.reduce((total, text) => total + Number(pattern.exec(text)?.[1] ?? 0), 0)
    expect(sum(/^plimsoll_token_refreshes_total\{outcome="refreshed"\} (\d+)$/m)).toBe(1)
    expect(sum(/^plimsoll_access_tokens_served_total\{to="config"\} (\d+)$/m)).toBeGreaterThanOrEqual(200)
    expect(sum(/^plimsoll_access_tokens_served_total\{to="billing"\} (\d+)$/m)).toBe(servedToBilling)
  })

  async function refreshesOf(hubId: number): Promise<number> {
    const journal = await journalOf(scene.sandbox.url)
    return journal.filter((entry) => entry.hubId === hubId && entry.grant === 'refresh_token').length
  }

  /** By the provider itself. */
  async function isTaken(accessToken: string): Promise<boolean> {
    return (await fetch(`${scene.sandbox.url}/oauth/v1/access-tokens/${encodeURIComponent(accessToken)}`)).ok
  }
})
