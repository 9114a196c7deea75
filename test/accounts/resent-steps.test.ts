import { expect, test } from 'vitest'
import { NO_ALERT_WRITES, newOperation, stepJson } from '../../src/redis/steps.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { type AnswerToStore, TokenStore } from '../../src/tokens/token-store.ts'
import { CROSSES_NOBODY, seedAccount, storedTokens, vault } from '../support/accounts.ts'
import { redisOfFile } from '../support/of-file.ts'
import { HUB } from './connected.ts'

/** What a connection that broke has sent again, though it was done, answers as it did and does nothing more. */
const redis = redisOfFile()
const NOW = 1_763_719_200_000

async function installed() {
  const operation = newOperation()
  const keys = redis.freshKeys()
  await seedAccount(redis.store, keys, { hubId: HUB, obtainedAt: NOW, operation })
  const tokens = new TokenStore(redis.store, keys)
  const generation = (await redis.store.hget(keys.own(HUB), 'generation')) ?? ''
  const answer: AnswerToStore = {
    ...{ hubId: HUB, owner: 'me', generation, grants: operation, alerts: NO_ALERT_WRITES },
    ...{ access: new Secret('access-2'), refresh: new Secret('refresh-2') },
    times: { obtainedAt: NOW + 1, expiresAt: NOW + 1_800_000 },
    ...{ refreshAt: NOW + 900_000, pollAt: 'unchanged' },
  }
  return {
    keys,
    begin: (by = newOperation()) =>
      redis.store.beginUninstall(keys.own(HUB), HUB, NOW, 'asked', 0, stepJson(NO_ALERT_WRITES), 'cli', '', by),
    state: () => redis.store.hget(keys.own(HUB), 'state'),
    stored: () => storedTokens(redis.store, keys, HUB),
    store: () => tokens.storeTokens(answer, vault, false),
  }
}

test('a connect leaves an account that was uninstalled since as it is', async () => {
  const { keys, begin, state } = await installed()
  const sealed = (token: string, field: 'access' | 'refresh') => vault.seal(new Secret(token), HUB, field)
  const [access, refresh] = [sealed('access-2', 'access'), sealed('refresh-2', 'refresh')]
  const times = [NOW, NOW + 1_800_000, NOW + 900_000]
  const sent = [newOperation(), ...CROSSES_NOBODY]
  const connect = () =>
    redis.store.connectAccount(
      ...[keys.own(HUB), HUB, NOW],
      ...[access, refresh, 'oauth', ...times, '{}', stepJson(NO_ALERT_WRITES), ...sent],
    )
  expect(await connect()).toBe('reconnected')
  expect(await begin()).toBe('begun')
  expect([await connect(), await state()]).toEqual(['reconnected', 'uninstalling'])
})

test('an uninstall leaves an account that was connected since as it is', async () => {
  const { keys, begin, state } = await installed()
  const operation = newOperation()
  expect(await begin(operation)).toBe('begun')
  await seedAccount(redis.store, keys, { hubId: HUB, obtainedAt: NOW })
  expect([await begin(operation), await state()]).toEqual(['begun', 'active'])
})

test('a store of tokens takes no new token for the one before it, and is told that they are stored', async () => {
  const { store, stored } = await installed()
  const after = { access: 'access-2', refresh: 'refresh-2', previous: 'refresh-1' }
  expect([await store(), await stored()]).toEqual(['stored', after])
  expect([await store(), await stored()]).toEqual(['stored', after])
})

test('a store of tokens for an account that is being uninstalled leaves both to be deleted', async () => {
  const { store, keys, begin } = await installed()
  await begin()
  const both = async () => {
    const { refresh, previous2 } = await redis.store.hgetallBuffer(keys.account(HUB).tokens)
    return [refresh, previous2].map((sealed) => sealed && vault.open(sealed, HUB, 'refresh').reveal())
  }
  expect([await store(), await both()]).toEqual(['uninstalled', ['refresh-2', 'refresh-1']])
  expect([await store(), await both()]).toEqual(['uninstalled', ['refresh-2', 'refresh-1']])
  expect(await redis.store.hlen(keys.account(HUB).tokens)).toBe(3)
})
