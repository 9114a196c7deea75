import { expect, test } from 'vitest'
import { NO_ALERT_WRITES } from '../../src/redis/steps.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { storeAnswer, storeYoungAgain } from '../../src/tokens/store-tokens.ts'
import { type AnswerToStore, TokenStore, type TokensToStore } from '../../src/tokens/token-store.ts'
import { Unstored } from '../../src/tokens/unstored.ts'
import { YoungAnswers } from '../../src/tokens/young-answers.ts'
import { dump, seedAccount, storedTokens, vault } from '../support/accounts.ts'
import { HandClock } from '../support/hand-clock.ts'
import { logLines } from '../support/log-lines.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
const HUB = 123
const NEW = { access: 'access-2', refresh: 'refresh-2', previous: 'refresh-1' }

/** An answer was stored, and Redis is as it was before. */
async function lost(seal: (answers: readonly AnswerToStore[]) => void = () => {}) {
  const keys = redis.freshKeys()
  const clock = new HandClock()
  await seedAccount(redis.store, keys, { obtainedAt: clock.now() })
  clock.move(10_000)
  const tokens = new TokenStore(redis.store, keys)
  const sealed: TokensToStore[] = []
  const unstored = new Unstored((answers) => {
    seal(answers as AnswerToStore[])
    sealed.push(...answers)
    return undefined
  })
  const logged = logLines()
  const deps = { tokens, vault, unstored, clock, log: logged.log }
  const grants = (await redis.store.hget(keys.account(HUB).account, 'grants')) ?? ''
  const answer = (more: Partial<AnswerToStore> = {}): AnswerToStore => ({
    hubId: HUB,
    owner: 'me',
    generation: '1',
    grants,
    access: new Secret('access-2'),
    refresh: new Secret('refresh-2'),
    times: { obtainedAt: clock.now(), expiresAt: clock.now() + 1_800_000 },
    refreshAt: clock.now() + 900_000,
    pollAt: 'unchanged',
    alerts: NO_ALERT_WRITES,
    ...more,
  })
  const all = await Promise.all(
    Object.values(keys.account(HUB)).map(async (key) => ({ key, was: await redis.store.dumpBuffer(key) })),
  )
  expect(await storeAnswer(deps, answer())).toBe('stored')
  const lose = () =>
    Promise.all(
      all.map(({ key, was }) => (was === null ? redis.store.del(key) : redis.store.restore(key, 0, was, 'REPLACE'))),
    )
  const field = (name: string) => redis.store.hget(keys.account(HUB).account, name)
  const empty = () => redis.store.del(...all.map(({ key }) => key))
  const stored = () => storedTokens(redis.store, keys, HUB)
  const refreshTokensSealed = () => sealed.map(({ refresh }) => refresh?.reveal())
  return { keys, clock, deps, logged, answer, lose, empty, refreshTokensSealed, field, stored }
}

test('what Redis took and lost is stored again', async () => {
  const one = await lost()
  await one.lose()
  expect(await one.stored()).toMatchObject({ refresh: 'refresh-1' })
  await storeYoungAgain(one.deps)
  expect([await one.stored(), await one.field('generation')]).toEqual([NEW, '2'])
})

test('where nothing was lost nothing changes, however often', async () => {
  const one = await lost()
  const before = await dump(redis.store, one.keys)
  await storeYoungAgain(one.deps)
  await Promise.all([storeYoungAgain(one.deps), storeYoungAgain(one.deps)])
  expect(await dump(redis.store, one.keys)).toEqual(before)
  expect([one.deps.unstored.has(HUB), one.deps.unstored.young.length]).toEqual([false, 1])
})

test('several of one account that were lost end with the last of them', async () => {
  const one = await lost()
  const next = { owner: 'other', generation: '2', access: new Secret('access-3'), refresh: new Secret('refresh-3') }
  await storeAnswer(one.deps, one.answer(next))
  await one.lose()
  await storeYoungAgain(one.deps)
  expect([await one.stored(), await one.field('generation')]).toEqual([
    { access: 'access-3', refresh: 'refresh-3', previous: 'refresh-2' },
    '3',
  ])
})

test('an account that was connected, refreshed or uninstalled since stays as it is', async () => {
  const one = await lost()
  const { clock, keys, deps, answer } = one
  const young = () => storeYoungAgain(deps)
  const others = { ...deps, unstored: new Unstored(() => {}) }
  clock.move(10_000)
  await storeAnswer(others, answer({ owner: 'other', generation: '2', refresh: new Secret('refresh-3') }))
  await young()
  expect(await one.stored()).toMatchObject({ refresh: 'refresh-3' })
  await seedAccount(redis.store, keys, { obtainedAt: clock.now(), refreshToken: 'refresh-4' })
  await young()
  expect(await one.stored()).toMatchObject({ refresh: 'refresh-4' })
  await redis.store.hset(keys.account(HUB).account, { state: 'uninstalled' })
  await redis.store.del(keys.account(HUB).tokens, keys.account(HUB).access)
  await young()
  expect([await one.stored(), await one.field('state')]).toEqual([{}, 'uninstalled'])
})

test('the token of one that is uninstalled with those before it is deleted, too', async () => {
  const one = await lost()
  await one.lose()
  await redis.store.hset(one.keys.account(HUB).account, { state: 'uninstalling', generation: 2 })
  await storeYoungAgain(one.deps)
  expect([await one.stored(), await one.field('state')]).toMatchObject([{ refresh: 'refresh-2' }, 'uninstalling'])
  const before = await redis.store.hgetBuffer(one.keys.account(HUB).tokens, 'previous2')
  expect(before && vault.open(before, HUB, 'refresh').reveal()).toBe('refresh-1')
})

/** Somebody else has the account by then. */
async function waiting() {
  const one = await lost()
  await one.lose()
  await one.deps.tokens.begin(HUB, 'other', one.clock.now())
  const storing = storeYoungAgain(one.deps)
  await one.clock.sleeper(250)
  return { one, storing }
}

test('it waits for whoever redeems a token of the account by then, and what that brings counts', async () => {
  const { one, storing } = await waiting()
  expect(await one.stored()).toMatchObject({ refresh: 'refresh-1' })
  const newer = one.answer({ owner: 'other', refresh: new Secret('refresh-3') })
  await storeAnswer({ ...one.deps, unstored: new Unstored(() => {}) }, newer)
  one.clock.move(250)
  await storing
  expect(await one.stored()).toMatchObject({ refresh: 'refresh-3' })
})

test('a process that ends while it waits seals what it has', async () => {
  const { one, storing } = await waiting()
  one.deps.unstored.end()
  await storing
  expect(one.refreshTokensSealed()).toEqual(['refresh-2'])
})

test('what was stored a minute ago goes with the next answer', async () => {
  const one = await lost()
  for (const generation of ['2', '3']) {
    one.clock.move(61_000)
    await storeAnswer(one.deps, one.answer({ owner: generation, generation }))
    expect(one.deps.unstored.young).toMatchObject([{ generation }])
  }
})

test('a Redis that comes and goes while it refuses writes is asked by one run for each answer, and once more after it', async () => {
  const one = await lost()
  await one.lose()
  const { tokens, clock } = one.deps
  const asked: string[] = []
  let refuses = true
  tokens.storeTokens = (...given) => {
    asked.push(given[0].owner)
    if (refuses) return Promise.reject(new Error('NOREPLICAS'))
    return TokenStore.prototype.storeTokens.apply(tokens, given)
  }
  const runs = Array.from({ length: 5 }, () => storeYoungAgain(one.deps))
  await clock.sleeper(250)
  expect(asked).toEqual(['me'])
  refuses = false
  clock.move(250)
  await Promise.all(runs)
  expect([asked.length, await one.stored()]).toEqual([3, NEW])
})

test('where another answer of the account is in hand, what is sealed at the end is each of them, once', async () => {
  const one = await lost()
  const { tokens, unstored, clock } = one.deps
  await one.lose()
  await tokens.begin(HUB, 'other', clock.now())
  const { promise, resolve } = Promise.withResolvers<void>()
  const work = unstored.hold(HUB, () => {
    unstored.keep(one.answer({ owner: 'other', refresh: new Secret('refresh-3') }), clock)
    return promise
  })
  const storing = storeYoungAgain(one.deps)
  await clock.sleeper(250)
  unstored.end()
  await storing
  expect(one.refreshTokensSealed()).toEqual(['refresh-2'])
  await unstored.close(clock, 0)
  expect(one.refreshTokensSealed()).toEqual(['refresh-2', 'refresh-3'])
  resolve()
  await work
})

test('an account stays in hand until the last of those that are at it is done', async () => {
  const { unstored } = (await lost()).deps
  const { promise, resolve } = Promise.withResolvers<void>()
  const longer = unstored.hold(HUB, () => promise)
  await unstored.hold(HUB, async () => {})
  expect(unstored.has(HUB)).toBe(true)
  resolve()
  await longer
  expect(unstored.has(HUB)).toBe(false)
})

test('a data folder that takes nothing is logged, and ends nothing', async () => {
  const one = await lost(() => {
    throw new Error('ENOSPC')
  })
  await one.lose()
  await one.deps.tokens.begin(HUB, 'other', one.clock.now())
  const storing = storeYoungAgain(one.deps)
  await one.clock.sleeper(250)
  one.deps.unstored.end()
  await storing
  expect(one.logged.lines()).toContainEqual(expect.objectContaining({ code: 'token.not-stored', hubId: HUB }))
})

test('what an emptied Redis does not know is sealed once, however often it comes back', async () => {
  const one = await lost()
  await one.empty()
  for (let n = 0; n < 3; n++) await storeYoungAgain(one.deps)
  expect([one.refreshTokensSealed(), one.deps.unstored.young]).toEqual([['refresh-2'], []])
})

test('after a minute it goes with the next connection, too, if Redis has it; if not it is young again', async () => {
  const one = await lost()
  for (let n = 0; n < 2; n++) {
    await one.lose()
    one.clock.move(61_000)
    await storeYoungAgain(one.deps)
    expect([await one.stored(), one.deps.unstored.young.length]).toEqual([NEW, 1])
  }
  one.clock.move(61_000)
  await storeYoungAgain(one.deps)
  expect([await one.stored(), one.deps.unstored.young.length]).toEqual([NEW, 0])
})

test('many are all there as they came, for a minute, and one that is stored again is there once', () => {
  const clock = new HandClock()
  const young = new YoungAnswers()
  const answer = (hubId: number): AnswerToStore => ({
    hubId,
    owner: `owner ${hubId}`,
    generation: '1',
    grants: 'g',
    access: new Secret(`\u{1f511}-${hubId}`),
    refresh: hubId % 2 === 0 ? undefined : new Secret(`refresh-${'x'.repeat(hubId)}`),
    isOfPrevious: hubId === 3,
    times: { obtainedAt: 1, expiresAt: 2 },
    refreshAt: 1.5,
    pollAt: 'unchanged',
    alerts: { changes: [['a', 'b', 'c']], entries: ['\ud83d'] },
  })
  const inClear = ({ access, refresh, ...others }: AnswerToStore) => ({
    ...others,
    access: access.reveal(),
    refresh: refresh?.reveal(),
  })
  const all = () => young.all().map(inClear)
  const hubIds = Array.from({ length: 300 }, (_, n) => n)
  for (const hubId of hubIds) {
    young.add(answer(hubId), clock)
    clock.move(10)
  }
  expect(all()).toEqual(hubIds.map((hubId) => inClear(answer(hubId))))
  const again = young.all().find(({ hubId }) => hubId === 7)
  if (again === undefined) throw new Error('it is not there')
  for (let times = 0; times < 2; times++) young.add(again, clock)
  expect(all().map(({ hubId }) => hubId)).toEqual([...hubIds.filter((hubId) => hubId !== 7), 7])
  // The first was stored three seconds ago, the last just now.
  clock.move(57_000)
  young.forgetOld()
  expect(all()).toHaveLength(300)
  clock.move(2_000)
  young.forgetOld()
  expect(all().length).toBeLessThanOrEqual(200)
  expect(all().length).toBeGreaterThanOrEqual(100)
  clock.move(3_000)
  young.forgetOld()
  expect(all()).toEqual([])
})

test('an answer that was stored again and is asked for once more is not begun beside itself', async () => {
  const { deps, clock } = await lost()
  const release = Promise.withResolvers<void>()
  const running: number[] = []
  let [now, runs] = [0, 0]
  const work = async (young: TokensToStore) => {
    running.push(++now)
    runs++
    // Redis had lost it: it is stored again, and young anew.
    deps.unstored.settle(young, true, clock)
    if (runs === 1) await release.promise
    now--
  }
  const first = deps.unstored.withYoung(work)
  const second = deps.unstored.withYoung(work)
  release.resolve()
  await Promise.all([first, second])
  expect([running, deps.unstored.young.length]).toEqual([[1, 1], 1])
})
