import { expect, test } from 'vitest'
import { NO_ACCOUNT, NO_ALERT_WRITES, stepJson } from '../../src/redis/steps.ts'
import { Secret } from '../../src/runtime/secret.ts'
import type { AnswerToStore } from '../../src/tokens/token-store.ts'
import { vault } from '../support/accounts.ts'
import { HUB, worldOfFile } from '../support/world.ts'
import { KEEP_MS } from './connected.ts'

/**
 * What a connection that broke has sent again, though it was done, answers as it did and does nothing more. Of connects, imports and
 * the begin of an uninstall the simulation shows it.
 */
const world = worldOfFile()
const NOW = 1_763_719_200_000

const sealed = (token: string, field: 'access' | 'refresh') => vault.seal(new Secret(token), HUB, field)

async function installed() {
  const { store: redis, keys, services, account, of } = await world()
  await account({ obtainedAt: NOW })
  const version = (await redis.hget(keys.own(HUB), 'version')) ?? ''
  const answer: AnswerToStore = {
    hubId: HUB,
    claim: 1.5,
    version,
    alerts: NO_ALERT_WRITES,
    access: new Secret('access-2'),
    refresh: new Secret('refresh-2'),
    times: { obtainedAt: NOW + 1, expiresAt: NOW + 1_800_000 },
    refreshAt: NOW + 900_000,
    pollAt: 'unchanged',
  }
  const times = [answer.times.obtainedAt, answer.times.expiresAt, answer.refreshAt].join(' ')
  const line = `${HUB} me ${version} ${times} - - - own`
  const resealed = [sealed('access-2', 'access'), sealed('refresh-2', 'refresh')] as const
  return {
    keys,
    redis,
    services,
    answer,
    stored: of(HUB).tokens,
    /** The first version of a new intent. */
    intent: async () => Number(await redis.takeIntent(keys.own(NO_ACCOUNT))),
    begin: (version: number) =>
      redis.beginUninstall(keys.own(HUB), HUB, NOW, 'asked', 0, stepJson(NO_ALERT_WRITES), 'cli', '', version),
    /** The same texts each time. */
    store: async () => (await redis.storeTokens(1, keys.own(HUB), line, ...resealed, ''))[0],
  }
}

test.each([
  ['that worked', 'deleted', ['finished', 'finished']],
  ['that failed', 'failed', ['failed', 'lost']],
])('an attempt to delete a refresh token %s is noted once', async (_, ending, answers) => {
  const { keys, redis, begin, intent } = await installed()
  await begin(await intent())
  const refresh = await redis.hgetBuffer(keys.account(HUB).tokens, 'refresh')
  const claim = NOW + 30_000.5
  await redis.zadd(keys.due.uninstall, claim, HUB)
  const note = (now: number) => {
    const outcome = [claim, now, refresh ?? '', ending, '', now + KEEP_MS]
    return redis.recordDeletion(keys.own(HUB), HUB, ...outcome, stepJson(NO_ALERT_WRITES))
  }
  expect([await note(NOW), await note(NOW + 60_000)]).toEqual(answers)
  expect(await redis.zscore(keys.due.uninstall, HUB)).toBe(String(NOW + KEEP_MS))
  expect(await redis.hget(keys.own(HUB), 'uninstallAttempts')).toBe('1')
})

test('a store of tokens takes no new token for the one before it, and is told that they are stored', async () => {
  const { store, stored } = await installed()
  const after = { access: 'access-2', refresh: 'refresh-2', previous: 'refresh-1' }
  expect([await store(), await stored()]).toEqual(['stored', after])
  expect([await store(), await stored()]).toEqual(['stored', after])
})

test('a store of tokens for an account that is being uninstalled leaves both to be deleted', async () => {
  const { store, keys, redis, begin, intent } = await installed()
  await begin(await intent())
  const both = async () => {
    const { refresh, previous } = await redis.hgetallBuffer(keys.account(HUB).tokens)
    return [refresh, previous].map((sealed) => sealed && vault.open(sealed, HUB, 'refresh').reveal())
  }
  expect([await store(), await both()]).toEqual(['uninstalled', ['refresh-2', 'refresh-1']])
  expect([await store(), await both()]).toEqual(['uninstalled', ['refresh-2', 'refresh-1']])
  expect(await redis.hlen(keys.account(HUB).tokens)).toBe(3)
})
