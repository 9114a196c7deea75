import { expect, test } from 'vitest'
import type { SeriesName } from '../../src/limits/reports/report.ts'
import { seriesId } from '../../src/limits/series.ts'
import { associations, properties } from '../limits/reports.ts'
import { EVERY_MS, PAIR, pollsOfFile } from './polled.ts'

/*
 * Reports as no interface describes them, and what of the account is judged all the same. How each odd part is read is
 * tested at the reports; here, which alerts come of it and what is said. Every series would open an alert.
 */

const polls = pollsOfFile()
const ALL = ['overall', 'type/0-1', 'type/0-2', 'at/0-1/0-2', 'near/0-1/0-2', 'fullest/0-1/0-2']
const RULES = [
  ...['customProperties.*', 'associations.fullest'].map((on) => ({ on, warning: { percent: 90 } })),
  ...['associations.atLimit', 'associations.nearLimit'].map((on) => ({ on, warning: { count: 1 } })),
]

const propertiesOf = (usage: number) => properties(usage, 1_000, { '0-1': [usage, 1_000], '0-2': [usage, 1_000] })
const CALM = { properties: propertiesOf(10), associations: associations(500) }
const FULL = { properties: propertiesOf(960), associations: associations(500, [490, 480], 1) }
type Of = keyof typeof FULL

/** The reports in which something is another way; undefined: it is not there. */
function odd(of: Of, path: string, value: unknown) {
  const all = structuredClone(FULL)
  const steps = path.split('.')
  const last = steps.pop() ?? ''
  let part = all[of] as unknown as Record<string, unknown>
  for (const step of steps) part = part[step] as typeof part
  part[last] = value
  return all
}

/** An account of which all was well at its first poll. */
async function polled() {
  let says: Record<Of, unknown> = CALM
  const answer = (of: Of) => async () => {
    const value = Buffer.from(typeof says[of] === 'string' ? says[of] : JSON.stringify(says[of]))
    return { ok: true as const, value }
  }
  const w = await polls({
    rules: RULES,
    settings: { limits: { associations: [PAIR] } },
    provider: { customProperties: answer('properties'), associations: answer('associations') },
  })
  const poll = async (next: typeof says) => {
    says = next
    w.clock.move(EVERY_MS)
    await w.poll()
  }
  await poll(CALM)
  return {
    ...w,
    poll,
    said: () => w.logged.lines().filter(({ code }) => code === 'poll.gaps'),
    judged: async () => {
      const opened = (await w.outbox()).filter(({ kind }) => kind === 'limit')
      return ALL.filter((id) => opened.some((alert) => seriesId(alert.series as SeriesName) === id))
    },
  }
}

const [TYPE, NEAR, FIRST] = ['byObjectType.0', 'nearLimitFromRecordSamples.0', 'atLimitFromRecordSamples.0']

test.each<[of: Of, path: string, value: unknown, unjudged: string[], gap: string | null]>([
  ['properties', `${TYPE}.percentage`, null, [], null],
  ['properties', `${TYPE}.singularLabel`, undefined, [], null],
  ['properties', `${TYPE}.objectTypeId`, '', ['type/0-1'], 'byObjectType[0].objectTypeId is empty'],
  ['properties', `${TYPE}.usage`, -1, ['type/0-1'], 'byObjectType[0].usage is the number -1'],
  ['properties', `${TYPE}.usage`, 960.5, ['type/0-1'], 'byObjectType[0].usage is the number 960.5'],
  ['properties', `${TYPE}.usage`, '960', ['type/0-1'], 'byObjectType[0].usage is a string'],
  ['properties', `${TYPE}.limit`, null, ['type/0-1'], 'byObjectType[0].limit is null'],
  ['properties', `${TYPE}.limit`, 0, ['type/0-1'], null],
  ['properties', `${TYPE}.usage`, undefined, ['type/0-1'], 'byObjectType[0].usage is missing'],
  ['properties', `${TYPE}.pluralLabel`, 7, [], 'byObjectType[0].pluralLabel is the number 7'],
  ['properties', TYPE, null, ['type/0-1'], 'byObjectType[0] is null'],
  ['properties', 'byObjectType', undefined, ['type/0-1', 'type/0-2'], 'byObjectType is missing'],
  ['properties', 'overallLimit', undefined, ['overall'], 'overallLimit is missing'],
  ['properties', 'overallLimit', 0, ['overall'], null],
  ['associations', `${NEAR}.label`, 5, [], 'nearLimitFromRecordSamples[0].label is the number 5'],
  ['associations', `${NEAR}.objectId`, '200', [], null],
  ['associations', `${NEAR}.usage`, null, [], 'nearLimitFromRecordSamples[0].usage is null'],
  ['associations', `${FIRST}.objectId`, '007', [], 'atLimitFromRecordSamples[0].objectId is a string'],
  ['associations', `${FIRST}.objectId`, -4, [], 'atLimitFromRecordSamples[0].objectId is the number -4'],
  ['associations', FIRST, null, [], 'atLimitFromRecordSamples[0] is null'],
  ['associations', 'nearLimitFromRecordSamples', 'none', [], 'nearLimitFromRecordSamples is a string'],
  ['associations', 'atLimitFromRecordSamples', undefined, [], 'atLimitFromRecordSamples is missing'],
  ['associations', 'limit', undefined, ['fullest/0-1/0-2'], 'limit is missing'],
  ['associations', 'limit', 0, ['fullest/0-1/0-2'], null],
])('a report of %s with %s as %j is judged but for what is odd, and what it lacks is said', async (...row) => {
  const [of, path, value, unjudged, gap] = row
  const one = await polled()
  await one.poll(odd(of, path, value))
  expect(await one.judged()).toEqual(ALL.filter((id) => !unjudged.includes(id)))
  const { gaps, pollFailure } = await one.read()
  expect(pollFailure).toBe(null)
  const report = of === 'properties' ? 'custom properties' : '0-1/0-2'
  expect(gaps.map((line) => line.split(':').slice(0, 2).join(':'))).toEqual(gap === null ? [] : [`${report}: ${gap}`])
  expect(one.said()).toHaveLength(gap === null ? 0 : 1)
})

test('what is odd is named once, counted each time, and no more odd when all is read again', async () => {
  const one = await polled()
  const gap = odd('associations', `${NEAR}.label`, null)
  await one.poll(gap)
  await one.poll(gap)
  expect(one.said()).toMatchObject([{ level: 'warn', hubId: 123, gaps: [expect.stringMatching(/label is null/)] }])
  expect((await one.read()).gaps).toHaveLength(1)
  expect(await one.services.metrics.registry.metrics()).toContain('plimsoll_limit_report_gaps_total 2')
  await one.poll(FULL)
  expect((await one.read()).gaps).toEqual([])
  await one.poll(gap)
  expect(one.said()).toHaveLength(2)
})

test.each<[what: string, reports: Record<Of, unknown>, unread: string[]]>([
  ['without overall usage', odd('properties', 'overallUsage', undefined), ALL.slice(0, 3)],
  ['with null for a total', odd('associations', 'totalRecordsAtLimit', null), ALL.slice(3)],
  ['that is no JSON', { ...FULL, properties: '{"overallLimit":NaN}' }, ALL.slice(0, 3)],
])('a report %s fails, and the other is judged', async (_, reports, unread) => {
  const one = await polled()
  await one.poll(reports)
  expect(await one.judged()).toEqual(ALL.filter((id) => !unread.includes(id)))
  expect((await one.read()).pollFailure).not.toBe(null)
})

test('an id above 2^53 is kept to its last digit, with a record that has no label', async () => {
  const one = await polled()
  const text = JSON.stringify(
    odd('associations', 'atLimitFromRecordSamples.0', { label: null, objectId: 42 }).associations,
  )
  await one.poll({ ...FULL, associations: text.replace('"objectId":42', '"objectId":9007199254740993') })
  const kept = (await one.services.samples.read(one.hubId))['associations/0-1/0-2']
  expect(kept?.atLimit).toEqual([{ objectId: '9007199254740993' }])
  expect(kept?.nearLimit.map(({ objectId }) => objectId)).toEqual([200, 201])
})
