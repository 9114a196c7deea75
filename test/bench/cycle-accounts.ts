import { storeForecasts } from '../../src/limits/forecast/forecast-account.ts'
import { dayOfPartition, TendingRounds } from '../../src/limits/history/tending-rounds.ts'
import { readWatch } from '../../src/limits/watch/read-watch.ts'
import type { Store } from '../../src/redis/connect.ts'
import { type Keys, PARTITIONS } from '../../src/redis/keys.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { formatAccess } from '../../src/tokens/stored-access.ts'
import { createVault } from '../../src/tokens/vault.ts'
import { accessTokenOf, refreshTokenOf } from './account-tokens.ts'
import { hubIdOf, isToBeRefreshed } from './cycle-run.ts'
import { domainOf, KEY } from './fleet-of-accounts.ts'
import { COUNT, dueSets } from './until-done.ts'

const LIFE_MS = 1_800_000
const vault = createVault([KEY])

/** Accounts as a connect leaves them, with a forecast as the daily job leaves one: due for their first poll, their tokens fresh. */
export async function seedAccounts(store: Store, keys: Keys, count: number): Promise<void> {
  const now = Date.now()
  await tendToday(store, keys, now)
  for (let place = 0; place < count; place++) {
    const hubId = hubIdOf(place)
    const account = keys.account(hubId)
    const { state, due, fresh } = keys.partition(keys.partitionOf(hubId))
    const sealed = vault.seal(new Secret(accessTokenOf(hubId)), hubId, 'access')
    const times = { obtainedAt: now, expiresAt: now + LIFE_MS }
    const seeded = Promise.all([
      store.hset(account.account, {
        ...{
          state: 'active',
          hubDomain: domainOf(hubId),
          generation: 1,
          user: `admin@${hubId}.example`,
        },
        ...{ ...times, refreshedAt: now, connectedAt: now },
      }),
      store.set(account.access, formatAccess({ generation: '1', times, hubDomain: domainOf(hubId), sealed })),
      store.hset(account.tokens, {
        refresh: vault.seal(new Secret(refreshTokenOf(hubId)), hubId, 'refresh'),
        scopes: 'oauth crm.objects.contacts.read',
      }),
      storeForecasts(store, keys, hubId, { at: now, rising: RISING, tooFew: {} }),
      store.zadd(state.active, hubId, hubId),
      store.zadd(due.refresh, now + (LIFE_MS * 2) / 3, hubId),
      store.zadd(fresh, now, hubId),
      store.zadd(due.poll, now, hubId),
    ])
    if (place % 200 === 199) await seeded
  }
  await store.ping()
}

/** Histories are tended once a day, not at every poll or refresh. */
export async function tendToday(store: Store, keys: Keys, now: number): Promise<void> {
  const rounds = new TendingRounds(store, keys)
  await Promise.all(Array.from({ length: PARTITIONS }, (_, n) => rounds.write(n, dayOfPartition(n, now), 'over')))
}

/** Most series stand still. */
const BENDS = { quickening: { perDay: 1.9, share: 0.015 }, slowing: { perDay: 1.3, share: -0.005 } }
const RISING = { overall: { perDay: 1.5, perDayLow: 0.5, perDayHigh: 2.5, scatter: 1.5, leap: 1.5, bends: BENDS } }

/** Accounts `from` to `to` are due for a poll at `at`, and a share of them for a refresh. */
export async function bringDue(
  store: Store,
  keys: Keys,
  lot: { from: number; to: number; refreshShare: number },
  at: number,
): Promise<void> {
  const obtainedAt = at - 0.9 * LIFE_MS
  for (let place = lot.from; place < lot.to; place++) {
    const hubId = hubIdOf(place)
    const { due } = keys.partition(keys.partitionOf(hubId))
    const moved: Promise<unknown>[] = [store.zadd(due.poll, at, hubId)]
    if (isToBeRefreshed(place, lot.refreshShare)) {
      moved.push(
        store.hset(keys.account(hubId).account, { obtainedAt, expiresAt: obtainedAt + LIFE_MS }),
        store.zadd(due.refresh, at, hubId),
      )
    }
    if (place % 200 === 199) await Promise.all(moved)
  }
  await store.ping()
}

/** Every account has exactly one moment to come in each due set, was polled since it came due at `dueAt`, and no poll of one failed. */
export async function checkAccounts(store: Store, keys: Keys, count: number, dueAt: number): Promise<void> {
  const now = Date.now()
  for (const kind of ['refresh', 'poll'] as const) {
    const sets = dueSets(keys, [kind])
    const planned = await store.eval(COUNT, sets.length, ...sets, now, '+inf')
    if (planned !== count) throw new Error(`${planned} of ${count} accounts have a next ${kind}`)
  }
  const failing = Array.from({ length: PARTITIONS }, (_, n) => keys.partition(n).pollFailing)
  if ((await store.eval(COUNT, failing.length, ...failing, '-inf', '+inf')) !== 0) throw new Error('polls failed')
  for (let place = 0; place < count; place += 100) {
    const hubId = hubIdOf(place)
    const [state, kept] = await Promise.all([
      store.hget(keys.account(hubId).account, 'state'),
      readWatch(store, keys, hubId),
    ])
    const polledAt = kept === 'unreadable' ? undefined : kept?.watch.polledAt
    if (state !== 'active' || polledAt === undefined || polledAt < dueAt)
      throw new Error(`account ${place}: ${state}, due at ${dueAt}, polled at ${polledAt}`)
  }
}
