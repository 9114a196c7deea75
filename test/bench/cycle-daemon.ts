import { setTimeout as pause } from 'node:timers/promises'
import { bringDue, checkAccounts, seedAccounts } from './cycle-accounts.ts'
import { type CycleRun, isToBeRefreshed } from './cycle-run.ts'
import type { BenchProcess } from './process.ts'
import { spentDuring } from './spent.ts'
import { type Served, untilDone } from './until-done.ts'
import { startWholeDaemon } from './whole-daemon.ts'

/** Our side of a cycle. */
export interface CycleDaemon {
  round(): Promise<CycleRun>
  close(): Promise<void>
}

const PAIRS = [
  ['0-1', '0-2'],
  ['0-2', '0-1'],
  ['0-1', '0-3'],
]

/**
 * A whole daemon as users run it. All accounts are polled for the first time, so that there is something to compare with,
 * and `warmUpLots` times more; then all come due, with a share of them for a refresh, in each round.
 */
export async function openCycleDaemon(
  provider: BenchProcess,
  lot: { accounts: number; refreshShare: number; inFlight: number; warmUpLots: number },
): Promise<CycleDaemon> {
  const running = await startWholeDaemon(provider.firstLine, settings(lot.inFlight), {
    seed: (store, keys) => seedAccounts(store, keys, lot.accounts),
  })
  const { store, keys } = running
  const { accounts, refreshShare } = lot
  const refreshes = Array.from({ length: accounts }, (_, place) => isToBeRefreshed(place, refreshShare)).filter(Boolean)
  const served = async () => JSON.parse(await provider.ask()) as Served
  let lots = 0
  let dueAt = 0

  /** All accounts come due once more; late enough that the daemon finds all of them at once. */
  async function cycle(): Promise<CycleRun> {
    await checkAccounts(store, keys, accounts, dueAt)
    const before = await served()
    if (before.polls !== accounts * lots)
      throw new Error(`${accounts} accounts came due ${lots} times: ${before.polls} polls`)
    lots++
    const at = Date.now() + 1_500 + accounts / 10
    dueAt = Math.floor(at)
    await bringDue(store, keys, { from: 0, to: accounts, refreshShare }, at)
    const wanted = { refreshes: before.refreshes + refreshes.length, polls: before.polls + accounts }
    await pause(at - Date.now() - 50)
    let wallSeconds = 0
    const { client, redis } = await spentDuring(running, async () => {
      const from = performance.now()
      await untilDone(running, served, wanted)
      wallSeconds = (performance.now() - from) / 1_000
    })
    return { accounts, cpuSeconds: client / 1e6, redisSeconds: redis / 1e6, wallSeconds }
  }

  try {
    await untilDone(running, served, { refreshes: 0, polls: accounts })
    lots++
    for (let warmedUp = 0; warmedUp < lot.warmUpLots; warmedUp++) await cycle()
  } catch (error) {
    await running.close()
    throw error
  }
  return {
    round: async () => {
      // While others had their turns nothing was refreshed, and after ten seconds of that the token endpoint is asked slowly
      // at first: a start, and not what a cycle costs.
      await cycle()
      return cycle()
    },
    close: running.close,
  }
}

function settings(inFlight: number) {
  return {
    provider: { connections: inFlight },
    // Nobody is polled between two rounds, however long the other sides take.
    limits: { every: '6h', soonest: '6h', associations: PAIRS.map(([from, to]) => ({ from, to })) },
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
