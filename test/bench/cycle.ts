import type { Figure, Row } from './figure.ts'
import { openOurs } from './ours.ts'
import { openReference } from './reference.ts'
import { type Lot, PER_CPU_SECOND, PER_WALL_SECOND, REDIS_MICROS, takeTurns } from './side.ts'

const BARE = 'bare loop'
const CRON_ONE = 'cron script, one at a time'
const CRON_FIFTY = 'cron script, 50 at a time'
const JOBS = 'BullMQ, a job per account'

const CPU = { unit: 'accounts per client CPU second', value: PER_CPU_SECOND }
const CYCLE: Omit<Lot, 'accounts'> = { inFlight: 64, refreshShare: 0.6, polls: true, answers: { changed: 0.1 } }

/** P1: no answer is like the one before, so that all are parsed. */
export function cycleParsed(accounts: number): Figure {
  const what = 'cycle, every answer parsed, against a bare loop of the same requests'
  const answers = { changed: 0.1, freshBytes: true }
  return againstBare({ id: 'P1', what, ...CPU }, { ...CYCLE, accounts, answers })
}

/** P2, P3 and P6, by the same rounds of ours. */
export function cycleUnchanged(accounts: number): Figure {
  const lot = { ...CYCLE, accounts }
  // Those that take long for an account do fewer of them.
  const one = { ...lot, accounts: Math.ceil(accounts / 4), inFlight: 1 }
  const fifty = { ...lot, accounts: Math.ceil(accounts / 2), inFlight: 50 }
  const same = 'the same, against what people write'
  const over = (against: string): Row => ({ id: 'P3', what: `${same}: ${against}`, ...CPU, against })
  const redis = { unit: 'Redis CPU us per account', value: REDIS_MICROS }
  return {
    rows: [
      { id: 'P2', what: 'cycle, 10 % of the answers changed, against the same bare loop', ...CPU, against: BARE },
      over(CRON_ONE),
      over(CRON_FIFTY),
      over(JOBS),
      { id: 'P6', what: `what a cycle costs Redis, against ${JOBS}; lower is better`, ...redis, against: JOBS },
    ],
    open: async () =>
      takeTurns(() => openOurs(lot), {
        [BARE]: () => openReference('bare-loop.ts', lot, 4),
        [CRON_ONE]: () => openReference('cron-script.ts', one, 1),
        [CRON_FIFTY]: () => openReference('cron-script.ts', fifty, 1),
        [JOBS]: () => openReference('job-per-account.ts', fifty, 1),
      }),
  }
}

/** P4: the latency of a provider that is far away, with as many calls under way as a large fleet needs. */
export function cycleAtLatency(accounts: number): Figure {
  const what = 'cycle at 50 ms of latency, 800 calls under way, against the bare loop with as many'
  const answers = { changed: 0.1, latencyMs: 50 }
  const row = { id: 'P4', what, unit: 'accounts per second', value: PER_WALL_SECOND }
  return againstBare(row, { ...CYCLE, accounts, inFlight: 800, answers })
}

/** P5: claim, POST, parse, encrypt, awaited store, next due. */
export function refreshOnly(accounts: number): Figure {
  const what = 'refresh only: one daemon against a bare loop of the same POSTs'
  return againstBare({ id: 'P5', what, ...CPU }, { ...CYCLE, accounts, refreshShare: 1, polls: false })
}

function againstBare(row: Omit<Row, 'against'>, lot: Lot): Figure {
  const references = { [BARE]: () => openReference('bare-loop.ts', lot, 4) }
  return {
    rows: [{ ...row, against: BARE }],
    open: async () => takeTurns(() => openOurs(lot), references),
  }
}
