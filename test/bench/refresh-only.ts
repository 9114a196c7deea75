import { setTimeout as pause } from 'node:timers/promises'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { tendToday } from './cycle-accounts.ts'
import type { Figure } from './figure.ts'
import { lifeUntilDue, plan, seedFleet } from './fleet-of-accounts.ts'
import { type BenchProcess, startProcess } from './process.ts'
import { spentDuring } from './spent.ts'
import { type Served, untilDone } from './until-done.ts'
import { startWholeDaemon, type WholeDaemon } from './whole-daemon.ts'

const LIFE_MS = 1_800_000
const LATER_MS = 6 * 3_600_000

/**
 * P5: accounts refreshed per CPU second of one daemon - claim, lease, POST, parse, encrypt, awaited store, next due -
 * against a bare loop of the same POSTs with the same HTTP layer, each in a fresh process against the same server.
 */
export function refreshOnly(accounts: number): Figure {
  // A daemon runs for years: with a warm-up of 5,000 accounts a third of what was measured was the compiling of its code.
  const warmUp = Math.ceil(accounts / 2)
  return {
    id: 'P5',
    rows: [
      {
        what: 'refresh only: one daemon against a bare loop of the same POSTs',
        unit: 'accounts per client CPU second',
        goal: { of: 'ratio', atLeast: 0.38 },
      },
      { what: 'the same runs, the other way round: lower is better', unit: 'client CPU seconds per 1,000 refreshes' },
    ],
    open: async () => {
      const server = await startProcess('token-server.ts')
      const env = { BENCH_ACCOUNTS: String(accounts), BENCH_WARM_UP: String(warmUp) }
      const bareLoop = async () => {
        const loop = await startProcess('bare-loop.ts', [server.firstLine], env)
        await loop.stop()
        return Number(loop.firstLine)
      }
      const both = (perSecond: number) => [perSecond, 1_000 / perSecond]
      return {
        ours: async () => both(await daemonRefreshes(server, warmUp, accounts)),
        reference: async () => both(await bareLoop()),
        close: () => server.stop('at once'),
      }
    },
  }
}

/** Accounts per CPU second of a whole daemon, come due in two lots: to warm up, and to be measured. */
async function daemonRefreshes(server: BenchProcess, warmUp: number, accounts: number): Promise<number> {
  const running = await startWholeDaemon(
    server.firstLine,
    // Nobody's poll is moved nearer, as it would be with a shorter period.
    { routes: [{ to: ['ops-mail'] }], limits: { every: '6h', soonest: '6h' } },
    { seed: (store, keys) => seedRested(store, keys, warmUp + accounts) },
  )
  try {
    await lot(running, server, { from: 0, count: warmUp })
    // What the warm-up has left behind: reports of its calls, garbage.
    await pause(1_000)
    return accounts / ((await lot(running, server, { from: warmUp, count: accounts })) / 1e6)
  } finally {
    await running.close()
  }
}

/** Nobody is due for hours, or for a poll at all: here nobody answers polls. */
async function seedRested(store: Store, keys: Keys, count: number): Promise<void> {
  const later = Date.now() + LATER_MS
  await seedFleet(store, keys, count)
  await plan(store, keys, {
    ...{ from: 0, count },
    turn: (place) => ({ ...lifeUntilDue(place, later, LIFE_MS), pollAt: later }),
  })
  await tendToday(store, keys, Date.now())
}

/** They come due at once; CPU of the daemon in us until they are done. Planned ahead, so that the planning is not in it. */
async function lot(running: WholeDaemon, server: BenchProcess, lot: { from: number; count: number }): Promise<number> {
  const served = async () => JSON.parse(await server.ask()) as Served
  const at = Date.now() + 2_000 + lot.count / 10
  await plan(running.store, running.keys, {
    ...lot,
    turn: (place) => ({ ...lifeUntilDue(place, at, LIFE_MS), pollAt: at + LATER_MS }),
  })
  if (Date.now() > at) throw new Error('this machine takes longer to plan than it was given')
  const wanted = { refreshes: (await served()).refreshes + lot.count, polls: 0 }
  await pause(at - Date.now() - 50)
  const { client } = await spentDuring(running, () => untilDone(running, served, wanted))
  return client
}
