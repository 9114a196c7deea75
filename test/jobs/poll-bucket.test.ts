import { expect, test } from 'vitest'
import { readOpenAlerts } from '../../src/alerts/open-alerts.ts'
import { properties } from '../limits/reports.ts'
import { failure } from '../support/fake-provider.ts'
import { HUB } from '../support/world.ts'
import { EVERY_MS, pollsOfFile } from './polled.ts'

const polled = pollsOfFile()
const REPORT = properties(10, 100, { '0-1': [1, 9] })
const RULE = { name: 'api', on: 'api.bucket', warning: { percent: 80 }, critical: { remaining: 5 } }

/** An account whose bucket the test fills. */
async function account(rules: object[]) {
  const w = await polled({ rules })
  return {
    ...w,
    poll: async ({ used, status }: { used?: number; status?: number }) => {
      w.clock.move(EVERY_MS)
      const bucket = used === undefined ? {} : { bucket: { intervalMs: 10_000, max: 110, remaining: 110 - used } }
      const said = status === undefined ? { ok: true as const, value: REPORT } : failure('transient', { status })
      w.says.customProperties = async () => ({ ...said, ...bucket })
      await w.poll()
    },
    told: async () =>
      (await w.outbox()).map(({ level, reason, usage, limit, series }) => {
        return `${level} ${reason} ${usage}/${limit} ${(series as { metric: string }).metric}`
      }),
    open: () => readOpenAlerts(w.store, w.keys, [HUB]),
    /** `REFUSED USED/OF/INTERVAL/AT`. */
    kept: async () => {
      const { lastSeen: seen, refused } = (await w.pollState())?.bucket ?? {}
      return seen === undefined ? `${refused}` : `${refused} ${seen.used}/${seen.of}/${seen.intervalMs}/${seen.at}`
    },
    records: () => w.store.llen(w.keys.account(HUB).history),
  }
}

test('a bucket that moves at each poll is kept, is no change, and is judged by no rule that does not name it', async () => {
  const all = { name: 'all', on: '*', warning: { percent: 80 } }
  const one = await account([all])
  await one.poll({ used: 12 })
  const records = await one.records()
  await one.poll({ used: 109 })
  await one.poll({ used: 3 })
  expect(await one.kept()).toBe(`0 3/110/10000/${one.clock.now()}`)
  expect(await one.records()).toBe(records)
  expect(await one.told()).toEqual([])
})

test('a rule that names it has its warning, and its end', async () => {
  const one = await account([RULE])
  await one.poll({ used: 12 })
  await one.poll({ used: 13 })
  await one.poll({ used: 88 })
  expect(await one.open()).toMatchObject([{ series: { metric: 'api.bucket' }, usage: 88, limit: 110, percent: 80 }])
  await one.poll({ used: 107 })
  await one.poll({ used: 2 })
  expect(await one.told()).toEqual([
    'warning entered 88/110 api.bucket',
    'critical escalated 107/110 api.bucket',
    'critical recovered 2/110 api.bucket',
  ])
})

test('a poll that sees nothing of it is no news, and an alert of a rule that is gone is over', async () => {
  const one = await account([RULE])
  await one.poll({ used: 100 })
  const at = one.clock.now()
  await one.poll({})
  expect(await one.kept()).toBe(`0 100/110/10000/${at}`)
  expect(await one.told()).toEqual(['warning entered 100/110 api.bucket'])
  one.services.alerts.rules = []
  await one.poll({ used: 101 })
  expect(await one.told()).toEqual(['warning entered 100/110 api.bucket', 'warning recovered 101/110 api.bucket'])
})

test('calls that are refused are counted from one poll to the next', async () => {
  const one = await account([])
  await one.poll({ status: 429 })
  expect(await one.kept()).toBe('1')
  await one.poll({ used: 110, status: 429 })
  expect(await one.kept()).toBe(`1 110/110/10000/${one.clock.now()}`)
  await one.poll({ used: 4 })
  expect(await one.kept()).toBe(`0 4/110/10000/${one.clock.now()}`)
})
