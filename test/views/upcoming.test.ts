import { describe, expect, test } from 'vitest'
import { parsePlace } from '../../src/accounts/search/account-query.ts'
import { countOutcomes } from '../../src/limits/forecast/predictions.ts'
import { noneUpcomingText, readUpcoming, recordText } from '../../src/views/upcoming.ts'
import { pollAccount, properties, readings } from '../limits/reports.ts'
import { seedAccount } from '../support/accounts.ts'
import { foresee } from '../support/forecasts.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
const { store } = redis
const NOW = Date.parse('2026-11-21T10:00:00Z')
const DAY = 86_400_000
const pace = (perDay: number) => ({ perDay, perDayLow: perDay / 2, perDayHigh: 2 * perDay, leap: 0, bend: 0 })

/** Usage of 1,000 and a pace for each series. */
type Numbers = Record<string, readonly [usage: number, perDay: number]>

async function fleet(accounts: Record<number, Numbers>) {
  const keys = redis.freshKeys()
  for (const [id, numbers] of Object.entries(accounts)) {
    const hubId = Number(id)
    await seedAccount(store, keys, { hubId, hubDomain: `n${hubId}.example.com`, obtainedAt: NOW })
    const { overall = [1, 0], ...types } = numbers
    const byType = Object.entries(types).map(([type, [usage]]): [string, [number, number]] => [type, [usage, 1_000]])
    const read = readings(NOW - 3_600_000, properties(overall[0], 1_000, Object.fromEntries(byType)))
    await pollAccount(store, keys, hubId, NOW - 3_600_000, read)
    const paces = Object.entries(numbers).filter(([, [, perDay]]) => perDay > 0)
    const rising = paces.map(([type, [, perDay]]) => [type === 'overall' ? type : `type/${type}`, pace(perDay)])
    await foresee(store, keys, hubId, { at: NOW, rising: Object.fromEntries(rising) })
  }
  const read = async (limit = 100, after = '') => {
    return readUpcoming({ store, keys }, { limit, after: parsePlace(after, 'nearest') }, NOW)
  }
  return { keys, read }
}

const idsOf = (rows: readonly { hubId: number }[]) => rows.map(({ hubId }) => hubId)

describe('who reaches a limit next', () => {
  test('are the accounts that do within 30 days by forecast, soonest first; what is full is apart', async () => {
    const { read } = await fleet({
      1: { overall: [880, 10] },
      2: { overall: [950, 10], '0-1': [990, 2], '0-2': [900, 1], '0-3': [999, 0] },
      3: { overall: [999, 0] },
      4: { overall: [690, 10] },
      5: { overall: [1_000, 10] },
      6: { overall: [1_000, 0], '0-1': [980, 10], '0-2': [1_200, 0] },
    })
    const { items, full, accounts, next } = await read()
    expect(items.map(({ hubId, daysLeft, more }) => [hubId, daysLeft, more])).toEqual([
      [6, 2, 0],
      [2, 5, 1],
      [1, 12, 0],
    ])
    expect({ accounts, next }).toEqual({ accounts: 3, next: undefined })
    expect(full).toMatchObject({
      accounts: 2,
      items: [
        { hubId: 6, objectTypeId: '0-2', more: 1 },
        { hubId: 5, more: 0 },
      ],
    })
    expect(items[1]).toEqual({
      hubId: 2,
      hubDomain: 'n2.example.com',
      metric: 'customProperties.overall',
      usage: 950,
      limit: 1_000,
      percent: 95,
      daysLeft: 5,
      earliest: 2.5,
      latest: 10,
      more: 1,
      expectedAt: new Date(NOW - 3_600_000 + 5 * DAY).toISOString(),
    })
  })

  test('come in pages, each account on one of them, also where many are equally near or in one partition', async () => {
    const ids = [1, 65, 129, 193, 257, 2, 3, 66]
    const { read } = await fleet(
      Object.fromEntries(
        ids.map((hubId, n): [number, Numbers] => [
          hubId,
          { overall: n < 5 ? [900, 10] : [800, 10], ...(n % 2 === 0 ? { '0-1': [1_000, 0] } : {}) },
        ]),
      ),
    )
    const found: number[] = []
    let after = ''
    for (let pages = 0; pages < 9; pages++) {
      const page = await read(3, after)
      found.push(...idsOf(page.items))
      expect(page.accounts).toBe(8)
      after = page.next ?? ''
      if (after === '') break
    }
    expect(found).toEqual([1, 65, 129, 193, 257, 2, 3, 66])
  })

  test('leaves out what is not foreseen any more or can not be read, and shows the others', async () => {
    const { read, keys } = await fleet({
      1: { overall: [900, 10] },
      2: { overall: [900, 10] },
      3: { overall: [900, 10] },
      4: { overall: [900, 10] },
      5: { overall: [1_000, 0] },
    })
    await store.del(keys.account(1).forecast)
    await store.set(keys.account(2).poll, 'x')
    await store.del(keys.account(3).account)
    await store.set(keys.account(3).account, 'x')
    await store.del(keys.account(5).poll)
    const { items, full } = await read()
    expect(idsOf(items)).toEqual([3, 4])
    expect(full).toEqual({ accounts: 1, items: [] })
  })

  test('has the record of the forecasts', async () => {
    const { read, keys } = await fleet({})
    await countOutcomes(store, keys, ['held', 'sooner', 'held'], NOW)
    expect((await read()).record).toEqual({ held: 2, later: 0, sooner: 1, open: 0 })
  })
})

test.each([
  [
    [33, 5, 4, 0],
    'Of 42 forecasts of the last 30 days, 33 came true (79 %): 5 limits were reached later than forecast, or not yet; 4 limits were reached sooner than forecast.',
  ],
  [[1, 0, 0, 0], 'Of 1 forecast of the last 30 days, 1 came true (100 %).'],
  [
    [999, 0, 1, 0],
    'Of 1,000 forecasts of the last 30 days, 999 came true (99 %): 1 limit was reached sooner than forecast.',
  ],
  [
    [2, 0, 0, 3],
    'Of 2 forecasts of the last 30 days, 2 came true (100 %). 3 more named no last day, and the limit was not reached in 30 days.',
  ],
] as const)('a record of %j reads: %s', ([held, later, sooner, open], text) => {
  expect(recordText({ held, later, sooner, open })).toBe(text)
})

test('where no limit comes, it is one sentence that none is near, another one that there are no forecasts yet', async () => {
  const keys = redis.freshKeys()
  await seedAccount(store, keys, { hubId: 1, hubDomain: 'n1.example.com', obtainedAt: NOW })
  await pollAccount(store, keys, 1, NOW - 3_600_000, readings(NOW - 3_600_000, properties(10, 1_000, {})))
  const text = async () => noneUpcomingText(await readUpcoming({ store, keys }, { limit: 1 }, NOW))
  const unknown = 'No forecasts yet: they start after 7 days of data.'
  expect(await text()).toBe(unknown)
  await foresee(store, keys, 1, { at: NOW, tooFew: { overall: 3 } })
  expect(await text()).toBe(unknown)
  await foresee(store, keys, 1, { at: NOW })
  expect(await text()).toBe('No account reaches a limit in the next 30 days, by forecast.')
})
