import { startRedis } from '../support/redis-server.ts'
import { openCycleDaemon } from './cycle-daemon.ts'
import type { CycleRun } from './cycle-run.ts'
import type { Figure, Row, Sides } from './figure.ts'
import { startProcess } from './process.ts'

/**
 * The whole cycle of an account - claim, decrypt, refresh in 0.6 of the cycles, one report on custom properties and three on
 * associations, parse, evaluate, history, persist, next due - by a whole daemon, against the same requests made by others.
 * Each side is a process that lives through all rounds, with a Redis and a far side of its own.
 */
const PER_CPU_SECOND = { unit: 'accounts per client CPU second', value: 0 }
const REDIS_MICROS = { unit: 'Redis CPU us per account', value: 1 }
const PER_WALL_SECOND = { unit: 'accounts per second', value: 2 }

/** Until the code is compiled: after one lot it still became a tenth faster from round to round. */
const WARM_UP_LOTS = 4
const REFRESH_SHARE = 0.6

const CRON_ONE = 'cron script, one at a time'
const CRON_FIFTY = 'cron script, 50 at a time'
const JOBS = 'BullMQ, a job per account'

/** P1: no answer is like the one before, so that all are parsed. */
export function cycleParsed(accounts: number): Figure {
  const what = 'cycle, every answer parsed, against a bare loop of the same requests'
  return {
    ...{ id: 'P1', rows: [{ what, ...PER_CPU_SECOND, goal: { of: 'ratio', atLeast: 0.5 } }] },
    open: () => openCycle({ BENCH_CHANGED: '0.1', BENCH_FRESH_BYTES: '1' }, accounts, 64),
  }
}

/** P2, P3 and P6, by the same runs of ours. */
export function cycleUnchanged(accounts: number): Figure {
  const over = (against: string, atLeast: number): Row => ({
    ...{ id: 'P3', what: `the same, against what people write: ${against}`, ...PER_CPU_SECOND },
    ...{ against, goal: { of: 'ratio', atLeast } },
  })
  return {
    id: 'P2',
    rows: [
      {
        what: 'cycle, 10 % of the answers changed, against the same bare loop',
        ...{ ...PER_CPU_SECOND, goal: { of: 'ratio', atLeast: 0.6 } },
      },
      ...[over(CRON_ONE, 5), over(CRON_FIFTY, 3), over(JOBS, 3)],
      {
        ...{ id: 'P6', what: `what a cycle costs Redis, against ${JOBS}; lower is better`, ...REDIS_MICROS },
        ...{ against: JOBS, goal: { of: 'ratio', atMost: 0.35 } },
      },
    ],
    open: () => openCycle({ BENCH_CHANGED: '0.1' }, accounts, 64),
  }
}

/** P4: the latency of a provider that is far away, with as many calls under way as a large fleet needs. */
export function cycleAtLatency(accounts: number): Figure {
  const what = 'cycle at 50 ms of latency, 800 calls under way, against the bare loop with as many'
  return {
    ...{ id: 'P4', rounds: 3, rows: [{ what, ...PER_WALL_SECOND, goal: { of: 'ratio', atLeast: 0.8 } }] },
    open: () => openCycle({ BENCH_CHANGED: '0.1', BENCH_LATENCY_MS: '50' }, accounts, 800),
  }
}

async function openCycle(farSide: Record<string, string>, accounts: number, inFlight: number): Promise<Sides> {
  const closing: (() => Promise<void>)[] = []
  // With a far side of its own: what changed since an account was last asked is another thing for each.
  const startProvider = async () => {
    const provider = await startProcess('provider-server.ts', [], farSide)
    closing.push(() => provider.stop('at once'))
    return provider
  }
  const start = async (file: string, count: number, atATime: number, lots: number) => {
    const provider = await startProvider()
    const redis = await startRedis()
    closing.push(() => redis.stop())
    const orders = {
      BENCH_ACCOUNTS: count,
      BENCH_WARM_UP: lots * count,
      BENCH_IN_FLIGHT: atATime,
      BENCH_REFRESH_SHARE: REFRESH_SHARE,
    }
    const env = Object.fromEntries(Object.entries(orders).map(([name, value]) => [name, String(value)]))
    const side = await startProcess(file, [provider.firstLine, redis.url], env)
    closing.push(() => side.stop())
    return async () => JSON.parse(await side.ask()) as CycleRun
  }
  const startOurs = async () => {
    const lot = { accounts, inFlight, refreshShare: REFRESH_SHARE, warmUpLots: WARM_UP_LOTS }
    const daemon = await openCycleDaemon(await startProvider(), lot)
    closing.push(daemon.close)
    return daemon.round
  }
  // Started when its first round comes: nobody pays for a side that is not asked for.
  const roundsOf = (open: () => Promise<() => Promise<CycleRun>>) => {
    let round: Promise<() => Promise<CycleRun>> | undefined
    return async () => {
      round ??= open()
      return figuresOf(await (await round)())
    }
  }
  // Those that take long for an account do fewer of them.
  const few = Math.ceil(accounts / 2)
  return {
    ours: roundsOf(startOurs),
    reference: roundsOf(() => start('bare-cycle.ts', accounts, inFlight, WARM_UP_LOTS)),
    others: {
      [CRON_ONE]: roundsOf(() => start('cron-script.ts', Math.ceil(accounts / 4), 1, 1)),
      [CRON_FIFTY]: roundsOf(() => start('cron-script.ts', few, 50, 1)),
      [JOBS]: roundsOf(() => start('job-per-account.ts', few, 50, 1)),
    },
    close: async () => {
      for (const close of closing.reverse()) await close()
    },
  }
}

function figuresOf({ accounts, cpuSeconds, redisSeconds, wallSeconds }: CycleRun): number[] {
  return [accounts / cpuSeconds, (redisSeconds * 1e6) / accounts, accounts / wallSeconds]
}
