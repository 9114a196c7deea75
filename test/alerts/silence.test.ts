import { describe, expect, test } from 'vitest'
import {
  checkMatcher,
  matchersText,
  parseMatcher,
  parseMatchers,
  type Silence,
  silenceOf,
  withCarriers,
} from '../../src/alerts/silence.ts'
import { anAlert } from './an-alert.ts'

const TAGS = { vip: ['123', '*.big.example.com'], quiet: ['7'] }
const NOW = 1_000

function silence(...texts: string[]): Silence {
  const matchers = texts.map((text) => {
    const parsed = parseMatcher(text, Object.keys(TAGS))
    if (!parsed.ok) throw new Error(parsed.fault)
    return parsed.matcher
  })
  const made = { id: texts.join(' '), matchers, author: 'ann', comment: 'planned', createdAt: 0, endsAt: NOW + 1 }
  return withCarriers([made], TAGS)[0] ?? made
}

const alert = anAlert({
  kind: 'limit',
  level: 'warning',
  rule: 'contacts',
  account: { hubId: 123, hubDomain: 'Acme.example.com' },
  series: { metric: 'customProperties.objectType', objectTypeId: '2-5' },
})
const pair = anAlert({ series: { metric: 'associations.atLimit', from: '0-1', to: '0-2' } })
const fleet = anAlert({ kind: 'fleet', rule: 'fleet' })
delete fleet.account

describe('a silence covers', () => {
  test.each([
    [['account=123']],
    [['account=acme.EXAMPLE.com']],
    [['account=*.example.com']],
    [['tag=vip']],
    [['tag=v*']],
    [['level=warning', 'level=critical']],
    [['rule=cont*', 'kind=limit', 'series=customProperties.*', 'objectType=2-*']],
    [['kind=*']],
  ])('an alert that fits %j', (texts) => {
    expect(silenceOf([silence(...texts)], alert, NOW)).toMatchObject({ author: 'ann' })
  })

  test.each([
    [['account=12']],
    [['account=example.com']],
    [['tag=quiet']],
    [['level=critical']],
    [['account=123', 'level=critical']],
    [['objectType=0-*']],
    [['from=0-1']],
  ])('none that does not fit %j', (texts) => {
    expect(silenceOf([silence(...texts)], alert, NOW)).toBeUndefined()
  })

  test('pairs by their ends, in their direction', () => {
    expect(silenceOf([silence('from=0-1', 'to=0-*')], pair, NOW)).toBeDefined()
    expect(silenceOf([silence('from=0-2', 'to=0-1')], pair, NOW)).toBeUndefined()
  })

  test('what concerns the whole fleet only where no account is asked for', () => {
    for (const text of ['account=*', 'tag=*']) expect(silenceOf([silence(text)], fleet, NOW)).toBeUndefined()
    expect(silenceOf([silence('kind=fleet')], fleet, NOW)).toBeDefined()
  })

  test('nothing any more from its end on; of several the one that lasts longest holds', () => {
    const one = silence('account=123')
    expect(silenceOf([one], alert, NOW + 1)).toBeUndefined()
    const longer = { ...silence('kind=limit'), endsAt: NOW + 50 }
    expect(silenceOf([one, longer, silence('level=warning')], alert, NOW)).toBe(longer)
  })
})

describe('a matcher that could match nothing is refused', () => {
  test.each([
    ['account', '"account" is not a matcher: write NAME=VALUE, such as account=123 or level=warning'],
    ['acount=123', '"acount" is not a matcher name, did you mean account?'],
    ['zz=1', '"zz" is not a matcher name; there are account, level, kind, rule, tag, series, objectType, from, to'],
    ['account=', 'account has no value: * matches any text'],
    ['account=a b', 'account must be a hub id, or a domain in which * matches any text'],
    ['account=1,level=warning', 'account must be a hub id, or a domain in which * matches any text'],
    ['level=waring', 'no level is "waring", did you mean warning?'],
    ['kind=tokens', 'no kind is "tokens", did you mean token?'],
    ['series=associations.atlimits', 'no series is "associations.atlimits", did you mean associations.atLimit?'],
    ['tag=vipp', 'no tag is "vipp", did you mean vip?'],
    ['objectType=contacts', 'objectType must be an objectTypeId like 0-1 or a pattern like 2-*, not a name'],
    ['rule=a\nb', 'the value of rule is not text on one line'],
    [`rule=${'x'.repeat(201)}`, 'the value of rule is longer than 200 characters'],
  ])('%j: %s', (text, fault) => {
    expect(parseMatcher(text, Object.keys(TAGS))).toEqual({ ok: false, fault })
  })

  test('a tag where the config has none', () => {
    expect(checkMatcher('tag', 'vip', [])).toEqual({ ok: false, fault: 'the config has no tags' })
  })

  test('and one that fits is taken with what stands around it left out', () => {
    expect(parseMatcher(' rule = a=b ', [])).toEqual({ ok: true, matcher: { name: 'rule', value: 'a=b' } })
  })
})

test.each([
  ['account=1 level=warning', ['account=1', 'level=warning']],
  [
    '  rule=custom properties, object types   level = critical ',
    ['rule=custom properties, object types', 'level=critical'],
  ],
  ['rule=a=b account=1 account=*.example.com', ['rule=a=b', 'account=1', 'account=*.example.com']],
  ['', []],
])('a line of matchers: %s', (line, each) => {
  const parsed = parseMatchers(line, [])
  const matchers = parsed.ok ? parsed.matchers : []
  expect(matchers.map((one) => matchersText([one]))).toEqual(each)
  expect(parseMatchers(matchersText(matchers), [])).toEqual({ ok: true, matchers })
})

test.each([
  ['account=1 level=high', 'no level is "high"'],
  ['rule=full lvl=warning', '"lvl" is not a matcher name'],
  ['warning', '"warning" is not a matcher: write NAME=VALUE'],
])('a line that can not be meant: %s', (line, fault) => {
  expect(parseMatchers(line, [])).toEqual({ ok: false, fault: expect.stringContaining(fault) })
})
