import { describe, expect, test } from 'vitest'
import { refreshTokens } from '../../jobs/refresh-tokens.ts'
import { judgeHealth } from '../../src/checks/health-report.ts'
import type { ProviderClient } from '../../src/provider/client.ts'
import { SEEDED_VERSION } from '../support/accounts.ts'
import { failure, tokens } from '../support/fake-provider.ts'
import { eventually } from '../support/fleet.ts'
import { accountIn, worldOfFile } from '../support/world.ts'

const world = worldOfFile()
const DAY = 86_400_000
const never = new AbortController().signal
/** Version of an account whose tokens were refreshed once. */
const ONCE = Number(SEEDED_VERSION) + 1

/** An account that must be authorised again, its refresh token refused from the first refresh on. */
async function refusedAccount(afterRefused: string) {
  const says = { next: failure('rejected') }
  const w = await world({ settings: { uninstall: { afterRefused } }, provider: { refresh: async () => says.next } })
  const account = await w.account()
  /** Lets the time pass until its next refresh, and tries it. */
  const next = async () => {
    w.clock.move(Math.max(0, Number(await account.dueAt('refresh')) - w.clock.now()))
    await refreshTokens(w.services, never)
    return (await account.read()).state
  }
  while ((await next()) !== 'reauthorize');
  return { ...w, ...account, says, next }
}

describe('an account whose refresh token is refused for long', () => {
  test('is uninstalled by the first daily probe after the time that the config gives it', async () => {
    const one = await refusedAccount('3d')
    const since = (await one.read()).refusedSince ?? 0
    for (const day of [1, 2]) expect(await one.next(), `day ${day}`).toBe('reauthorize')
    expect(one.woken).toEqual(['alerts'])
    expect(one.clock.now() - since).toBeLessThan(3 * DAY)
    expect(await one.next()).toBe('uninstalling')
    expect(await one.read()).toMatchObject({
      uninstall: {
        by: 'evidence',
        reason: `refresh token refused since ${new Date(since).toISOString().slice(0, 10)}`,
      },
    })
    expect(one.woken).toEqual(['alerts', 'uninstall', 'alerts'])
    expect(await one.dueAt('refresh')).toBeNull()
  })

  test('stays for ever where the config says never', async () => {
    const one = await refusedAccount('never')
    for (let day = 0; day < 40; day++) await one.next()
    expect(await one.read()).toMatchObject({ state: 'reauthorize', uninstall: null })
  })

  test('is not uninstalled where it is in another data center, or the provider is down on the day', async () => {
    const one = await refusedAccount('1d')
    one.says.next = failure('rejected', { code: 'other-data-center', status: 488 })
    for (let day = 0; day < 5; day++) expect(await one.next()).toBe('reauthorize')
    one.says.next = failure('transient')
    for (let day = 0; day < 5; day++) expect(await one.next()).toBe('reauthorize')
    one.says.next = failure('client')
    expect(await one.next()).toBe('reauthorize')
    one.says.next = failure('rejected')
    expect(await one.next()).toBe('uninstalling')
  })
})

describe('one account whose refresh hangs', () => {
  test('holds up no other, and the daemon is unhealthy until it ends, although others go on', async () => {
    const answer = Promise.withResolvers<Awaited<ReturnType<ProviderClient['refresh']>>>()
    const refresh: ProviderClient['refresh'] = (token) =>
      token.reveal() === 'hangs' ? answer.promise : Promise.resolve(tokens('access-2'))
    const { services, clock, account } = await world({ provider: { refresh } })
    const { movement } = services
    const state = async (hubId: number) => (await accountIn(services, hubId).read()).token.version
    for (const hubId of [1, 2, 3]) {
      await account({ hubId, refreshToken: hubId === 1 ? 'hangs' : `refresh-${hubId}` })
    }
    const work = () => movement.watch('refresh-tokens', () => refreshTokens(services, never))
    const health = () =>
      judgeHealth({
        now: clock.now(),
        startedAt: 0,
        redisOk: true,
        lastSweeps: {},
        expected: {},
        standstills: movement.standstills(),
        oldest: movement.oldest(),
      })
    clock.move(25 * 60_000)
    const chunk = work()
    await eventually('the other one', async () => (await state(2)) === ONCE)
    clock.move(140_000)
    await work()
    expect(health().alive).toBe(true)
    clock.move(1)
    await work()
    expect(health().findings.filter(({ level }) => level !== 'ok')).toEqual([
      {
        name: 'oldest:refresh',
        level: 'critical',
        stops: 'work',
        says: 'the oldest of account 1 has run for 140 s, at most 140 s allowed',
      },
    ])
    expect(health().alive).toBe(false)
    answer.resolve(tokens('access-2'))
    await chunk
    expect(health().alive).toBe(true)
    expect(await state(1)).toBe(ONCE)
  })
})
