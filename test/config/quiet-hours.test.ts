import { describe, expect, test } from 'vitest'
import { printConfig } from '../../config/schema/print.ts'
import { configOf, noticesOf, problemsOf, smallestWith } from './load-text.ts'

const routes = (...quiet: string[]) =>
  smallestWith(`routes:\n${quiet.map((one) => `  - { to: [ops], quiet: ${one} }\n`).join('')}`)

const about = (notices: string[]) => notices.filter((notice) => notice.includes('.quiet'))

test('quiet hours are one or a list, every day unless said otherwise', () => {
  const one = configOf(routes('{ from: "22:00", to: "07:00" }'))
  expect(one.routes[0]?.quiet).toEqual([{ from: '22:00', to: '07:00' }])
  const two = configOf(
    routes(
      '[{ from: 22:00, to: 07:00 }, { from: 0:0, to: "24:00" }]'
        .replace('0:0', '"00:00"')
        .replace('}]', ', days: sat, timeZone: Europe/Berlin }]'),
    ),
  )
  expect(two.routes[0]?.quiet).toEqual([
    { from: '22:00', to: '07:00' },
    { from: '00:00', to: '24:00', days: ['sat'], timeZone: 'Europe/Berlin' },
  ])
  expect(printConfig(two)).toContain('from: 22:00')
})

test.each([
  ['{ from: "25:00", to: "07:00" }', 'from: must be a time from "00:00" to "23:59", in quotes'],
  ['{ from: "24:00", to: "07:00" }', 'from: must be a time from "00:00" to "23:59", in quotes'],
  ['{ from: "22:00", to: "24:01" }', 'to: must be a time from "00:00" to "24:00", in quotes'],
  ['{ from: "22:00" }', 'to: required'],
  ['{ from: "22:00", to: "22:00" }', 'to: must differ from `from`: a whole day is from "00:00" to "24:00"'],
  [
    '{ from: "22:00", to: "07:00", timeZone: Europe/Berln }',
    'timeZone: no time zone has this name, did you mean "Europe/Berlin"?',
  ],
  [
    '{ from: "22:00", to: "07:00", timeZone: "+02:00" }',
    'timeZone: no time zone has this name, use a name like Europe/Berlin',
  ],
  [
    '{ from: "22:00", to: "07:00", days: [satt] }',
    'days[0]: "satt" is not one of mon, tue, wed, thu, fri, sat, sun; did you mean "sat"?',
  ],
  ['{ from: "22:00", to: "07:00", day: sat }', 'day: unknown, did you mean "days"?'],
])('%s is refused: %s', (quiet, problem) => {
  expect(problemsOf(routes(quiet))).toEqual([`routes[0].quiet.${problem}`])
})

describe('the advice', () => {
  const NIGHT = '{ from: "22:00", to: "07:00" }'

  test('says that critical alerts are held back too, and how they would not be', () => {
    expect(about(noticesOf(routes(NIGHT)))).toEqual([
      'routes[0].quiet: critical alerts are held back too; a route for them above this one, with `match: { level: critical }` ' +
        'and without `quiet`, sends them at once',
    ])
  })

  test('says nothing of them where another route takes them, or this one does not', () => {
    const both = smallestWith(
      `routes:\n  - { match: { level: critical }, to: [ops] }\n  - { to: [ops], quiet: ${NIGHT} }`,
    )
    expect(about(noticesOf(both))).toEqual([])
    const only = smallestWith(`routes: [ { match: { level: warning }, to: [ops], quiet: ${NIGHT} }, { to: [ops] } ]`)
    expect(about(noticesOf(only))).toEqual([])
  })

  test('says that a route is quiet all week, of whatever hours and zones that is made', () => {
    const allWeek = [
      '{ from: "00:00", to: "24:00" }',
      `[${NIGHT}, { from: "08:00", to: "23:00", timeZone: Europe/Berlin }]`,
    ]
    for (const quiet of allWeek) {
      expect(about(noticesOf(routes(quiet)))).toEqual([
        'routes[0].quiet: all week: what this route takes is never sent',
      ])
    }
  })
})

test('days of the week are written mon or monday, here as in digests', () => {
  const { routes: quiet, receivers } = configOf(
    `${routes('{ from: "00:00", to: "24:00", days: [saturday, sun] }')}\n`.replace(
      /^receivers:.*$(\n +.*)*/m,
      'receivers: { ops: { type: webhook, url: https://a.b, secrets: ["MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"], digest: { every: week, on: friday } } }',
    ),
  )
  expect(quiet[0]?.quiet?.[0]?.days).toEqual(['sat', 'sun'])
  expect(receivers.ops).toMatchObject({ digest: { on: 'fri' } })
  expect(problemsOf(routes('{ from: "00:00", to: "24:00", days: [sondays] }'))).toEqual([
    'routes[0].quiet.days[0]: "sondays" is not one of mon, tue, wed, thu, fri, sat, sun',
  ])
})
