import { describe, expect, test } from 'vitest'
import { printConfig } from '../../config/schema/print.ts'
import { configOf, problemsOf, SMALLEST, smallestWith } from './load-text.ts'

const TAGS = 'tags: { vip: [1234567, "*.example.com"], trial: [] }'
const withTags = (lines: string) => `${smallestWith(lines)}${TAGS}\n`
const rule = (match: string) => `thresholds: [ { on: "*", match: ${match}, off: true } ]`

describe('tags', () => {
  test('are names for accounts, and there are none by default', () => {
    expect(configOf(SMALLEST).tags).toEqual({})
    expect(configOf(withTags('')).tags).toEqual({ vip: ['1234567', '*.example.com'], trial: [] })
  })

  test('stand in a match one or several, beside accounts', () => {
    const { thresholds } = configOf(withTags(rule('{ account: 5, tag: vip }')))
    expect(thresholds[0]?.match).toEqual({ account: ['5'], tag: ['vip'] })
    const { routes } = configOf(withTags('routes: [ { match: { tag: [vip, trial] }, to: [ops] } ]'))
    expect(routes[0]?.match).toEqual({ tag: ['vip', 'trial'] })
  })

  test.each([
    [
      'a threshold',
      rule('{ tag: [trial, vpi] }'),
      'thresholds[0].match.tag[1]: no tag has this name, did you mean "vip"?',
    ],
    [
      'an override',
      'limits: { accounts: [ { match: { tag: other }, every: 1h } ] }',
      'limits.accounts[0].match.tag: no tag has this name; allowed: vip, trial',
    ],
    [
      'a route',
      'routes: [ { match: { tag: trail }, to: [ops] }, { to: [ops] } ]',
      'routes[0].match.tag: no tag has this name, did you mean "trial"?',
    ],
  ])('that nobody defined are a problem of %s', (_, lines, problem) => {
    expect(problemsOf(withTags(lines))).toEqual([problem])
  })

  test('have names and accounts of a form', () => {
    expect(problemsOf(smallestWith('tags: { "very important": [1], b: ["x y"] }'))).toEqual([
      `tags["very important"]: a tag's name is made of letters, digits, _ and -`,
      'tags.b[0]: must be text without spaces; * matches any text',
    ])
  })
})

describe('polling of some accounts', () => {
  test('may be set otherwise, setting by setting', () => {
    const accounts = `[ { match: { tag: vip }, every: 5m, soonest: 1m }, { match: { account: "*.example.org" }, associations: [] } ]`
    const { limits } = configOf(withTags(`limits: { pairsPerPoll: 7, accounts: ${accounts} }`))
    expect(limits).toMatchObject({ every: 900_000, soonest: 300_000, pairsPerPoll: 7 })
    expect(limits.accounts).toEqual([
      { match: { tag: ['vip'] }, every: 300_000, soonest: 60_000 },
      { match: { account: ['*.example.org'] }, associations: [] },
    ])
  })

  test('is printed as it was written', () => {
    const printed = printConfig(configOf(withTags('limits: { accounts: [ { match: { tag: vip }, every: 90s } ] }')))
    expect(printed).toContain('every: 90s')
    expect(configOf(withTags('limits: { accounts: [ { match: { tag: vip }, every: 90s } ] }')).limits.accounts).toEqual(
      [{ match: { tag: ['vip'] }, every: 90_000 }],
    )
  })

  test.each([
    ['without a match', '{ every: 5m }', 'limits.accounts[0].match: required'],
    ['with an empty match', '{ match: {}, every: 5m }', 'limits.accounts[0].match: needs account or tag'],
    [
      'that changes nothing',
      '{ match: { account: 1 } }',
      'limits.accounts[0]: changes nothing: needs at least one of every, soonest, associations',
    ],
    [
      'too often',
      '{ match: { account: 1 }, soonest: 10ms }',
      'limits.accounts[0].soonest: must be a duration from 1s to 7d',
    ],
  ])('is refused %s', (_, override, problem) => {
    expect(problemsOf(smallestWith(`limits: { accounts: [ ${override} ] }`))).toEqual([problem])
  })
})
