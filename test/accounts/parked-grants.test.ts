import { expect, onTestFinished, test, vi } from 'vitest'
import { sweepGrants } from '../../jobs/sweep.ts'
import { connectWithCode } from '../../src/accounts/connect-account.ts'
import { beginUninstall } from '../../src/accounts/uninstall.ts'
import { createProviderClient } from '../../src/provider/client.ts'
import type { DialectName } from '../../src/provider/dialects.ts'
import { NO_ACCOUNT } from '../../src/redis/steps.ts'
import { Secret } from '../../src/runtime/secret.ts'
import type { Fault } from '../../src/sandbox/faults.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { keepGrant, newGrantId, readGrant, takeIntent, tokensOf } from '../../src/tokens/parked-grants.ts'
import { rekeyAll } from '../../src/tokens/rekey.ts'
import { createVault } from '../../src/tokens/vault.ts'
import { dump, storedTokens, vaultKey } from '../support/accounts.ts'
import { journalOf, send } from '../support/fleet.ts'
import { HandClock } from '../support/hand-clock.ts'
import { redisOfFile } from '../support/of-file.ts'
import { uninstallNow } from '../support/uninstall-now.ts'
import { openWorld } from '../support/world.ts'

const redis = redisOfFile()
const HUB = 1_000_001
const MINUTE = 60_000
const REDIRECT = 'https://plimsoll.example.com/oauth/callback'
const APP = { clientId: 'the-client', clientSecret: 'the-client-secret' }

/** A provider that is asked over HTTP, and whose clock is ours. */
async function begun(dialect: DialectName = 'v1') {
  const clock = new HandClock()
  const sandbox = await startSandbox(
    {
      port: 0,
      smtpPort: 0,
      accounts: 1,
      tokenLifetimeMs: 30 * MINUTE,
      rotateRefreshTokens: true,
      scenario: 'steady',
      ...APP,
    },
    clock,
  )
  onTestFinished(() => sandbox.close())
  const provider = createProviderClient({
    dialect,
    baseUrl: sandbox.url,
    redirectUri: REDIRECT,
    timeoutMs: 10_000,
    connections: 2,
    clock,
    clientId: APP.clientId,
    clientSecrets: [new Secret(APP.clientSecret)],
  })
  onTestFinished(() => provider.close())
  const w = await openWorld(redis, { clock, change: () => ({ provider }) })
  const { services: deps, keys } = w
  const account = () => deps.registry.get(HUB)
  const fault = (fault: Fault) => send(`${sandbox.url}/sandbox/faults`, 'POST', fault)
  const code = async () => {
    const query = new URLSearchParams({
      client_id: APP.clientId,
      redirect_uri: REDIRECT,
      scopes: 'oauth crm.objects.contacts.read',
      account: String(HUB),
      state: 'x',
    })
    const approved = await fetch(`${sandbox.url}/oauth/authorize?${query}`, { method: 'POST', redirect: 'manual' })
    return new Secret(new URL(approved.headers.get('location') ?? '').searchParams.get('code') ?? '')
  }
  /** Where it pauses before it asks again, its time is over at once. */
  const patiently = async <T>(work: Promise<T>): Promise<T> => {
    let isOver = false
    const working = work.finally(() => {
      isOver = true
    })
    const patience = async () => {
      for (;;) {
        await clock.sleeper()
        if (isOver) return working
        clock.move(3_000)
      }
    }
    return Promise.race([working, patience()])
  }
  /** A callback. */
  const install = async () => patiently(connectWithCode(deps, await code()))
  return {
    ...w,
    deps,
    account,
    fault,
    install,
    stored: () => storedTokens(redis.store, keys, HUB),
    /** A callback whose account the provider does not tell. */
    park: async (status = 500) => {
      await fault({ endpoint: 'metadata', status })
      expect(await install()).toMatchObject({ is: 'parked', failure: { status } })
    },
    isAlive: async (refreshToken: string | undefined) => (await provider.refresh(new Secret(refreshToken ?? ''))).ok,
    uninstall: async (isDone = true, more: { uninstallKeepMs?: number } = {}) => {
      expect(await beginUninstall(deps, HUB, { by: 'cli', reason: 'asked for' })).toBe('begun')
      if (isDone) expect(await uninstallNow({ ...deps, ...more }, HUB)).toEqual({ is: 'finished' })
    },
    /** Of an install whose callback died with it, or hung. */
    grant: async () => {
      const version = await takeIntent(deps)
      const answer = await provider.exchangeCode(await code())
      if (!answer.ok || answer.value.refreshToken === undefined) throw new Error('no grant')
      const tokens = tokensOf(answer.value, answer.value.refreshToken, clock.now())
      const grant = { id: newGrantId(), version, grantedAt: clock.now(), only: undefined, ...tokens }
      expect(await keepGrant(deps, grant)).toBe(true)
      return grant
    },
    works: () => send(`${sandbox.url}/sandbox/faults`, 'DELETE'),
    /** As the clock would sweep, for so long. */
    pass: async (ms: number) => {
      for (const end = clock.now() + ms; clock.now() < end; ) {
        clock.move(MINUTE / 2)
        await patiently(sweepGrants(deps))
      }
    },
    calls: async (endpoint: string) =>
      (await journalOf(sandbox.url)).filter((entry) => entry.endpoint === endpoint).map(({ status }) => status),
    kept: async () => Object.keys(await dump(redis.store, keys)).filter((key) => /:(due:grant$|grant:)/.test(key)),
  }
}

test('a grant whose metadata fails for a minute is kept sealed, and connected within a minute after', async () => {
  const { deps, keys, logged, woken, account, park, works, pass, kept } = await begun()
  await park(404)
  await pass(MINUTE)
  expect(await account()).toBeUndefined()
  const [key = ''] = (await kept()).filter((name) => name.includes(':grant:'))
  const { grant } = (await readGrant(deps, key.split(':').at(-1) ?? '')) ?? {}
  const secrets = [grant?.access.reveal() ?? 'none', grant?.refresh.reveal() ?? 'none']
  for (const value of Object.values(await dump(redis.store, keys))) {
    for (const secret of secrets) expect(Buffer.from(value ?? '', 'hex').toString('latin1')).not.toContain(secret)
  }
  await works()
  await pass(MINUTE)
  expect(await account()).toMatchObject({ state: 'active', hubDomain: expect.stringContaining('.') })
  expect([await kept(), woken]).toEqual([[], ['poll-limits', 'alerts']])
  for (const secret of secrets) expect(logged.text()).not.toContain(secret)
})

test('a grant whose metadata fails for an hour is given up, and told', async () => {
  const { logged, account, park, works, pass, calls, kept } = await begun()
  await park()
  await pass(59 * MINUTE)
  expect(await kept()).toEqual([expect.any(String), expect.any(String)])
  await pass(2 * MINUTE)
  // The access token lives for half an hour: it was redeemed anew.
  expect([await calls('token'), await calls('delete'), await kept()]).toEqual([[200, 200, 200], [], []])
  const told = logged.lines().filter(({ code }) => String(code).startsWith('grant.'))
  expect(told).toMatchObject([{ level: 'error', code: 'grant.given-up', msg: expect.stringContaining('500') }])
  await works()
  await pass(MINUTE)
  expect([await kept(), await account()]).toEqual([[], undefined])
})

test('a grant is kept for as long as the token endpoint accepts no calls', async () => {
  const { deps, account, park, works, pass, kept } = await begun()
  await park()
  const closed = vi.spyOn(deps.endpoint, 'enter').mockResolvedValue({ is: 'closed', until: 0 })
  await pass(120 * MINUTE)
  expect(await kept()).toHaveLength(2)
  closed.mockRestore()
  await works()
  await pass(MINUTE)
  expect([await kept(), await account()]).toMatchObject([[], { state: 'active' }])
})

test('where the token endpoint says whose the tokens are nobody else need be asked', async () => {
  const { keys, account, fault, install, calls, kept } = await begun('2026-03')
  await fault({ endpoint: 'metadata', status: 500 })
  expect(await install()).toMatchObject({ is: 'connected', hubId: HUB })
  expect([await calls('metadata'), await kept()]).toEqual([[], []])
  expect(await account()).toMatchObject({ state: 'active' })
  expect(await redis.store.hget(keys.account(HUB).account, 'metadataDue')).toBe('1')
})

test('a rekey encrypts what is parked as well', async () => {
  const { deps, grant } = await begun()
  const { id, refresh } = await grant()
  const newer = { id: 'newer', key: Buffer.alloc(32, 9) }
  const watcher = { progress: () => {}, waiting: () => {}, signal: new AbortController().signal }
  const vault = createVault([newer, vaultKey])
  const rekeying = { ...deps, vault, writers: async () => [], sealAdminTokens: async () => {} }
  expect(await rekeyAll(rekeying, watcher)).toMatchObject({ is: 'clean' })
  const read = await readGrant({ ...deps, vault: createVault([newer]) }, id)
  expect(read?.grant.refresh.reveal()).toBe(refresh.reveal())
})

test('an uninstall that is asked for once more counts for what was parked since the first time', async () => {
  const { deps, account, install, park, works, pass } = await begun()
  expect(await install()).toMatchObject({ is: 'connected' })
  expect(await beginUninstall(deps, HUB, { by: 'cli', reason: 'asked for' })).toBe('begun')
  await park()
  expect(await beginUninstall(deps, HUB, { by: 'cli', reason: 'asked for' })).toBe('already')
  await works()
  await pass(2 * MINUTE)
  expect(await account()).toMatchObject({ state: 'uninstalling' })
})

test('an account whose old token led to its uninstall is connected with a grant that was parked before', async () => {
  const { deps, keys, account, install, park, works, pass } = await begun()
  expect(await install()).toMatchObject({ is: 'connected' })
  await park()
  await redis.store.hset(keys.own(HUB), 'state', 'reauthorize', 'rejectedAt', 1)
  const evidence = { by: 'evidence', reason: 'refused', refusedSince: 1 } as const
  expect(await beginUninstall(deps, HUB, evidence)).toBe('begun')
  await works()
  await pass(2 * MINUTE)
  expect(await account()).toMatchObject({ state: 'active' })
})

test('a customer who installs again after an uninstall and a clock set back is connected, although the grant is parked', async () => {
  const { clock, account, install, stored, park, isAlive, uninstall, works, pass, kept } = await begun()
  expect(await install()).toMatchObject({ is: 'connected' })
  await uninstall()
  clock.move(-10 * MINUTE)
  await park()
  await works()
  await pass(2 * MINUTE)
  expect([await account(), await kept()]).toMatchObject([{ state: 'active' }, []])
  expect(await isAlive((await stored()).refresh)).toBe(true)
})

test('an account that was forgotten right away does not come back with a grant that was parked before', async () => {
  const { deps, account, install, park, uninstall, works, pass, kept } = await begun()
  expect(await install()).toMatchObject({ is: 'connected' })
  await park()
  await uninstall(true, { uninstallKeepMs: 0 })
  await works()
  await pass(2 * MINUTE)
  expect(await uninstallNow({ ...deps, uninstallKeepMs: 0 }, HUB)).toEqual({ is: 'finished' })
  expect([await account(), await kept()]).toEqual([undefined, []])
  expect(await install()).toMatchObject({ is: 'connected' })
})

test('the next intent is above the last one, and no lower than the clock of Redis where that is lost', async () => {
  const { keys } = await begun()
  const take = async () => Number(await redis.store.takeIntent(keys.own(NO_ACCOUNT))) / 1_000_000
  const now = Math.floor(Date.now() / 1_000)
  const first = await take()
  expect(first).toBeGreaterThanOrEqual(now)
  await redis.store.hset(keys.fleet, 'intent', now + 60)
  expect([await take(), await take()]).toEqual([now + 61, now + 62])
  await redis.store.hdel(keys.fleet, 'intent')
  expect(await take()).toBeGreaterThanOrEqual(first)
})
