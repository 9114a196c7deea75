import { describe, expect, test } from 'vitest'
import { refreshTokens } from '../../jobs/refresh-tokens.ts'
import { DueSets } from '../../src/accounts/due-sets.ts'
import { Registry } from '../../src/accounts/registry.ts'
import { judgeHealth } from '../../src/checks/health-report.ts'
import { Movement } from '../../src/heartbeat/movement.ts'
import type { ProviderClient } from '../../src/provider/client.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { InFlight } from '../../src/runtime/concurrency.ts'
import { createMetrics } from '../../src/runtime/metrics.ts'
import { TokenStore } from '../../src/tokens/token-store.ts'
import { Unstored } from '../../src/tokens/unstored.ts'
import { HUB, office } from '../accounts/connected.ts'
import { seedAccount } from '../support/accounts.ts'
import { openEndpoint } from '../support/endpoint.ts'
import { failure, tokens } from '../support/fake-provider.ts'
import { eventually } from '../support/fleet.ts'
import { logLines } from '../support/log-lines.ts'
import { redisOfFile } from '../support/of-file.ts'
import { servicesOf } from '../support/services.ts'

const redis = redisOfFile()
const DAY = 86_400_000

/** An account that must be authorised again, its refresh token refused from the first refresh on. */
async function refusedAccount(uninstallAfterRefusedMs: number | 'never') {
  const keys = redis.freshKeys()
  const world = { refresh: async () => failure('rejected') } as { refresh: ProviderClient['refresh'] }
  const { deps, clock } = office(redis.store, keys, { refresh: (token) => world.refresh(token) })
  await seedAccount(redis.store, keys, { obtainedAt: clock.now() })
  const woken: string[] = []
  const due = new DueSets(redis.store, keys)
  const job = {
    ...deps,
    ...{ due, uninstallAfterRefusedMs, metrics: createMetrics(), random: () => 0.5 },
    ...servicesOf(redis.store, keys, 4),
    endpoint: openEndpoint(redis.store, keys, systemClock),
    queues: { wake: async (kind: string) => void woken.push(kind) } as never,
    mend: async () => {},
  }
  const registry = new Registry(redis.store, keys)
  /** Lets the time pass until its next refresh, and tries it. */
  const next = async () => {
    const at = (await due.when('refresh', HUB)) ?? 0
    clock.move(Math.max(0, at - clock.now()))
    await refreshTokens(job, { hubIds: [HUB] }, new AbortController().signal)
    return (await registry.get(HUB))?.state
  }
  while ((await next()) !== 'reauthorize');
  return { ...{ clock, world, woken, due, next }, account: () => registry.get(HUB) }
}

describe('an account whose refresh token is refused for long', () => {
  test('is uninstalled by the first daily probe after the time that the config gives it', async () => {
    const one = await refusedAccount(3 * DAY)
    const since = (await one.account())?.refusedSince ?? 0
    for (const day of [1, 2]) expect(await one.next(), `day ${day}`).toBe('reauthorize')
    expect(one.woken).toEqual(['alerts'])
    expect(one.clock.now() - since).toBeLessThan(3 * DAY)
    expect(await one.next()).toBe('uninstalling')
    expect(await one.account()).toMatchObject({
      uninstall: {
        by: 'evidence',
        reason: `refresh token refused since ${new Date(since).toISOString().slice(0, 10)}`,
      },
    })
    expect(one.woken).toEqual(['alerts', 'uninstall', 'alerts'])
    expect(await one.due.when('refresh', HUB)).toBeNull()
  })

  test('stays for ever where the config says never', async () => {
    const one = await refusedAccount('never')
    for (let day = 0; day < 40; day++) await one.next()
    expect(await one.account()).toMatchObject({ state: 'reauthorize', uninstall: null })
  })

  test('is not uninstalled by a provider that is down on the day', async () => {
    const one = await refusedAccount(DAY)
    one.world.refresh = async () => failure('transient')
    for (let day = 0; day < 5; day++) expect(await one.next()).toBe('reauthorize')
    one.world.refresh = async () => failure('client')
    expect(await one.next()).toBe('reauthorize')
    one.world.refresh = async () => failure('rejected')
    expect(await one.next()).toBe('uninstalling')
  })
})

describe('one account whose refresh hangs', () => {
  test('holds up no other and no job for long, and the daemon is unhealthy until it ends, although others go on', async () => {
    const keys = redis.freshKeys()
    const answer = Promise.withResolvers<Awaited<ReturnType<ProviderClient['refresh']>>>()
    const { deps, clock } = office(redis.store, keys, {
      refresh: (token) => (token.reveal() === 'hangs' ? answer.promise : Promise.resolve(tokens('access-2'))),
    })
    const { log, lines } = logLines()
    const movement = new Movement(clock)
    const job = {
      ...deps,
      ...{ due: new DueSets(redis.store, keys), uninstallAfterRefusedMs: 'never' as const, metrics: createMetrics() },
      ...{ tokens: new TokenStore(redis.store, keys), unstored: new Unstored(() => {}), inFlight: new InFlight(4) },
      ...{ endpoint: openEndpoint(redis.store, keys, systemClock), queues: {} as never, movement, log },
      ...{ random: () => 0.5, mend: async () => {} },
    }
    const state = async (hubId: number) => (await new Registry(redis.store, keys).get(hubId))?.token.generation
    for (const hubId of [1, 2, 3]) {
      const refreshToken = hubId === 1 ? 'hangs' : `refresh-${hubId}`
      await seedAccount(redis.store, keys, { hubId, refreshToken, obtainedAt: clock.now() })
    }
    const signal = new AbortController().signal
    const work = (hubIds: number[]) => movement.watch('refresh-tokens', () => refreshTokens(job, { hubIds }, signal))
    const health = () =>
      judgeHealth({
        ...{ now: clock.now(), startedAt: 0, redisOk: true, lastSweeps: {}, expected: {} },
        ...{ standstills: movement.standstills(), oldest: movement.oldest() },
      })
    const since = clock.steady()
    clock.move(25 * 60_000)
    const chunk = work([1, 2])
    await eventually('the other one', async () => (await state(2)) === 2)
    clock.move(140_000)
    await work([3])
    movement.letGo(since)
    expect(health().alive).toBe(true)
    clock.move(1)
    await work([3])
    expect(health().findings.filter(({ level }) => level !== 'ok')).toEqual([
      {
        ...{ name: 'oldest:refresh', level: 'critical', stops: 'work' },
        says: 'the oldest of account 1 has run for 140 s, at most 140 s allowed',
      },
    ])
    // It has its whole time from when Redis is back.
    movement.letGo(clock.steady() - 1)
    movement.letGo(since)
    await chunk
    expect(lines()).toMatchObject([
      { code: 'refresh.error', hubId: 1, err: { message: expect.stringMatching(/140 s/) } },
    ])
    expect(health().alive).toBe(false)
    answer.resolve(tokens('access-2'))
    await eventually('its end', async () => health().alive)
    expect(await state(1)).toBe(2)
  })
})
