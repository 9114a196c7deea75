import { describe, expect, test } from 'vitest'
import { purgeAccount } from '../../../src/accounts/uninstall.ts'
import { type DailyValue, forecastAccount, forecastSeries } from '../../../src/limits/forecast/forecast-account.ts'
import { readTrackRecord } from '../../../src/limits/forecast/predictions.ts'
import { decodeForecasts, storeForecasts } from '../../../src/limits/forecast/stored-forecasts.ts'
import type { Readings } from '../../../src/limits/readings.ts'
import type { Series } from '../../../src/limits/series.ts'
import { NO_ALERT_WRITES } from '../../../src/redis/steps.ts'
import { HandClock } from '../../support/hand-clock.ts'
import { HUB, worldOfFile } from '../../support/world.ts'
import { associations, pollAccount, properties, readings } from '../reports.ts'

const world = worldOfFile()
const UTC_DAY_MS = 86_400_000
const TODAY = 20_400
const NOW = TODAY * UTC_DAY_MS + 7 * 3_600_000

const NO_RECORD = { held: 0, later: 0, sooner: 0, open: 0 }

const exactly = (perDay: number) => ({ perDay, perDayLow: perDay, perDayHigh: perDay, leap: 0, bend: 0 })

/** An account that was polled once a day at noon, the last time yesterday, n days back for the n-th reading from the end. */
async function polledDaily(days: number, read: (n: number, at: number) => Readings) {
  const { account, services, store, keys } = await world({ clock: new HandClock(NOW) })
  await account({ obtainedAt: NOW - 100 * UTC_DAY_MS })
  for (let n = 0; n < days; n++) {
    const at = (TODAY - days + n) * UTC_DAY_MS + UTC_DAY_MS / 2
    await pollAccount(store, keys, HUB, at, read(n, at), 7 * UTC_DAY_MS)
  }
  return {
    store,
    keys,
    deps: services,
    stored: () => store.get(keys.account(HUB).forecast),
    told: async () => decodeForecasts((await services.polls.loadOne(HUB))?.forecasts ?? ''),
  }
}

describe('the forecast of an account', () => {
  test('is told from its history, kept in few words, and found by the next poll', async () => {
    const { deps, stored, told } = await polledDaily(20, (n, at) =>
      readings(
        at,
        properties(500 + 3 * n, 1_000, {
          '0-1': [7, 10],
          '2-5': [100 - n, 100],
          ...(n < 16 ? {} : { '2-9': [n, 90] }),
        }),
      ),
    )
    expect(await told()).toBeUndefined()
    expect(await forecastAccount(deps, HUB, NOW)).toBe('stored')
    expect(await told()).toEqual({
      at: NOW,
      rising: { overall: exactly(3) },
      tooFew: { 'type/2-9': 4 },
      predictions: {},
    })
    expect((await stored())?.length).toBeLessThan(160)
  })

  test('of a report that could not be read any more ends with its last day', async () => {
    const { deps, told } = await polledDaily(20, (n, at) => ({
      ...readings(at, properties(n)),
      ...readings(at - 15 * UTC_DAY_MS, undefined, { '0-1/0-2': associations(10, [9]) }),
    }))
    await forecastAccount(deps, HUB, NOW)
    expect(await told()).toMatchObject({ tooFew: { 'fullest/0-1/0-2': 5 } })
  })

  test('is taken away from an account that was never read', async () => {
    const { deps, stored, store, keys } = await polledDaily(0, (_, at) => readings(at, undefined))
    await storeForecasts(store, keys, HUB, { at: NOW, rising: {}, tooFew: {} })
    expect(await stored()).not.toBeNull()
    expect(await forecastAccount(deps, HUB, NOW)).toBe('none')
    expect(await stored()).toBeNull()
  })

  test('is on record from the first day on which a limit is near, and judged when it is reached', async () => {
    const { deps, store, keys, told } = await polledDaily(34, (n, at) => readings(at, properties(640 + 10 * n)))
    const read = NOW - (7 + 12) * 3_600_000
    const tendOn = (day: number) => forecastAccount(deps, HUB, NOW + day * UTC_DAY_MS)
    const pollOn = async (day: number, usage: number) => {
      const at = read + day * UTC_DAY_MS
      await pollAccount(store, keys, HUB, at, readings(at, properties(usage)))
    }
    await tendOn(0)
    expect((await told())?.predictions).toEqual({ overall: { at: read, limit: 1_000, earliest: 2, latest: 4 } })
    await pollOn(1, 985)
    await tendOn(1)
    expect((await told())?.predictions).toMatchObject({ overall: { at: read } })
    await pollOn(3, 1_000)
    await tendOn(3)
    expect((await told())?.predictions).toEqual({})
    const record = () => readTrackRecord(store, keys, NOW + 3 * UTC_DAY_MS)
    expect(await record()).toEqual({ ...NO_RECORD, held: 1 })
    await tendOn(3)
    expect(await record()).toEqual({ ...NO_RECORD, held: 1 })
  })

  test('is not written for an account that leaves, and is forgotten with it', async () => {
    const { deps, store, keys, stored } = await polledDaily(10, (n, at) => readings(at, properties(n)))
    await forecastAccount(deps, HUB, NOW)
    const before = await stored()
    const asked = [HUB, NOW, 'x', 0, JSON.stringify(NO_ALERT_WRITES), 'cli', '', '']
    await store.beginUninstall(keys.own(HUB), ...asked)
    expect(await forecastAccount(deps, HUB, NOW + UTC_DAY_MS)).toBe('gone')
    expect(await stored()).toBe(before)
    await store.hset(keys.account(HUB).account, { state: 'uninstalled', purgeAt: NOW })
    expect(await purgeAccount(deps, HUB)).toBe('purged')
    expect(await stored()).toBeNull()
    expect(await storeForecasts(store, keys, HUB, { at: NOW, rising: {}, tooFew: {} })).toBe('gone')
    expect(await stored()).toBeNull()
  })

  test.each([
    '',
    '{',
    '[]',
    '{}',
    'null',
    '{"at":"x","rising":{},"tooFew":{}}',
    '{"at":9e15,"rising":{},"tooFew":{}}',
    '{"at":1,"rising":{}}',
    '{"at":1,"rising":{"overall":{"perDay":3}},"tooFew":{}}',
    '{"at":1,"rising":{},"tooFew":{"overall":null}}',
    '{"at":1,"rising":{},"tooFew":{},"predictions":{"overall":[]}}',
  ])('that reads %s is none', (stored) => {
    expect(decodeForecasts(stored)).toBeUndefined()
  })
})

describe('the pace of a series', () => {
  const overall: Series = { id: 'overall', metric: 'customProperties.overall', usage: 1, limit: 100, percent: 1 }
  const fullest: Series = { ...overall, id: 'fullest/0-1/0-2', metric: 'associations.fullest' }
  const tell = (series: Series, usages: number[], limit: number | null = 100) =>
    forecastSeries(
      [series],
      new Map([[series.id, usages.map((usage, n): DailyValue => ({ day: TODAY - 50 + n, usage, limit }))]]),
      NOW,
    )

  test('is that of the days before it got stuck at its limit', () => {
    const usages = Array.from({ length: 30 }, (_, n) => Math.min(100, 60 + 4 * n))
    expect(tell(overall, usages).rising.overall).toEqual(exactly(4))
    expect(tell(overall, Array(30).fill(100)).tooFew).toEqual({ overall: 0 })
  })

  test('of the fullest record leaves out the days on which none was shown', () => {
    const usages = [...Array(20).fill(0), ...Array.from({ length: 10 }, (_, n) => 80 + n)]
    expect(tell(fullest, usages).rising[fullest.id]?.perDay).toBe(1)
    expect(tell(fullest, [...usages.slice(0, 20), 80, 81]).tooFew).toEqual({ [fullest.id]: 2 })
  })

  test('is not told of counts, nor of a record that is not shown', () => {
    const count: Series = { ...overall, id: 'at/0-1/0-2', metric: 'associations.atLimit', limit: null, percent: null }
    const nothing = { at: NOW, rising: {}, tooFew: {} }
    expect(
      tell(
        count,
        Array.from({ length: 30 }, (_, n) => n),
        null,
      ),
    ).toEqual(nothing)
    expect(tell({ ...fullest, usage: 0 }, [])).toEqual(nothing)
  })
})
