import { expect, test } from 'vitest'
import { NO_ALERT_WRITES, newOperation, stepJson } from '../../src/redis/steps.ts'
import { Secret } from '../../src/runtime/secret.ts'
import type { AnswerToStore } from '../../src/tokens/token-store.ts'
import { CROSSES_NOBODY, vault } from '../support/accounts.ts'
import { HUB, worldOfFile } from '../support/world.ts'
import { KEEP_MS } from './connected.ts'

/** What a connection that broke has sent again, though it was done, answers as it did and does nothing more. */
const world = worldOfFile()
const NOW = 1_763_719_200_000

interface Connecting {
  obtainedAt?: number
  refresh?: string
  only?: '' | 'kept'
}

const sealed = (token: string, field: 'access' | 'refresh') => vault.seal(new Secret(token), HUB, field)

async function installed() {
  const operation = newOperation()
  const { store: redis, keys, services, account, of } = await world()
  await account({ obtainedAt: NOW, operation })
  const generation = (await redis.hget(keys.own(HUB), 'generation')) ?? ''
  const answer: AnswerToStore = {
    hubId: HUB,
    owner: 'me',
    generation,
    grants: operation,
    alerts: NO_ALERT_WRITES,
    access: new Secret('access-2'),
    refresh: new Secret('refresh-2'),
    times: { obtainedAt: NOW + 1, expiresAt: NOW + 1_800_000 },
    refreshAt: NOW + 900_000,
    pollAt: 'unchanged',
  }
  return {
    keys,
    redis,
    seed: () => account({ obtainedAt: NOW }),
    stored: of(HUB).tokens,
    begin: (by = newOperation()) =>
      redis.beginUninstall(keys.own(HUB), HUB, NOW, 'asked', 0, stepJson(NO_ALERT_WRITES), 'cli', '', by),
    connect: (grant: string, { obtainedAt = NOW, refresh = 'refresh-2', only = '' }: Connecting = {}) =>
      redis.connectAccount(
        keys.own(HUB),
        HUB,
        NOW,
        sealed('access-2', 'access'),
        sealed(refresh, 'refresh'),
        'oauth',
        obtainedAt,
        NOW + 1_800_000,
        NOW + 900_000,
        '{}',
        stepJson(NO_ALERT_WRITES),
        grant,
        ...CROSSES_NOBODY,
        only,
      ),
    replace: (by: string) =>
      redis.importAccount(keys.own(HUB), HUB, NOW, sealed('refresh-2', 'refresh'), 'replace', '{}', by),
    state: () => redis.hget(keys.own(HUB), 'state'),
    store: () => services.tokens.storeTokens(answer, vault, false),
  }
}

test.each([
  ['a connect', 'connect', 'reconnected'],
  ['an import that replaces', 'replace', 'replaced'],
] as const)('%s leaves an account that was uninstalled since as it is', async (_, step, done) => {
  const { [step]: send, begin, state } = await installed()
  const operation = newOperation()
  expect(await send(operation)).toBe(done)
  expect(await begin()).toBe('begun')
  expect([await send(operation), await state()]).toEqual([done, 'uninstalling'])
})

test('a connect that comes after newer tokens of its grant leaves those', async () => {
  const { connect, stored } = await installed()
  const grant = newOperation()
  expect(await connect(grant, { obtainedAt: NOW + 1, refresh: 'refresh-3' })).toBe('reconnected')
  expect([await connect(grant), await stored()]).toMatchObject(['reconnected', { refresh: 'refresh-3' }])
})

test('a connect that leaves its refresh token to the uninstall under way leaves the one before to it as well', async () => {
  const { keys, redis, connect, begin, stored } = await installed()
  const [grant, names] = [newOperation(), ['previous2', 'refresh', 'scopes']]
  await begin()
  for (let time = 0; time < 2; time++) {
    expect([await connect(grant, { only: 'kept' }), await stored()]).toMatchObject([
      'uninstalling',
      { refresh: 'refresh-2' },
    ])
    expect((await redis.hkeys(keys.account(HUB).tokens)).sort()).toEqual(names)
  }
})

test.each([
  ['an uninstall', 'begun'],
  ['an uninstall of what was being uninstalled', 'already'],
])('%s leaves an account that was connected since as it is', async (_, is) => {
  const { begin, state, seed } = await installed()
  const operation = newOperation()
  if (is === 'already') await begin()
  expect(await begin(operation)).toBe(is)
  await seed()
  expect([await begin(operation), await state()]).toEqual([is, 'active'])
})

test('the end of an uninstall moves the moment at which the account is forgotten no further', async () => {
  const { keys, redis, begin, state } = await installed()
  await begin()
  const refresh = await redis.hgetBuffer(keys.account(HUB).tokens, 'refresh')
  const finish = (now: number) =>
    redis.finishUninstall(keys.own(HUB), HUB, now, refresh ?? '', 'deleted', now + KEEP_MS, stepJson(NO_ALERT_WRITES))
  const due = () => redis.zscore(keys.due.uninstall, HUB)
  const after = ['finished', 'uninstalled', String(NOW + KEEP_MS)]
  expect([await finish(NOW), await state(), await due()]).toEqual(after)
  expect([await finish(NOW + 60_000), await state(), await due()]).toEqual(after)
})

test('the note of a deletion that failed is made once', async () => {
  const { keys, redis, begin } = await installed()
  await begin()
  const note = () =>
    redis.recordUninstallFailure(keys.own(HUB), HUB, 0, NOW, 'no answer', NOW + 2_000, stepJson(NO_ALERT_WRITES))
  expect([await note(), await note()]).toEqual(['recorded', 'lost'])
  expect(await redis.hget(keys.own(HUB), 'uninstallAttempts')).toBe('1')
})

test('a store of tokens takes no new token for the one before it, and is told that they are stored', async () => {
  const { store, stored } = await installed()
  const after = { access: 'access-2', refresh: 'refresh-2', previous: 'refresh-1' }
  expect([await store(), await stored()]).toEqual(['stored', after])
  expect([await store(), await stored()]).toEqual(['stored', after])
})

test('a store of tokens for an account that is being uninstalled leaves both to be deleted', async () => {
  const { store, keys, redis, begin } = await installed()
  await begin()
  const both = async () => {
    const { refresh, previous2 } = await redis.hgetallBuffer(keys.account(HUB).tokens)
    return [refresh, previous2].map((sealed) => sealed && vault.open(sealed, HUB, 'refresh').reveal())
  }
  expect([await store(), await both()]).toEqual(['uninstalled', ['refresh-2', 'refresh-1']])
  expect([await store(), await both()]).toEqual(['uninstalled', ['refresh-2', 'refresh-1']])
  expect(await redis.hlen(keys.account(HUB).tokens)).toBe(3)
})
