import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { shadowedBy } from '../../config/schema/lint-rules.ts'
import type { thresholdRules } from '../../config/schema/thresholds.ts'
import { withTags } from '../../src/accounts/match-account.ts'
import { ruleFor } from '../../src/alerts/evaluation/rules.ts'
import { METRICS } from '../../src/limits/reports/all-reports.ts'
import { KEY, noticesOf } from './load-text.ts'

const QUIET = `
provider: { api: 2026-03, clientId: a, clientSecret: b, scopes: [oauth, crm.objects.contacts.read] }
http: { publicUrl: https://a.b, adminToken: sixteen-letters-or-more }
receivers:
  ops: { type: webhook, url: https://a.b, secrets: ["${KEY}"] }
  dba: { type: webhook, url: https://a.b, secrets: ["${KEY}"] }
routes: [ { to: [ops, dba] } ]
limits: { associations: [ { from: 0-1, to: 0-2 } ] }
tags: { vip: [77, "*.vip.example.com"], trial: ["*.trial.example.com"] }
`
const LEVEL = 'warning: { percent: 85 }'

const noticesOfRules = (...rules: string[]) =>
  noticesOf(`${QUIET}thresholds:\n${rules.map((rule) => `  - { ${rule} }\n`).join('')}`)

describe('a rule behind others is called shadowed', () => {
  const notice = (place: number, by: string) => [`thresholds[${place}]: never decides: ${by} all that it is about`]
  const one = 'thresholds[0] comes first and takes'

  test.each<[name: string, by: string, ...rules: string[]]>([
    ['by one for every series', one, `on: "*", off: true`, `on: customProperties.overall, ${LEVEL}`],
    [
      'by one for more of its accounts',
      one,
      'on: "*", match: { account: ["*.example.com", 5] }, off: true',
      `on: customProperties.*, match: { account: 5, objectType: "0-1" }, ${LEVEL}`,
    ],
    [
      'by several that share its series',
      'thresholds[0] and thresholds[1] come first and take',
      'on: customProperties.overall, off: true',
      'on: customProperties.objectType, off: true',
      `on: customProperties.*, match: { account: 5 }, ${LEVEL}`,
    ],
  ])('%s', (_, by, ...rules) => {
    expect(noticesOfRules(...rules)).toEqual(notice(rules.length - 1, by))
  })

  test.each<[name: string, ...rules: string[]]>([
    ['for fewer series', `on: customProperties.overall, off: true`, `on: customProperties.*, ${LEVEL}`],
    [
      'for the other way round',
      'on: associations.*, match: { from: "0-1", to: "0-2" }, off: true',
      'on: associations.atLimit, match: { from: "0-2", to: "0-1" }, warning: { count: 1 }',
    ],
    ['for none of its series', 'on: associations.*, off: true', `on: customProperties.*, ${LEVEL}`],
  ])('but not by one %s', (_, ...rules) => {
    expect(noticesOfRules(...rules)).toEqual([])
  })

  test('only where it is never the first that matches, whatever the account and the series', () => {
    const account = fc.constantFrom(
      '5',
      '77',
      '7*',
      '*',
      '**',
      '*.example.com',
      'a*.example.com',
      'a.EXAMPLE.com',
      '*a*',
      'a*b*c',
      '7',
      '',
    )
    const type = fc.constantFrom('0-1', '0-2', '2-77', '2-*', '0-*', '*', '*-7*', '*-*')
    const some = <T>(of: fc.Arbitrary<T>) =>
      fc.option(fc.array(of, { minLength: 1, maxLength: 3 }), { nil: undefined, freq: 2 })
    const tags = fc.record({ vip: fc.array(account, { maxLength: 3 }), trial: fc.array(account, { maxLength: 3 }) })
    const rule = fc.record({
      on: fc.constantFrom(...METRICS, 'customProperties.*', 'associations.*', '*'),
      match: fc.record({
        account: some(account),
        tag: some(fc.constantFrom('vip', 'trial')),
        objectType: some(type),
        from: some(type),
        to: some(type),
      }),
    })
    const subject = fc.record({
      hubId: fc.constantFrom(5, 7, 77, 177),
      hubDomain: fc.constantFrom(
        '',
        '77',
        '5',
        'a.example.com',
        'A.Example.com',
        'ab.example.com',
        'b.example.com',
        'abc',
        'axbxc',
        'bca',
      ),
    })
    const id = fc.constantFrom('0-1', '0-2', '2-77', '2-7', '1-1')
    const series = fc.oneof(
      fc.record({ metric: fc.constant('customProperties.overall' as const) }),
      fc.record({ metric: fc.constant('customProperties.objectType' as const), objectTypeId: id }),
      fc.record({
        metric: fc.constantFrom(
          'associations.atLimit' as const,
          'associations.nearLimit' as const,
          'associations.fullest' as const,
        ),
        from: id,
        to: id,
      }),
    )
    let accused = 0
    fc.assert(
      fc.property(
        fc.array(rule, { minLength: 2, maxLength: 4 }),
        tags,
        fc.array(fc.tuple(subject, series), { minLength: 30, maxLength: 60 }),
        (given, tagged, cases) => {
          const rules = given.map(({ on, match }, n) => {
            const asked = Object.fromEntries(Object.entries(match).filter(([, value]) => value !== undefined))
            return { name: `rule ${n}`, on, match: asked, off: true } as ReturnType<typeof thresholdRules.parse>[number]
          })
          const resolved = withTags(rules, tagged)
          for (const [place, one] of rules.entries()) {
            if (shadowedBy(rules.slice(0, place), one) === undefined) continue
            accused++
            for (const [who, what] of cases) expect(ruleFor(resolved, who, what)?.name).not.toBe(one.name)
          }
        },
      ),
      { numRuns: 400 },
    )
    expect(accused).toBeGreaterThan(500)
  })
})

describe('what a rule asks in vain', () => {
  test.each<[name: string, notice: string, rule: string]>([
    [
      'an object type and a pair at once',
      'thresholds[0].match: can never match: no series has all of what is asked here',
      `on: "*", match: { objectType: "0-1", from: "0-2" }, ${LEVEL}`,
    ],
    [
      'warning where it is critical already',
      'thresholds[0].warning: never entered: a series that meets it is critical already',
      'on: customProperties.*, warning: { percent: 95 }, critical: { percent: 95, daysLeft: 7 }',
    ],
  ])('gets a notice: %s', (_, notice, rule) => {
    expect(noticesOfRules(rule)).toEqual([notice])
  })

  test('gets none where there is a way', () => {
    expect(
      noticesOfRules(
        'on: customProperties.overall, warning: { percent: 95, daysLeft: 14 }, critical: { percent: 95, daysLeft: 7 }',
        'on: limit-changed, off: true',
        'on: associations.fullest, warning: { count: 20 }',
      ),
    ).toEqual([])
    // Only object types have one: no count is asked of them.
    expect(noticesOfRules(`on: "*", match: { objectType: "0-1" }, ${LEVEL}`)).toEqual([])
  })

  test('gets a notice where a tag names no account', () => {
    const tags = QUIET.replace('trial: [', 'nobody: [], trial: [')
    expect(noticesOf(tags)).toEqual(['tags.nobody: no account carries it: what asks for this tag never matches'])
  })
})

test('a rule is not told of counts that earlier rules have taken', () => {
  const [atLimit, nearLimit] = ['atLimit', 'nearLimit'].map((one) => `on: associations.${one}, warning: { count: 1 }`)
  expect(noticesOfRules(atLimit ?? '', nearLimit ?? '', `on: "*", ${LEVEL}`)).toEqual([])
  expect(noticesOfRules(atLimit ?? '', `on: "*", ${LEVEL}`)).toEqual([
    'thresholds[1].warning: associations.nearLimit is a count: without `count` this never fires for it',
  ])
})
