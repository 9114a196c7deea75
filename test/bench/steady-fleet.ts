import { eventually } from '../support/fleet.ts'
import { dice } from './dice.ts'
import { lifeUntilDue, plan, SHARES, seedFleet, shareOfLife } from './fleet-of-accounts.ts'
import { startProcess } from './process.ts'
import type { Lives, Seen } from './remembering-provider.ts'
import { startWholeDaemon, type WholeDaemon } from './whole-daemon.ts'

/** As long as a real token lives, seconds: what the lives here are shorter than. */
export const REAL_LIFE_SECONDS = 1_800
/** One look for who is due. */
export const TICK_MS = 1_000

/** Of what one daemon can do on this machine, so much is asked of it. */
const LOAD = 0.6
/** What it can do is measured with so many, after some to warm up. */
const WARM_UP = 10_000
const MEASURED = 20_000
/**
 * Of those one in so many is polled too; and then a poll comes with so many refreshes, each account's once in a run. With a
 * pace of their own, polls alone were more than a slow machine can do.
 */
const POLLED_PART = 10
const POLL_EVERY = '6h'
/** Longer than the measuring takes. */
const LATER_MS = 3_600_000
/** 100,000 accounts are given their turns in about this time. */
const SEED_MS = 5_000

/** Accounts whose tokens a daemon keeps alive at a steady pace, and a provider that remembers when each came. */
export interface SteadyFleet extends WholeDaemon {
  /** Refreshes a second that the daemon reached with everything due at once. */
  readonly capacity: number
  /** How long a token lives here: so long that the fleet's refreshes are a part of that. */
  readonly lifeSeconds: number
  /** What came since it was last asked, as the provider saw it. */
  seen(): Promise<Seen>
  /** The same; and what is said of all begins from now on. */
  settled(): Promise<Seen>
}

type Unplanned = WholeDaemon &
  Pick<SteadyFleet, 'seen' | 'settled'> & { providerUrl: string; count(): Promise<Pick<Seen, 'refreshes' | 'polls'>> }

export async function openSteadyFleet(accounts: number): Promise<SteadyFleet> {
  const provider = await startProcess('remembering-provider.ts')
  const running = await startWholeDaemon(provider.firstLine, {
    limits: { every: POLL_EVERY, associations: [{ from: '0-1', to: '0-2' }] },
  }).catch(async (error: unknown) => {
    await provider.stop('at once')
    throw error
  })
  const ask = async <T>(path: string) => (await (await fetch(provider.firstLine + path)).json()) as T
  const fleet: Unplanned = {
    ...{ ...running, providerUrl: provider.firstLine },
    seen: () => ask<Seen>('/seen'),
    settled: () => ask<Seen>('/settled'),
    count: () => ask<Pick<Seen, 'refreshes' | 'polls'>>('/count'),
  }
  const close = async () => {
    await running.close()
    await provider.stop('at once')
  }
  try {
    return { ...fleet, ...(await setInMotion(fleet, accounts)), close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Measures what the daemon can do, and gives tokens lives by that. */
async function setInMotion(fleet: Unplanned, accounts: number): Promise<Pick<SteadyFleet, 'capacity' | 'lifeSeconds'>> {
  await seedFleet(fleet.store, fleet.keys, accounts)
  const warmUp = Math.min(WARM_UP, Math.floor(accounts / 3))
  await measureCapacity(fleet, 0, warmUp)
  const capacity = await measureCapacity(fleet, warmUp, Math.min(MEASURED, accounts - warmUp))
  const middle = (SHARES.refreshFrom + SHARES.refreshBy) / 2
  const refreshedAllIn = accounts / (capacity * LOAD)
  const lifeSeconds = Math.ceil(refreshedAllIn / middle)
  await spread(fleet, accounts, { lifeSeconds, polledAllInMs: Math.ceil(refreshedAllIn * POLLED_PART * 1_000) })
  return { capacity, lifeSeconds }
}

/** All due at once, none of them late: refreshes a second, polls of a part of them along with them. */
async function measureCapacity(fleet: Unplanned, from: number, count: number): Promise<number> {
  await begin(fleet, REAL_LIFE_SECONDS, [])
  const at = Date.now() + TICK_MS
  await plan(fleet.store, fleet.keys, {
    ...{ from, count },
    turn: (place) => ({
      ...lifeUntilDue(place, at, REAL_LIFE_SECONDS * 1_000),
      pollAt: place % POLLED_PART === 0 ? at : at + LATER_MS,
    }),
  })
  const allDone = async () => {
    const { refreshes, polls } = await fleet.count()
    return refreshes >= count && polls >= Math.floor(count / POLLED_PART)
  }
  await eventually('all refreshed and polled', allDone, 120_000)
  const { firstAt, lastAt } = await fleet.seen()
  return count / ((lastAt - firstAt) / 1_000)
}

/** Everybody somewhere in the life of a token, as after a long time at work. */
async function spread(
  fleet: Unplanned,
  accounts: number,
  { lifeSeconds, polledAllInMs }: { lifeSeconds: number; polledAllInMs: number },
): Promise<void> {
  const lifeMs = lifeSeconds * 1_000
  const roll = dice(accounts)
  const from = Date.now() + SEED_MS
  const lives = Array.from({ length: accounts }, (_, place) =>
    lifeUntilDue(place, from + (roll(1e6) / 1e6) * shareOfLife(place) * lifeMs, lifeMs),
  )
  await begin(
    fleet,
    lifeSeconds,
    lives.map(({ obtainedAt }) => obtainedAt),
  )
  await plan(fleet.store, fleet.keys, {
    ...{ from: 0, count: accounts },
    turn: (place) => ({
      ...(lives[place] ?? { obtainedAt: 0, expiresAt: 0 }),
      pollAt: from + roll(polledAllInMs),
    }),
  })
}

async function begin({ providerUrl }: Unplanned, seconds: number, madeAt: number[]): Promise<void> {
  const lives: Lives = { ...SHARES, seconds, madeAt }
  await fetch(`${providerUrl}/lives`, { method: 'POST', body: JSON.stringify(lives) })
}
