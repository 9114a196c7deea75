import { expect, test } from 'vitest'
import { Secret } from '../../src/runtime/secret.ts'
import { PendingTokens } from '../../src/tokens/pending-tokens.ts'
import { type AnswerToStore, TokenStore } from '../../src/tokens/token-store.ts'
import { anAnswer, claimRefresh, dump, seedAccount, storedTokens, vault } from '../support/accounts.ts'
import { HandClock } from '../support/hand-clock.ts'
import { logLines } from '../support/log-lines.ts'
import { memoryFile } from '../support/memory-file.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
const HUB = 123
const NEW = { access: 'access-2', refresh: 'refresh-2', previous: 'refresh-1' }
const THIRD = { claim: 2.5, version: '1000001', access: new Secret('access-3'), refresh: new Secret('refresh-3') }

/** A refresh whose new tokens Redis has, and `lose` takes them away. */
async function stored(more: Partial<AnswerToStore> = {}) {
  const keys = redis.freshKeys()
  const clock = new HandClock()
  await seedAccount(redis.store, keys, { obtainedAt: clock.now() })
  clock.move(10_000)
  const tokens = new TokenStore(redis.store, keys, clock)
  const file = memoryFile()
  const logged = logLines()
  const daemon = () => new PendingTokens({ tokens, vault, clock, log: logged.log, file })
  const pending = daemon()
  const answer = (more: Partial<AnswerToStore> = {}) => anAnswer(HUB, clock.now(), more)
  const names = Object.values(keys.account(HUB))
  const all = await Promise.all(names.map(async (key) => ({ key, was: await redis.store.dumpBuffer(key) })))
  expect(await pending.store(answer(more))).toBe('stored')
  const lose = () =>
    Promise.all(
      all.map(({ key, was }) => (was === null ? redis.store.del(key) : redis.store.restore(key, 0, was, 'REPLACE'))),
    )
  const field = (name: string) => redis.store.hget(keys.account(HUB).account, name)
  const read = () => storedTokens(redis.store, keys, HUB)
  const inFile = () => file.tokens.map(({ refresh }) => refresh?.reveal())
  return { keys, clock, tokens, file, logged, pending, daemon, answer, names, lose, field, read, inFile }
}

test('tokens that Redis lost are stored again; where nothing was lost nothing changes, however often the connection comes and goes', async () => {
  const one = await stored()
  const before = await dump(redis.store, one.keys)
  await one.pending.storeAgain()
  await Promise.all([one.pending.storeAgain(), one.pending.storeAgain()])
  expect([await dump(redis.store, one.keys), one.pending.has(HUB)]).toEqual([before, false])
  await one.lose()
  await one.pending.storeAgain()
  expect([await one.read(), await one.field('version')]).toEqual([NEW, '1000001'])
})

test('several of one account that were lost end with the last of them, and the one before it is kept', async () => {
  const one = await stored()
  await one.pending.store(one.answer(THIRD))
  await one.lose()
  await one.pending.storeAgain()
  const third = { access: 'access-3', refresh: 'refresh-3', previous: 'refresh-2' }
  expect([await one.read(), await one.field('version')]).toEqual([third, '1000002'])
})

test('an account that was connected or refreshed since stays as it is, and one that was uninstalled has them deleted', async () => {
  const one = await stored()
  const { clock, keys, pending } = one
  clock.move(10_000)
  await one.daemon().store(one.answer(THIRD))
  await pending.storeAgain()
  expect(await one.read()).toMatchObject({ refresh: 'refresh-3' })
  await seedAccount(redis.store, keys, { obtainedAt: clock.now(), refreshToken: 'refresh-4' })
  await pending.storeAgain()
  expect(await one.read()).toMatchObject({ refresh: 'refresh-4' })
  await redis.store.hset(keys.account(HUB).account, { state: 'uninstalled' })
  await redis.store.del(keys.account(HUB).tokens, keys.account(HUB).access)
  await pending.storeAgain()
  // It may be what the uninstall did not know of.
  expect([await one.read(), await one.field('state')]).toMatchObject([{ refresh: 'refresh-2' }, 'uninstalling'])
})

test('the token of an account that is uninstalled with those before it is deleted, too', async () => {
  const one = await stored()
  await one.lose()
  await redis.store.hset(one.keys.account(HUB).account, { state: 'uninstalling', version: 1_000_001 })
  await one.pending.storeAgain()
  expect([await one.read(), await one.field('state')]).toMatchObject([{ refresh: 'refresh-2' }, 'uninstalling'])
  const before = await redis.store.hgetBuffer(one.keys.account(HUB).tokens, 'previous')
  expect(before && vault.open(before, HUB, 'refresh').reveal()).toBe('refresh-1')
})

/** Another daemon has the account by then. */
async function waiting() {
  const one = await stored()
  await one.lose()
  const theirs = await claimRefresh(redis.store, one.keys)
  const storing = one.pending.storeAgain()
  await one.clock.sleeper(250)
  return { ...one, theirs, storing }
}

test('they wait for a daemon that redeems a token of the account, and what that brings counts', async () => {
  const one = await waiting()
  expect([await one.read(), one.pending.has(HUB)]).toMatchObject([{ refresh: 'refresh-1' }, true])
  await one.daemon().store(one.answer({ claim: one.theirs, refresh: new Secret('refresh-3') }))
  one.clock.move(250)
  await one.storing
  expect(await one.read()).toMatchObject({ refresh: 'refresh-3' })
})

test('a process that ends while they wait seals them, and those of a refresh under way beside them', async () => {
  const one = await waiting()
  const { promise, resolve } = Promise.withResolvers<void>()
  one.tokens.storeTokens = () => promise.then(() => Promise.reject(new Error('READONLY')))
  const refreshing = one.pending.store(one.answer({ claim: 3.5, refresh: new Secret('refresh-3') }))
  await one.pending.close(0)
  expect(one.inFile()).toEqual(['refresh-2', 'refresh-3'])
  resolve()
  expect(await refreshing).toBe('left')
  await one.storing
  expect(one.inFile()).toEqual(['refresh-2', 'refresh-3'])
})

test('a Redis that comes and goes while it refuses writes is asked by one run', async () => {
  const one = await stored()
  await one.lose()
  const { tokens, clock } = one
  const asked: number[] = []
  tokens.storeTokens = ({ claim }) => {
    asked.push(claim)
    return Promise.reject(new Error('NOREPLICAS'))
  }
  const runs = Array.from({ length: 5 }, () => one.pending.storeAgain())
  await clock.sleeper(250)
  expect([asked, one.pending.has(HUB)]).toEqual([[1.5], true])
  tokens.storeTokens = TokenStore.prototype.storeTokens
  clock.move(250)
  await Promise.all(runs)
  expect(await one.read()).toEqual(NEW)
})

test('tokens of an account that an emptied Redis does not know are sealed, and stored when it has its data again', async () => {
  const one = await stored()
  await redis.store.del(...one.names)
  for (let n = 0; n < 3; n++) {
    await one.pending.storeAgain()
    one.clock.move(5_000)
    one.pending.seal()
  }
  expect([one.inFile(), one.pending.has(HUB)]).toEqual([['refresh-2'], false])
  await one.lose()
  await one.pending.storeAgain()
  one.pending.seal()
  expect([one.inFile(), await one.read()]).toEqual([[], NEW])
})

test('tokens of an account that Redis does not know are dropped after a month: it was forgotten', async () => {
  const one = await stored()
  await redis.store.del(...one.names)
  one.clock.move(29 * 86_400_000)
  await one.pending.storeAgain()
  one.clock.move(5_000)
  one.pending.seal()
  expect(one.inFile()).toEqual(['refresh-2'])
  one.clock.move(2 * 86_400_000)
  await one.pending.storeAgain()
  one.clock.move(5_000)
  one.pending.seal()
  expect(one.inFile()).toEqual([])
})

test.each([
  ['a minute after Redis took them, once it has taken others', {}, 61_000],
  ['at once where the refresh token is as before', { refresh: undefined }, 0],
])('they are forgotten %s', async (_, first, ms) => {
  const one = await stored(first)
  one.clock.move(ms)
  expect(await one.pending.store(one.answer(THIRD))).toBe('stored')
  await one.lose()
  const asked: number[] = []
  one.tokens.storeTokens = async ({ claim }) => {
    asked.push(claim)
    return 'lost'
  }
  await one.pending.storeAgain()
  expect(asked).toEqual([THIRD.claim])
})

test('they outlast a Redis that is away for longer than a minute', async () => {
  const one = await stored()
  await one.lose()
  one.clock.move(3_600_000)
  await one.pending.storeAgain()
  expect(await one.read()).toEqual(NEW)
})
