import { expect, test } from 'vitest'
import { readMetadata } from '../../src/provider/answers.ts'
import { readBody } from '../limits/reports.ts'
import { ASSOCIATIONS, CUSTOM_PROPERTIES, METADATA } from './connect-client.ts'

const [type] = CUSTOM_PROPERTIES.byObjectType
const reading = (ids: readonly string[]) => {
  const byObjectType = ids.map((objectTypeId, n) => ({ ...type, objectTypeId, usage: n }))
  const { values, leftOut } = readBody('customProperties', { ...CUSTOM_PROPERTIES, byObjectType })
  const kept = values.filter(({ metric }) => metric === 'customProperties.objectType')
  return { ids: kept.map(({ objectTypeId }) => objectTypeId), usages: kept.map(({ usage }) => usage), leftOut }
}
const NO_RECORDS = { atLimit: [], nearLimit: [] }
const some = (from: number, count: number) => Array.from({ length: count }, (_, n) => `2-${from + n}`)

test('500 object types are kept as they come', () => {
  const ids = [...some(100, 499), '0-1']
  expect(reading(ids)).toMatchObject({ ids, leftOut: undefined })
})

test('of more the shortest ids are kept, in whatever order they come, and newer ones push none out', () => {
  const ids = ['0-1', '0-421', ...some(10_000, 498)]
  const before = reading([...some(10_498, 40), ...ids.toReversed()])
  expect(before).toMatchObject({ ids: ['0-1', '0-421', ...some(10_000, 498)], leftOut: 40 })
  expect(reading([...ids, ...some(10_498, 41)])).toMatchObject({ ids: before.ids, leftOut: 41 })
})

test('one that is named again is neither kept twice nor left out: its first numbers count', () => {
  const ids = some(1_000, 500)
  expect(reading([...ids, ...ids])).toEqual({ ids, usages: ids.map((_, n) => n), leftOut: undefined })
})

test('an id of more than 100 characters is left out whole: a part of it would be another one', () => {
  const [longest, longer] = ['x'.repeat(100), 'x'.repeat(101)]
  expect(reading([longer, '0-2', longest, '0-1'])).toMatchObject({ ids: ['0-1', '0-2', longest], leftOut: 1 })
})

test('of records the fullest are kept, and all are counted', () => {
  const nearLimitFromRecordSamples = Array.from({ length: 300 }, (_, n) => ({
    label: 'x'.repeat(10_000),
    objectId: 1_000 - n,
    percentage: 80,
    usage: n === 250 ? 499 : 400,
  }))
  const atLimitFromRecordSamples = nearLimitFromRecordSamples.map(({ label, objectId }) => ({ label, objectId }))
  const body = { ...ASSOCIATIONS, atLimitFromRecordSamples, nearLimitFromRecordSamples }
  const { values, records: { atLimit, nearLimit } = NO_RECORDS } = readBody('associations/0-1/0-2', body)
  expect(values.map(({ usage }) => usage)).toEqual([300, 300, 500])
  expect(atLimit.map(({ objectId }) => objectId)).toEqual(Array.from({ length: 100 }, (_, n) => 701 + n))
  expect(nearLimit.slice(0, 2)).toMatchObject([{ objectId: 750, usage: 499 }, { objectId: 701 }])
  expect(nearLimit).toHaveLength(100)
  expect(nearLimit[0]?.label).toHaveLength(255)
})

test('names are cut, no half of a character is left of them, and of scopes hundreds are kept', () => {
  const hub_domain = `${'x'.repeat(254)}\u{1f600}`
  const scopes = ['oauth', 'x'.repeat(101), ...some(0, 1_000)]
  const metadata = readMetadata({ ...METADATA, hub_domain, user: 'y'.repeat(9_000), scopes })
  expect(metadata).toMatchObject({ hubDomain: `${'x'.repeat(254)}\ufffd`, user: 'y'.repeat(255) })
  expect(metadata.scopes).toEqual(['oauth', ...some(0, 499)])
})
