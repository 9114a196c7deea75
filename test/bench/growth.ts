import { setTimeout as pause } from 'node:timers/promises'
import { pairId } from '../../src/limits/pair.ts'
import type { Store } from '../../src/redis/connect.ts'
import { copyPolledAccount } from './copy-polled-account.ts'
import type { Figure } from './figure.ts'
import { lifeUntilDue, plan, seedFleet } from './fleet-of-accounts.ts'
import { liveAMonth } from './month-behind.ts'
import { startProcess } from './process.ts'
import { numberIn, type Spent, spentDuring } from './spent.ts'
import { type Served, untilDone } from './until-done.ts'
import { startWholeDaemon, type WholeDaemon } from './whole-daemon.ts'

/**
 * Accounts that come due together, in each fleet as many, and the same ones again and again: what differs is how many
 * others there are. Accounts that take turns would be new to the daemon of the large fleet in each lot, and it would read them in full.
 */
const LOT = 1_000
const WARM_UP_LOTS = 14
const LOTS_A_ROUND = 6
const LIFE_MS = 1_800_000
const LATER_MS = 6 * 3_600_000
const PAIRS = [
  { from: '0-1', to: '0-2' },
  { from: '0-2', to: '0-1' },
  { from: '0-1', to: '0-3' },
]

/**
 * P8: what an account costs in a large fleet against a small one - CPU of a whole daemon for a full cycle (refresh, four
 * reports read, stored, next turn), and bytes in Redis. The two daemons take turns, lot by lot, so that whatever the
 * machine does meets both of them.
 */
export function growth(largest = 100_000): Figure {
  const sizes = `${largest.toLocaleString('en-US')} accounts against ${LOT.toLocaleString('en-US')}`
  const goal = { of: 'ratio', atMost: 1.1 } as const
  const cycle = `a full cycle, ${sizes}`
  return {
    id: 'P8',
    rounds: 3,
    rows: [
      { what: cycle, unit: 'client CPU us per account', goal },
      { what: cycle, unit: 'Redis CPU us per account', goal },
      { what: cycle, unit: 'bytes to and from Redis per account', goal },
      { what: `an account with a month behind it, ${sizes}`, unit: 'Redis bytes per account', goal },
    ],
    open: async () => {
      const provider = await startProcess('remembering-provider.ts')
      const fleets: Fleet[] = []
      for (const size of [LOT, largest]) fleets.push(await openFleet(provider.firstLine, size))
      for (let lot = 0; lot < WARM_UP_LOTS; lot++) await oneLotEach(fleets)
      const turns = takingTurns(() => round(fleets))
      const valuesOf = async (side: string, which: number) => {
        const { client, redis, traffic } = (await turns(side))[which] ?? NOTHING
        return [client, redis, traffic, fleets[which]?.bytesPerAccount ?? Number.NaN]
      }
      return {
        ours: () => valuesOf('ours', 1),
        reference: () => valuesOf('reference', 0),
        close: async () => {
          for (const { running } of fleets) await running.close()
          await provider.stop('at once')
        },
      }
    },
  }
}

interface Fleet {
  running: WholeDaemon
  providerUrl: string
  bytesPerAccount: number
}

async function openFleet(providerUrl: string, size: number): Promise<Fleet> {
  const running = await startWholeDaemon(providerUrl, {
    limits: { every: '1h', soonest: '1h', associations: PAIRS },
  })
  const { store, keys } = running
  const empty = await dataBytes(store)
  await seedFleet(store, keys, size)
  const records = await liveAMonth(store, keys, PAIRS.map(pairId))
  const later = Date.now() + LATER_MS
  await plan(store, keys, {
    ...{ from: 0, count: size },
    turn: (place) => ({ ...lifeUntilDue(place, later, LIFE_MS), pollAt: place === 0 ? 0 : later }),
  })
  await copyPolledAccount(store, keys, size, records)
  return { running, providerUrl, bytesPerAccount: ((await dataBytes(store)) - empty) / size }
}

/** One round is measured for both sides at once: whoever asks second gets what was measured for the first. */
function takingTurns<T>(run: () => Promise<T>): (side: string) => Promise<T> {
  let last: { side: string; values: Promise<T> } | undefined
  return (side) => {
    const values = last !== undefined && last.side !== side ? last.values : run()
    last = last?.values === values ? undefined : { side, values }
    return values
  }
}

const NOTHING: Spent = { client: Number.NaN, redis: Number.NaN, traffic: Number.NaN }

/** Of each fleet, per account. */
async function round(fleets: readonly Fleet[]): Promise<Spent[]> {
  // After ten seconds without a refresh a daemon asks the token endpoint slowly again, and after eight its heap shrinks.
  await oneLotEach(fleets)
  const lots: Spent[][] = []
  for (let lot = 0; lot < LOTS_A_ROUND; lot++) lots.push(await oneLotEach(fleets))
  return fleets.map((_, n) => {
    const sum = (of: keyof Spent) => lots.reduce((all, lot) => all + Number(lot[n]?.[of]), 0)
    const mean = (of: keyof Spent) => sum(of) / (LOT * LOTS_A_ROUND)
    return { client: mean('client'), redis: mean('redis'), traffic: mean('traffic') }
  })
}

async function oneLotEach(fleets: readonly Fleet[]): Promise<Spent[]> {
  const spent: Spent[] = []
  for (const fleet of fleets) spent.push(await oneLot(fleet))
  return spent
}

/** From the moment that a lot is due until it is done. */
async function oneLot({ running, providerUrl }: Fleet): Promise<Spent> {
  const dueAt = Math.ceil((Date.now() + 400) / 1_000) * 1_000
  await plan(running.store, running.keys, {
    ...{ from: 0, count: LOT },
    turn: (place) => ({ ...lifeUntilDue(place, dueAt, LIFE_MS), pollAt: dueAt }),
  })
  await fetch(`${providerUrl}/seen`)
  await pause(Math.max(0, dueAt - Date.now() - 20))
  const served = async () => (await (await fetch(`${providerUrl}/count`)).json()) as Served
  return spentDuring(running, () => untilDone(running, served, { refreshes: LOT, polls: LOT }))
}

/** Without the buffers of connections, once the tables that grew have been moved over: they exist twice meanwhile. */
async function dataBytes(store: Store): Promise<number> {
  for (let last = 0, quiet = 0; ; ) {
    const text = await store.info('memory')
    const bytes = numberIn(text, 'used_memory') - numberIn(text, 'mem_clients_normal')
    quiet = Math.abs(bytes - last) < last / 500 ? quiet + 1 : 0
    if (quiet === 5) return bytes
    last = bytes
    await pause(100)
  }
}
