import { format, inspect } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Secret, withoutSecrets } from '../../src/runtime/secret.ts'
import { logLines } from '../support/log-lines.ts'

const VALUE = 'na1-0123/45+67=89?'
const secret = new Secret(VALUE)

describe('a secret', () => {
  const ways: [string, () => string][] = [
    ['a template', () => `${secret}`],
    ['concatenation', () => `the token ${secret as unknown as string}`],
    ['String()', () => String(secret)],
    ['JSON', () => JSON.stringify({ deep: [{ secret }] })],
    ['inspect', () => inspect({ deep: { secret } }, { depth: 10, showHidden: true })],
    ['format', () => format('%s %o %O %j', secret, secret, secret, secret)],
    ['the message of an error', () => inspect(new Error(`refused: ${secret}`))],
    ['the cause of an error', () => inspect(new Error('refused', { cause: { secret } }), { depth: 10 })],
    ['its keys', () => JSON.stringify([Object.entries(secret), Object.getOwnPropertyNames(secret)])],
    ['a copy', () => inspect({ ...secret })],
    ['structuredClone', () => inspect(structuredClone(secret), { showHidden: true })],
  ]
  test.each(ways)('never shows in %s', (_, print) => {
    expect(print()).not.toContain('na1-0123')
  })

  test('never shows in a log line, whatever the field is called', () => {
    const { log, text } = logLines()
    log.error(
      { code: 'http.error', anything: secret, list: [secret], err: Object.assign(new Error('x'), { token: secret }) },
      `m ${secret}`,
    )
    expect(text()).toContain('[secret]')
    expect(text()).not.toContain('na1-0123')
  })

  test('is handed out by reveal alone', () => {
    expect(secret.reveal()).toBe(VALUE)
  })
})

describe('text without secrets', () => {
  test('has no secret left, neither plain nor URL-encoded', () => {
    const text = `a ${VALUE} b ${encodeURIComponent(VALUE)} c ${VALUE}${VALUE}`
    expect(withoutSecrets(text, secret)).toBe('a [secret] b [secret] c [secret][secret]')
  })

  test('ignores an empty secret', () => {
    expect(withoutSecrets('abc', new Secret(''))).toBe('abc')
  })

  test('has no secret left, whatever the secret and the text around it', () => {
    const parts = fc.tuple(
      fc.string({ minLength: 12, maxLength: 40, unit: 'grapheme-ascii' }),
      fc.string(),
      fc.string(),
    )
    fc.assert(
      fc.property(parts, ([value, before, after]) => {
        expect(withoutSecrets(`${before}${value}${after}`, new Secret(value))).not.toContain(value)
      }),
    )
  })

  test('has no secret left when a form body is repeated', () => {
    const odd = "pa ss~word!'(1)"
    const form = new URLSearchParams({ client_secret: odd }).toString()
    expect(withoutSecrets(form, new Secret(odd))).toBe('client_secret=[secret]')
  })
})
