import { packPoll } from '../../src/limits/findings.ts'
import { PollStore } from '../../src/limits/poll-store.ts'
import { encodeTurn, type TurnBecause } from '../../src/limits/polling/poll-turn.ts'
import { mergeReadings } from '../../src/limits/readings.ts'
import { mergeSamples } from '../../src/limits/samples.ts'
import type { Store } from '../../src/redis/connect.ts'
import { createKeys, PARTITIONS } from '../../src/redis/keys.ts'
import { accountsOf, alertsOf, connectAccount, fetchedOf } from './accounts.ts'
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
  const polls = new PollStore(store, keys)
  for (const account of accountsOf(ACCOUNTS)) {
    const { hubId, obtainedAt } = account
    const fetched = fetchedOf(account, obtainedAt)
    await connectAccount(store, keys, account)
    await polls.commit(hubId, {
      ...{ polls: '0', nextAt: obtainedAt, fields: turnFields(obtainedAt) },
      ...packPoll(mergeReadings(undefined, fetched), undefined),
      samples: { shown: mergeSamples({}, fetched, { records: 'full', keepMs: KEEP_MS }), keepMs: KEEP_MS },
      alerts: alertsOf(account),
    })
  }
  const due = Array.from({ length: PARTITIONS }, (_, number) => Object.values(keys.partition(number).due))
  await Promise.all(due.map((names) => store.del(names)))
}

/** As a poll leaves them that found the account near a threshold. */
export function turnFields(at: number): Record<string, string> {
  const because: TurnBecause = {
    ...{ is: 'near', series: 'type/0-1', usage: 930, limit: 1_000, level: 'warning', move: 'enter' },
    ...{ asks: 'percent', of: 95, since: at },
  }
  const turn = encodeTurn({ regularAt: at, urgency: 1, because })
  return { polledAt: String(at), changedAt: String(at), pollBecause: turn }
}

async function fillJson(store: Store): Promise<void> {
  for (const account of accountsOf(ACCOUNTS)) await store.set(`account:${account.hubId}`, JSON.stringify(account))
}
