import { setTimeout as pause } from 'node:timers/promises'
import type { Store } from '../../src/redis/connect.ts'
import { copyPolledAccount } from './copy-polled-account.ts'
import { type FarProcess, startFarProcess } from './far-process.ts'
import type { Figure } from './figure.ts'
import { lifeUntilDue, plan, seedFleet } from './fleet-of-accounts.ts'
import type { Seen } from './remembering-provider.ts'
import { startWholeDaemon, type WholeDaemon } from './whole-daemon.ts'

/** Accounts that come due together, in each fleet as many: what differs is how many others there are. */
const LOT = 1_000
const WARM_UP_LOTS = 6
const LOTS_A_ROUND = 4
const LIFE_MS = 1_800_000
const LATER_MS = 6 * 3_600_000
const PAIRS = [
  { from: '0-1', to: '0-2' },
  { from: '0-2', to: '0-1' },
  { from: '0-1', to: '0-3' },
]

/**
 * P8: what an account costs in a large fleet against a small one - CPU of a whole daemon for a full cycle (refresh, four
 * reports read, stored, next turn), and bytes in Redis. The three daemons take turns, lot by lot, so that whatever the
 * machine does meets all of them; after each lot somebody looks at the metrics and at the fleet's status.
 */
export function growth(largest = 100_000): Figure {
  const sizes = [LOT, Math.max(LOT, largest / 10), largest] as const
  const [small, middle, large] = sizes.map((size) => size.toLocaleString('en-US'))
  const cycle = 'a full cycle and its part of the looks at status and metrics'
  return {
    id: 'P8',
    rows: [
      { what: `${cycle}, ${large} accounts against ${small}`, unit: 'client CPU us per account' },
      { what: `${cycle}, ${middle} accounts against ${small}`, unit: 'client CPU us per account' },
      { what: `an account that was polled, ${large} against ${small}`, unit: 'Redis bytes per account' },
      { what: `an account that was polled, ${middle} against ${small}`, unit: 'Redis bytes per account' },
    ],
    open: async () => {
      const provider = await startFarProcess('remembering-provider.ts')
      const fleets: Fleet[] = []
      for (const size of sizes) fleets.push(await openFleet(provider, size))
      for (let lot = 0; lot < WARM_UP_LOTS; lot++) await oneLotEach(fleets)
      const bytes = fleets.map((fleet) => fleet.bytesPerAccount)
      const turns = takingTurns(() => round(fleets))
      return {
        ours: async () => {
          const [, ofMiddle = 0, ofLarge = 0] = await turns('ours')
          return [ofLarge, ofMiddle, bytes[2] ?? 0, bytes[1] ?? 0]
        },
        reference: async () => {
          const [ofSmall = 0] = await turns('reference')
          return [ofSmall, ofSmall, bytes[0] ?? 0, bytes[0] ?? 0]
        },
        close: async () => {
          for (const { running } of fleets) await running.close()
          provider.stop()
        },
      }
    },
  }
}

interface Fleet {
  running: WholeDaemon
  provider: FarProcess
  size: number
  bytesPerAccount: number
  /** Where the next lot begins. */
  next: number
}

async function openFleet(provider: FarProcess, size: number): Promise<Fleet> {
  const running = await startWholeDaemon(provider.url, {
    limits: { every: '1h', soonest: '1h', associations: PAIRS },
  })
  const { store, keys } = running
  const empty = await dataBytes(store)
  await seedFleet(store, keys, size)
  const later = Date.now() + LATER_MS
  await plan(store, keys, {
    ...{ from: 0, count: size },
    turn: (place) => ({ ...lifeUntilDue(place, later, LIFE_MS), pollAt: place === 0 ? 0 : later }),
  })
  await copyPolledAccount(store, keys, size)
  return { running, provider, size, bytesPerAccount: ((await dataBytes(store)) - empty) / size, next: 0 }
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

/** CPU per account, us, by fleet. */
async function round(fleets: readonly Fleet[]): Promise<number[]> {
  const sums = fleets.map(() => 0)
  for (let lot = 0; lot < LOTS_A_ROUND; lot++) {
    const spent = await oneLotEach(fleets)
    for (const [n, seconds] of spent.entries()) sums[n] = (sums[n] ?? 0) + seconds
  }
  return sums.map((seconds) => (seconds * 1e6) / (LOT * LOTS_A_ROUND))
}

async function oneLotEach(fleets: readonly Fleet[]): Promise<number[]> {
  const spent: number[] = []
  for (const fleet of fleets) spent.push(await oneLot(fleet))
  return spent
}

/** CPU seconds of the daemon from the moment that a lot is due until it is done. */
async function oneLot(fleet: Fleet): Promise<number> {
  const { running, provider, next, size } = fleet
  const dueAt = Math.ceil((Date.now() + 400) / 1_000) * 1_000
  await plan(running.store, running.keys, {
    ...{ from: next, count: LOT },
    turn: (place) => ({ ...lifeUntilDue(place, dueAt, LIFE_MS), pollAt: dueAt }),
  })
  fleet.next = (next + LOT) % size
  await fetch(`${provider.url}/seen`)
  await pause(Math.max(0, dueAt - Date.now() - 20))
  const before = running.cpuSeconds()
  await allDone(provider)
  await running.ask('/metrics')
  await running.ask('/api/v1/status')
  // What the last ones still have to store.
  await pause(100)
  return running.cpuSeconds() - before
}

async function allDone(provider: FarProcess): Promise<void> {
  for (const until = Date.now() + 120_000; Date.now() < until; await pause(20)) {
    const { refreshes, polls } = (await (await fetch(`${provider.url}/count`)).json()) as Seen
    if (refreshes >= LOT && polls >= LOT) return
  }
  throw new Error(`a lot of ${LOT} accounts was not done within two minutes`)
}

/** Without the buffers of connections, once the tables that grew have been moved over: they exist twice meanwhile. */
async function dataBytes(store: Store): Promise<number> {
  for (let last = 0, quiet = 0; ; ) {
    const text = await store.info('memory')
    const read = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(text)?.[1] ?? Number.NaN)
    const bytes = read('used_memory') - read('mem_clients_normal')
    quiet = Math.abs(bytes - last) < last / 500 ? quiet + 1 : 0
    if (quiet === 5) return bytes
    last = bytes
    await pause(100)
  }
}
