import { deepStrictEqual } from 'node:assert'
import { History } from '../../src/limits/history.ts'
import { PollStore } from '../../src/limits/poll-store.ts'
import { mergeSamples } from '../../src/limits/samples.ts'
import type { Store } from '../../src/redis/connect.ts'
import { createKeys, type Keys } from '../../src/redis/keys.ts'
import { accountsOf, alertsOf, type BenchAccount, connectAccount } from './accounts.ts'
import type { Figure } from './figure.ts'
import { type Month, monthOf, POLLS } from './month.ts'
import { openMemoryGauge } from './redis-memory.ts'

const ACCOUNTS = 1_000
/** Months that differ: twenty accounts live through the same one each. */
const MONTHS = 50
/** Full JSON takes a few thousand times the room. */
const JSON_ACCOUNTS = 1
const STARTED_AT = Date.UTC(2026, 1, 1)
const KEEP_MS = 30 * 86_400_000
/** Of everything that there is of one account. */
const GATE_BYTES = 16_000
const UNIT = 'Redis bytes per account'

/**
 * P7, a month of history: 30 days of polls every 15 minutes, of which one in ten finds something changed, encoded as polls
 * do and put where they put it; against the whole report of each poll as JSON in a sorted set. And all that there is of an
 * account after that month. What was reported reads back exactly, or there is no figure.
 */
export const historyRecords: Figure = {
  id: 'P7',
  rows: [
    { what: 'a month of history, against full JSON per poll in a sorted set; lower is better', unit: UNIT },
    {
      what: 'all that there is of an account after that month, its share of due sets and lists too; lower is better',
      unit: UNIT,
    },
    { what: 'the same by MEMORY USAGE of every key; lower is better', unit: UNIT },
  ],
  open: async () => {
    const gauge = await openMemoryGauge()
    const accounts = accountsOf(ACCOUNTS)
    const months = accounts.slice(0, MONTHS).map((account) => monthOf(account, STARTED_AT))
    const monthFor = (n: number) => months[n % MONTHS] as Month
    const keys = createKeys('bench')
    const fill =
      (withHistory: boolean, count = ACCOUNTS) =>
      async (store: Store) => {
        for (const [n, account] of accounts.slice(0, count).entries())
          await live(store, keys, account, monthFor(n), withHistory)
      }
    // Scripts are no account's bytes.
    await gauge.growth(fill(true, 1))
    return {
      ours: async () => {
        let counted = 0
        const without = await gauge.growth(fill(false))
        const all = await gauge.growth(fill(true))
        await gauge.look(async (store) => {
          for (const [n, { hubId }] of accounts.entries()) await expectReadsBack(store, keys, hubId, monthFor(n))
          counted = (await memoryUsage(store)) / ACCOUNTS
        })
        if (Math.max(counted, all / ACCOUNTS) > GATE_BYTES) {
          throw new Error(`an account takes ${Math.round(all / ACCOUNTS)} bytes: more than ${GATE_BYTES}`)
        }
        return [(all - without) / ACCOUNTS, all / ACCOUNTS, counted]
      },
      reference: async () => {
        const bytes = (await gauge.growth(fillJson)) / JSON_ACCOUNTS
        return [bytes, bytes, bytes]
      },
      close: () => gauge.close(),
    }
  },
}

/** Connected, then a month later: the records of that month, and its last poll through the real step. */
async function live(store: Store, keys: Keys, account: BenchAccount, month: Month, withHistory: boolean) {
  await connectAccount(store, keys, account)
  const { history } = keys.account(account.hubId)
  if (withHistory) await store.rpush(history, ...month.records)
  const { at } = month.last
  await new PollStore(store, keys).commit(account.hubId, {
    ...{ polls: '0', slots: month.slots, nextAt: at, fields: { polledAt: String(at) } },
    ...{ readings: month.readings, change: undefined },
    samples: { shown: mergeSamples({}, month.last, { records: 'full', keepMs: KEEP_MS }), keepMs: KEEP_MS },
    alerts: alertsOf(account),
  })
}

async function expectReadsBack(store: Store, keys: Keys, hubId: number, month: Month): Promise<void> {
  const history = new History(store, keys)
  const { remembered } = month
  // One moment of each, another one for the next: together they are all over the month.
  const reported = remembered[hubId % remembered.length]
  if (reported === undefined) throw new Error('no poll was remembered')
  const [found] = await history.read(hubId, reported.at, reported.at)
  const plain = reported.series.map(({ id: _, label: __, ...series }) => series)
  deepStrictEqual(byName(found?.series ?? []), byName(plain))
}

function byName(series: readonly object[]): string[] {
  return series.map((one) => JSON.stringify(one)).sort()
}

async function memoryUsage(store: Store): Promise<number> {
  let sum = 0
  for (let cursor = '0'; ; ) {
    const [next, names] = await store.scan(cursor, 'COUNT', 1_000)
    const sizes = await Promise.all(names.map((name) => store.memory('USAGE', name, 'SAMPLES', 0)))
    sum += sizes.reduce<number>((total, size) => total + (size ?? 0), 0)
    if (next === '0') return sum
    cursor = next
  }
}

async function fillJson(store: Store): Promise<void> {
  for (const { hubId, customProperties, associations } of accountsOf(JSON_ACCOUNTS)) {
    for (let n = 0; n < POLLS; n++) {
      const at = STARTED_AT + n * 900_000
      await store.zadd(`history:${hubId}`, at, JSON.stringify({ at, customProperties, associations }))
    }
  }
}
