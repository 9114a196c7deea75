import { expect, test } from 'vitest'
import { NO_ACCOUNT, NO_ALERT_WRITES, stepJson } from '../../src/redis/steps.ts'
import { Secret } from '../../src/runtime/secret.ts'
import type { AnswerToStore } from '../../src/tokens/token-store.ts'
import { vault } from '../support/accounts.ts'
import { HUB, worldOfFile } from '../support/world.ts'
import { KEEP_MS } from './connected.ts'

/** What a connection that broke has sent again, though it was done, answers as it did and does nothing more. */
const world = worldOfFile()
const NOW = 1_763_719_200_000

interface Connecting {
  refresh?: string
  only?: '' | 'kept'
}

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
    connect: (version: number, { refresh = 'refresh-2', only = '' }: Connecting = {}) =>
      redis.connectAccount(
        keys.own(HUB),
        HUB,
        NOW,
        sealed('access-2', 'access'),
        sealed(refresh, 'refresh'),
        'oauth',
        NOW,
        NOW + 1_800_000,
        NOW + 900_000,
        '{}',
        stepJson(NO_ALERT_WRITES),
        version,
        'a-grant',
        '',
        only,
      ),
    replace: (version: number) =>
      redis.importAccount(keys.own(HUB), HUB, NOW, sealed('refresh-2', 'refresh'), 'replace', '{}', version),
    state: () => redis.hget(keys.own(HUB), 'state'),
    /** The same texts each time. */
    store: async () => (await redis.storeTokens(1, keys.own(HUB), line, ...resealed, ''))[0],
  }
}

test.each([
  ['a connect', 'connect', 'reconnected', 'uninstalled'],
  ['an import that replaces', 'replace', 'replaced', 'uninstalled'],
] as const)('%s leaves an account that was uninstalled since as it is', async (_, step, done, again) => {
  const { [step]: send, begin, state, intent } = await installed()
  const version = await intent()
  expect(await send(version)).toBe(done)
  expect(await begin(await intent())).toBe('begun')
  expect([await send(version), await state()]).toEqual([again, 'uninstalling'])
})

test.each([
  ['a connect', 'connect', 'known'],
  ['an import that replaces', 'replace', 'kept'],
] as const)('%s leaves an account that was connected since as it is', async (_, step, again) => {
  const { [step]: send, connect, stored, intent } = await installed()
  const version = await intent()
  await send(version)
  await connect(await intent(), { refresh: 'refresh-3' })
  expect([await send(version), await stored()]).toMatchObject([again, { refresh: 'refresh-3' }])
})

test.each([
  ['a connect', 'connect', 'known'],
  ['an import that replaces', 'replace', 'replaced'],
] as const)('%s leaves what was refreshed since as it is', async (_, step, again) => {
  const { [step]: send, keys, redis, services, answer, stored, intent } = await installed()
  const version = await intent()
  await send(version)
  const refreshed = { ...answer, version: String(version), refresh: new Secret('refresh-3') }
  expect(await services.tokens.storeTokens(refreshed, vault, false)).toBe('stored')
  expect([await send(version), await stored()]).toMatchObject([again, { refresh: 'refresh-3' }])
  expect(await redis.hget(keys.own(HUB), 'version')).toBe(String(version + 1))
  // One event for each of the two times that it came.
  expect(await redis.xlen(keys.accountLog)).toBe(2)
})

test('a connect that comes after newer tokens of its grant leaves those', async () => {
  const { connect, stored, intent } = await installed()
  const version = await intent()
  expect(await connect(version + 1, { refresh: 'refresh-3' })).toBe('reconnected')
  expect([await connect(version), await stored()]).toMatchObject(['known', { refresh: 'refresh-3' }])
})

test('a connect that leaves its refresh token to the uninstall under way leaves the one before to it as well', async () => {
  const { keys, redis, connect, begin, stored, intent } = await installed()
  await begin(await intent())
  const version = await intent()
  const [first, again] = [await connect(version, { only: 'kept' }), await connect(version, { only: 'kept' })]
  expect([first, again, await stored()]).toMatchObject(['uninstalled', 'uninstalled', { refresh: 'refresh-2' }])
  const names = await redis.hkeys(keys.account(HUB).tokens)
  expect(names).toEqual(expect.arrayContaining(['refresh', 'previous']))
})

test.each([
  ['an uninstall', 'begun'],
  ['an uninstall of what was being uninstalled', 'already'],
])('%s leaves an account that was connected since as it is', async (_, is) => {
  const { begin, state, connect, intent } = await installed()
  if (is === 'already') await begin(await intent())
  const version = await intent()
  expect([await begin(version), await begin(version)]).toEqual([is, is])
  await connect(await intent())
  expect([await begin(version), await state()]).toEqual(['refuted', 'active'])
})

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
