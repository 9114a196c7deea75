import { packPoll } from '../../src/limits/findings.ts'
import { fingerprint, NOT_JUDGED, PRINT } from '../../src/limits/fingerprints.ts'
import type { TurnBecause } from '../../src/limits/polling/poll-turn.ts'
import { type Fetched, mergeReadings, type Readings } from '../../src/limits/readings.ts'
import { mergeSamples } from '../../src/limits/samples.ts'
import type { Watch } from '../../src/limits/watch/watch.ts'
import type { Store } from '../../src/redis/connect.ts'
import { createKeys, type Keys, PARTITIONS } from '../../src/redis/keys.ts'
import { commitPoll } from '../support/committed-poll.ts'
import { accountsOf, alertsOf, type BenchAccount, connectAccount, fetchedOf } from './accounts.ts'
import type { Figure } from './figure.ts'
import { openMemoryGauge } from './redis-memory.ts'

const ACCOUNTS = 2_000
const KEEP_MS = 30 * 86_400_000

/**
 * P7, an account's record: both tokens encrypted, times and states, three open alerts, the last numbers and the records
 * behind them, written by the daemon's own steps; against what people write, one JSON text per account with the answers
 * as they came, and the tokens in clear. Without the due sets, which are a row of their own, and without history.
 */
export const accountRecords: Figure = {
  id: 'P7',
  rows: [
    {
      what: 'record of an account: sealed tokens, states, last report, against one JSON in clear; lower is better',
      unit: 'Redis bytes per account',
      goal: { of: 'ours', atMost: 3_500 },
    },
  ],
  open: async () => {
    const gauge = await openMemoryGauge()
    // Scripts and tables that a server keeps for good are no account's bytes.
    await gauge.growth(fillRecords)
    return {
      ours: async () => [(await gauge.growth(fillRecords)) / ACCOUNTS],
      reference: async () => [(await gauge.growth(fillJson)) / ACCOUNTS],
      close: () => gauge.close(),
    }
  },
}

async function fillRecords(store: Store): Promise<void> {
  const keys = createKeys('bench')
  for (const account of accountsOf(ACCOUNTS)) {
    const fetched = fetchedOf(account, account.obtainedAt)
    await connectAccount(store, keys, account)
    await pollNear(store, keys, account, { fetched, readings: mergeReadings(undefined, fetched) })
  }
  const due = Array.from({ length: PARTITIONS }, (_, number) => Object.values(keys.partition(number).due))
  await Promise.all(due.map((names) => store.del(names)))
}

/** A poll that found the account near a threshold, and its alerts open. */
export async function pollNear(
  store: Store,
  keys: Keys,
  account: BenchAccount,
  { fetched, readings }: { fetched: Fetched; readings: Readings },
): Promise<void> {
  const { at } = fetched
  const records = { readAt: at, until: at + KEEP_MS }
  const done = await commitPoll(store, keys, account.hubId, at, () => ({
    readings: packPoll(readings, undefined).readings,
    watch: { ...watchNear(at, fetched.reports.size), records },
    more: { alerts: alertsOf(account), samples: mergeSamples({}, fetched, { records: 'full', keepMs: KEEP_MS }) },
  }))
  if (done !== 'committed') throw new Error(`a poll was not stored: ${done}`)
}

function watchNear(at: number, calls: number): Partial<Watch> {
  const because: TurnBecause = {
    ...{ is: 'near', series: 'type/0-1', usage: 930, limit: 1_000, level: 'warning', move: 'enter' },
    ...{ asks: 'percent', of: 95, since: at },
  }
  const seen = (what: string) => fingerprint(`${what} ${at}`).slice(0, PRINT)
  return {
    ...{ changedAt: at, turn: { regularAt: at, because }, calls: [[at, calls]] },
    seen: { answers: seen('answers').repeat(calls), records: seen('records').repeat(calls), judged: NOT_JUDGED },
  }
}

async function fillJson(store: Store): Promise<void> {
  for (const account of accountsOf(ACCOUNTS)) await store.set(`account:${account.hubId}`, JSON.stringify(account))
}
