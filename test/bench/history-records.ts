import { strictEqual } from 'node:assert'
import { forecastAccount } from '../../src/limits/forecast/forecast-account.ts'
import { History } from '../../src/limits/history/history.ts'
import type { Store } from '../../src/redis/connect.ts'
import { createKeys, type Keys } from '../../src/redis/keys.ts'
import { pollNear } from './account-records.ts'
import { accountsOf, type BenchAccount, connectAccount } from './accounts.ts'
import { dice } from './dice.ts'
import type { Figure } from './figure.ts'
import { type Month, monthOf, POLLS, plain, pollAt } from './month.ts'
import { openMemoryGauge } from './redis-memory.ts'

/** Full JSON takes a few thousand times the room. */
const JSON_ACCOUNTS = 1
const STARTED_AT = Date.UTC(2026, 1, 1)
/** Of everything that there is of one account. */
const GATE_BYTES = 16_000
/** Of so many accounts one is compared at every poll of its month, the others at some. */
const WHOLE_EACH = 10
const SOME = 3
/** Less than that would be no month in which one poll in ten finds something changed. */
const LEAST_CHANGED = 0.09
const UNIT = 'Redis bytes per account'

/**
 * P7, a month of history: 30 days of polls every 15 minutes, of which one in ten finds something changed, encoded as polls
 * do and put where they put it; against the whole report of each poll as JSON in a sorted set. And all that there is of an
 * account after that month: tokens, states, alerts, numbers, records behind them, forecast, its places in due sets and lists.
 * Every account has a month of its own, and what was reported reads back exactly, or there is no figure.
 */
export const historyRecords = (count: number): Figure => ({
  id: 'P7',
  rows: [
    {
      what: 'a month of history, against full JSON per poll in a sorted set; lower is better',
      unit: UNIT,
      goal: { of: 'ours', atMost: 6_000 },
    },
    {
      what: 'all that there is of an account after that month, its share of due sets and lists too; lower is better',
      unit: UNIT,
      goal: { of: 'ours', atMost: 16_000 },
    },
    { what: 'the same by MEMORY USAGE of every key; lower is better', unit: UNIT },
  ],
  open: async () => {
    const gauge = await openMemoryGauge()
    const accounts = accountsOf(count).map((account) => ({ account, month: monthOf(account, STARTED_AT) }))
    expectChanges(accounts.map(({ month }) => month))
    const keys = createKeys('bench')
    const fillHistories = async (store: Store) => {
      for (const { account, month } of accounts)
        await store.rpush(keys.account(account.hubId).history, ...month.records)
    }
    const fill = (some: typeof accounts) => async (store: Store) => {
      for (const { account, month } of some) await live(store, keys, account, month)
    }
    // Scripts are no account's bytes.
    await gauge.growth(fill(accounts.slice(0, 1)))
    let isCompared = false
    return {
      ours: async () => {
        let counted = 0
        const history = await gauge.growth(fillHistories)
        const all = await gauge.growth(fill(accounts))
        await gauge.look(async (store) => {
          // Each round stores the same.
          if (!isCompared) await expectAllReadBack(store, keys, accounts)
          isCompared = true
          counted = (await memoryUsage(store)) / count
        })
        if (Math.max(counted, all / count) > GATE_BYTES) {
          throw new Error(`an account takes ${Math.round(all / count)} bytes: more than ${GATE_BYTES}`)
        }
        return [history / count, all / count, counted]
      },
      reference: async () => {
        const bytes = (await gauge.growth(fillJson)) / JSON_ACCOUNTS
        return [bytes, bytes, bytes]
      },
      close: () => gauge.close(),
    }
  },
})

/** Connected, then a month later: the records of that month, its last poll through the real step, and the daily job. */
async function live(store: Store, keys: Keys, account: BenchAccount, month: Month): Promise<void> {
  await connectAccount(store, keys, account)
  await store.rpush(keys.account(account.hubId).history, ...month.records)
  await pollNear(store, keys, account, { fetched: month.last, readings: month.readings })
  await foresee(store, keys, account.hubId)
}

async function foresee(store: Store, keys: Keys, hubId: number): Promise<void> {
  const history = new History(store, keys)
  await forecastAccount({ store, keys, history }, hubId, pollAt(STARTED_AT, POLLS))
}

function expectChanges(months: readonly Month[]): void {
  const changes = months.reduce((sum, { records }) => sum + records.length, 0)
  const share = changes / months.length / POLLS
  if (share < LEAST_CHANGED) throw new Error(`only ${(share * 100).toFixed(1)} % of polls found something changed`)
}

async function expectAllReadBack(
  store: Store,
  keys: Keys,
  accounts: readonly { account: BenchAccount; month: Month }[],
): Promise<void> {
  const history = new History(store, keys)
  for (const [n, { account, month }] of accounts.entries()) {
    const { hubId } = account
    if (n % WHOLE_EACH === 0) await expectMonth(history, hubId, month)
    else await expectMoments(history, hubId, month)
  }
}

/** At every poll of the month. */
async function expectMonth(history: History, hubId: number, { reported }: Month): Promise<void> {
  const whole = (await history.read(hubId, 0, Number.POSITIVE_INFINITY)).map(({ at, series }) => ({
    at,
    series: plain(series),
  }))
  for (let n = 0; n < POLLS; n++)
    strictEqual(standingAt(whole, pollAt(STARTED_AT, n)), standingAt(reported, pollAt(STARTED_AT, n)))
}

/** At polls from all over the month, other ones for each account. */
async function expectMoments(history: History, hubId: number, { reported }: Month): Promise<void> {
  const roll = dice(hubId + 1)
  for (let left = SOME; left > 0; left--) {
    const at = pollAt(STARTED_AT, roll(POLLS))
    const [found] = await history.read(hubId, at, at)
    strictEqual(plain(found?.series ?? []), standingAt(reported, at))
  }
}

function standingAt(reports: readonly { at: number; series: string }[], moment: number): string | undefined {
  return reports.findLast(({ at }) => at <= moment)?.series
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
