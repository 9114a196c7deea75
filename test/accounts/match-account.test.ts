import { describe, expect, test } from 'vitest'
import { isAccount, matchesAccount, withTags } from '../../src/accounts/match-account.ts'

const ACCOUNT = { hubId: 1234567, hubDomain: 'Shop.Example.com' }

describe('an account is meant', () => {
  test.each([
    ['1234567', true],
    ['123456', false],
    ['shop.example.com', true],
    ['*.EXAMPLE.com', true],
    ['example.com', false],
    ['*', true],
  ])('by %j: %s', (wanted, is) => {
    expect(isAccount(wanted, ACCOUNT)).toBe(is)
  })
})

describe('a match', () => {
  const tag = (...accounts: string[]) => ({ name: 'vip', accounts })

  test.each([
    ['nothing', {}, true],
    ['its hubId', { account: ['5', '1234567'] }, true],
    ['others', { account: ['5', '*.example.org'] }, false],
    ['no account at all', { account: [] }, false],
    ['a tag that it carries', { tag: [tag('5', '*.example.com')] }, true],
    ['one of several tags', { tag: [tag('5'), tag('1234567')] }, true],
    ['a tag of others', { tag: [tag('5')] }, false],
    ['itself and a tag of others', { account: ['1234567'], tag: [tag('5')] }, false],
    ['itself and a tag that it carries', { account: ['*'], tag: [tag('1234567')] }, true],
  ])('that asks for %s: %o fits: %s', (_, match, does) => {
    expect(matchesAccount(match, ACCOUNT)).toBe(does)
  })
})

describe('settings that name tags', () => {
  test('get the accounts that carry them, and keep the rest', () => {
    const rules = [
      { name: 'a', match: { tag: ['vip', 'trial'], from: ['0-1'] } },
      { name: 'b', match: { account: ['1'] } },
    ]
    expect(withTags(rules, { vip: ['1', '*.example.com'], trial: [] })).toEqual([
      {
        name: 'a',
        match: {
          from: ['0-1'],
          tag: [
            { name: 'vip', accounts: ['1', '*.example.com'] },
            { name: 'trial', accounts: [] },
          ],
        },
      },
      { name: 'b', match: { account: ['1'] } },
    ])
  })

  test('match nobody by a tag that is not defined, whatever its name', () => {
    const [rule] = withTags([{ match: { tag: ['constructor'] } }], {})
    expect(matchesAccount(rule?.match ?? {}, ACCOUNT)).toBe(false)
  })
})
