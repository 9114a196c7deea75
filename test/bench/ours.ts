import { setTimeout as pause } from 'node:timers/promises'
import { storeForecasts } from '../../src/limits/forecast/stored-forecasts.ts'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { FIRST_HUB_ID, lifeUntilDue, plan, seedFleet, type Turn } from '../support/many-accounts.ts'
import { startWholeDaemon } from '../support/whole-daemon.ts'
import { isToBeRefreshed, type Lot, type Side, servedBy, startFarSide } from './side.ts'

/** Of two lots each, until the code is compiled: after one lot it still became a tenth faster from round to round. */
const WARM_UP_ROUNDS = 2
export const LIFE_MS = 1_800_000
const LATER_MS = 6 * 3_600_000
/** From the moment that a lot is written until it is due: by then its measuring has begun. */
const AHEAD_MS = 1_000
/** A claim is due again within this time; an account that is done is not. */
const CLAIMED_MS = 90_000
/** A machine may be slow; where nothing at all moves, something is broken. */
const STUCK_MS = 120_000

const PAIRS = [
  { from: '0-1', to: '0-2' },
  { from: '0-2', to: '0-1' },
  { from: '0-1', to: '0-3' },
]
/** A poll asks for one report on custom properties and three on associations. */
const LIMITS = { soonest: '6h', every: '6h', associations: PAIRS }

/** A whole daemon, as users run it, whose accounts all come due at once in each round; `others` are never due. */
export async function openOurs(lot: Lot, others = 0): Promise<Side> {
  const farSide = await startFarSide(lot.answers)
  const running = await startWholeDaemon(farSide.firstLine, settingsFor(lot.inFlight), {
    seed: (store, keys) => seed(store, keys, lot.accounts, others),
  })
  const { store, keys, pid } = running
  const refreshes = Math.floor(lot.accounts * lot.refreshShare)

  let wanted = { refreshes: 0, polls: 0 }
  const begin = async () => {
    const [now, later] = [Date.now(), Date.now() + LATER_MS]
    // Everything but when it is due: a slow machine takes its time for that.
    await plan(store, keys, {
      from: 0,
      count: lot.accounts,
      turn: (place) =>
        isToBeRefreshed(place, lot.refreshShare)
          ? { ...lifeUntilDue(place, now, LIFE_MS), refreshAt: later, pollAt: later }
          : undefined,
    })
    const before = await servedBy(farSide)
    wanted = { refreshes: before.refreshes + refreshes, polls: before.polls + (lot.polls ? lot.accounts : 0) }
    await bringDue(store, keys, lot)
  }
  const work = async () => {
    let movedAt = performance.now()
    for (let last = -1; ; await pause(20)) {
      const served = await servedBy(farSide)
      if (served.refreshes >= wanted.refreshes && served.polls >= wanted.polls && (await isStored(keys, store))) return
      if (served.refreshes + served.polls !== last) movedAt = performance.now()
      if (performance.now() - movedAt > STUCK_MS)
        throw new Error(`no more calls: ${JSON.stringify({ served, wanted })}`)
      last = served.refreshes + served.polls
    }
  }
  return {
    pid,
    store,
    farSide,
    accounts: lot.accounts,
    warmUpRounds: WARM_UP_ROUNDS,
    prepare: async () => {
      // After ten seconds without a refresh, as in the turns of others, the token endpoint is asked slowly at first.
      await begin()
      await work()
      await expectPolled(store, keys, lot)
      await begin()
    },
    work,
    close: async () => {
      await running.close()
      await farSide.stop()
    },
  }
}

export function settingsFor(inFlight: number) {
  return {
    provider: { connections: inFlight },
    limits: LIMITS,
    // As many rules as there are without any. No account is at a level: a fleet where all are is a storm.
    thresholds: [
      { on: 'customProperties.overall', warning: { percent: 80 }, critical: { percent: 95 } },
      { on: 'customProperties.objectType', warning: { percent: 80 }, critical: { percent: 95 } },
      { on: 'associations.atLimit', warning: { count: 1_000 } },
      { on: 'associations.fullest', warning: { count: 100_000 }, critical: { count: 200_000 } },
    ],
    routes: [{ to: ['ops-mail'] }],
  }
}

/** Accounts as a connect leaves them. Histories are thinned out once a day, not at every poll: none is due. */
export async function seedPlanned(
  store: Store,
  keys: Keys,
  count: number,
  turn: (place: number) => Turn,
): Promise<void> {
  await seedFleet(store, keys, count)
  await plan(store, keys, { from: 0, count, turn })
}

/** None is due for hours; those of the lot have a forecast as the daily job leaves one. */
async function seed(store: Store, keys: Keys, accounts: number, others: number): Promise<void> {
  const later = Date.now() + LATER_MS
  await seedPlanned(store, keys, accounts + others, (place) => ({
    ...lifeUntilDue(place, later, LIFE_MS),
    pollAt: later,
  }))
  for (let place = 0; place < accounts; place++) {
    await storeForecasts(store, keys, FIRST_HUB_ID + place, { at: later - LATER_MS, rising: RISING, tooFew: {} })
  }
}

const RISING = { overall: { perDay: 1.5, perDayLow: 0.5, perDayHigh: 2.5, leap: 1.5, bend: 0.015 } }

/** All of them at one moment, in one step of Redis: the daemon finds no part of them before the rest. */
async function bringDue(store: Store, keys: Keys, { accounts, refreshShare, polls }: Lot): Promise<void> {
  const at = Date.now() + AHEAD_MS
  const together = store.multi()
  for (let place = 0; place < accounts; place++) {
    const hubId = FIRST_HUB_ID + place
    const { due } = keys
    if (polls) together.zadd(due.poll, at, hubId)
    if (isToBeRefreshed(place, refreshShare)) together.zadd(due.refresh, at, hubId)
  }
  await together.exec()
}

/** Nothing is claimed any more. The daemon is not asked, because its time is measured, and Redis only at the end. */
async function isStored(keys: Keys, store: Store): Promise<boolean> {
  const until = Date.now() + CLAIMED_MS
  const { refresh, poll } = keys.due
  return (await store.zcount(refresh, '-inf', until)) + (await store.zcount(poll, '-inf', until)) === 0
}

/** Failed polls cost something else. On a busy machine one in ten may meet a time limit. */
async function expectPolled(store: Store, keys: Keys, { accounts }: Lot): Promise<void> {
  const failing = await store.zcard(keys.pollFailing)
  if (failing > accounts / 10) throw new Error(`the polls of ${failing} of ${accounts} accounts fail`)
}
