import { describe, expect, test } from 'vitest'
import { seedAccount } from '../support/accounts.ts'
import { tokens } from '../support/fake-provider.ts'
import { eventually } from '../support/fleet.ts'
import { HUB, type World } from '../support/world.ts'
import { LIFE, MINUTE, refreshesOfFile } from './a-refresh.ts'

const { due, underWay } = refreshesOfFile()
const ANSWER = tokens('access-2', 'refresh-2', LIFE)
const putAside = ({ services }: World) => services.putAside(HUB)

describe('an account whose record was spoiled', () => {
  test.each([
    ...['x', '', '1e3', 'nan', '-1', undefined].map((value) => ['version', value] as const),
    ...['expiresAt', 'failures', 'interruptedAt', 'refreshedAt'].map((name) => [name, '1e300'] as const),
  ])('with %s as %s is not redeemed, and is refreshed once that is fixed', async (field, value) => {
    const w = await due(async () => ANSWER)
    const own = w.keys.own(HUB)
    await (value === undefined ? w.store.hdel(own, field) : w.store.hset(own, field, value))
    await expect(w.refresh()).rejects.toThrow()
    expect(w.provider.calls).toEqual([])
    await putAside(w)
    expect(await w.underWay()).toBeUndefined()
    expect(await w.refresh()).toMatchObject({ is: 'refreshed' })
    expect(await w.record()).not.toHaveProperty('interruptedAt')
    expect(await w.tokens()).toMatchObject({ access: 'access-2', refresh: 'refresh-2' })
    w.clock.move(25 * MINUTE)
    expect(await w.refresh()).toMatchObject({ is: 'refreshed' })
  })

  test.each([
    ['at that moment', false, 'refreshed', { access: 'access-2', refresh: 'refresh-2', previous: 'refresh-1' }],
    ['and fixed meanwhile', true, 'lost', { refresh: 'refresh-1', previous: 'refresh-2' }],
  ])('%s keeps the answer of a refresh that was under way', async (_, isPutAside, is, stored) => {
    const { refreshing, answer, ...w } = await underWay()
    await w.store.hset(w.keys.own(HUB), 'version', 'x')
    if (isPutAside) await putAside(w)
    answer(ANSWER)
    expect(await refreshing).toMatchObject({ is })
    expect(await w.tokens()).toMatchObject(stored)
    if (!isPutAside) await putAside(w)
    w.clock.move(25 * MINUTE)
    expect(await w.refresh()).toMatchObject({ is: 'refreshed' })
  })

  test('takes the answer once what the step failed at is fixed, though no poll comes by', async () => {
    const { refreshing, answer, ...w } = await underWay()
    await w.store.set(w.keys.account(HUB).tokens, 'garbage')
    answer(ANSWER)
    await eventually('the account is fixed', async () => w.codes().includes('account.unreadable'))
    w.clock.move(1_000)
    expect(await refreshing).toMatchObject({ is: 'refreshed' })
    expect(await w.tokens()).toMatchObject({ access: 'access-2', refresh: 'refresh-2' })
  })

  test('can be connected anew', async () => {
    const w = await due(async () => ANSWER)
    await w.store.hset(w.keys.own(HUB), { version: 'x', connectedAt: 'x' })
    await seedAccount(w.store, w.keys, { obtainedAt: w.clock.now(), refreshToken: 'refresh-new' })
    expect(await w.tokens()).toMatchObject({ refresh: 'refresh-new' })
    w.clock.move(25 * MINUTE)
    expect(await w.refresh()).toMatchObject({ is: 'refreshed' })
  })

  test('can be uninstalled', async () => {
    const w = await due(async () => ANSWER)
    await w.store.hset(w.keys.own(HUB), 'version', 'x')
    const begun = [HUB, w.clock.now(), 'asked', 0, '{"changes":[],"entries":[]}', 'cli', '', '']
    expect(await w.store.beginUninstall(w.keys.own(HUB), ...begun)).toBe('begun')
    expect(await w.record()).toMatchObject({ state: 'uninstalling', version: expect.stringMatching(/^\d+$/) })
  })
})

describe('a store that takes no writes', () => {
  const writesNeed = (store: World['store'], replicas: number) =>
    store.config('SET', 'min-replicas-to-write', String(replicas))

  /** It takes none from the moment in which the provider answers; runs `meanwhile`, and takes them again. */
  async function refused(
    meanwhile: (w: Awaited<ReturnType<typeof due>>, refreshing: Promise<unknown>) => Promise<void>,
  ) {
    const w = await due(async () => {
      await writesNeed(w.store, 1)
      return ANSWER
    })
    const sentAt = w.clock.now()
    const refreshing = w.refresh()
    try {
      await meanwhile(w, refreshing)
      await w.clock.sleeper(250)
    } finally {
      await writesNeed(w.store, 0)
    }
    w.clock.move(60_000)
    expect(await refreshing).toMatchObject({ is: 'refreshed' })
    expect(w.provider.calls).toHaveLength(1)
    expect(await w.tokens()).toEqual({ access: 'access-2', refresh: 'refresh-2', previous: 'refresh-1' })
    expect(await w.record()).toMatchObject({ version: '1000001', obtainedAt: `${sentAt}` })
    expect(await w.underWay()).toBeUndefined()
    return w
  }

  test('is asked again until it takes the new tokens, which are nowhere else; nobody redeems the old ones meanwhile', async () => {
    const w = await refused(async ({ clock, refresh, tokens }) => {
      for (const pause of [250, 250, 250]) {
        await clock.sleeper(250)
        expect(clock.waits.at(-1)).toBe(pause)
        // Its claim ends meanwhile; whoever comes is held back by this process itself.
        expect(await refresh()).toEqual({ is: 'held' })
        expect(await tokens()).toMatchObject({ access: 'access-1', refresh: 'refresh-1' })
        clock.move(pause)
      }
    })
    const said = w.logged.lines().filter(({ code }) => code === 'token.not-stored')
    expect(said).toMatchObject([{ level: 'error', hubId: HUB }])
    expect(JSON.stringify(said)).toContain('NOREPLICAS')
    expect(w.logged.text()).not.toMatch(/(?:refresh|access)-[12]/)
  })

  test('is asked again for as long as the process lives, and named now and then: an hour later the tokens are stored', async () => {
    const w = await refused(async ({ clock }, refreshing) => {
      const gaveUp = refreshing.then((outcome) => JSON.stringify(outcome), String)
      for (let ms = 0; ms < 60 * MINUTE; ms += 1_000) {
        expect(await Promise.race([clock.sleeper(250), gaveUp])).toBeUndefined()
        clock.move(1_000)
      }
    })
    // The first of 3,600 tries, and each 240th after it.
    expect(w.codes().filter((code) => code === 'token.not-stored')).toHaveLength(16)
  })

  test('is noticed before the refresh token is redeemed', async () => {
    const w = await due(async () => ANSWER)
    const before = (await w.store.config('GET', 'maxmemory')) as string[]
    await w.store.config('SET', 'maxmemory', '1')
    try {
      expect(await w.refresh()).toMatchObject({ is: 'waiting' })
    } finally {
      await w.store.config('SET', 'maxmemory', before[1] ?? '0')
    }
    expect(w.provider.calls).toEqual([])
  })
})
