import { describe, expect, test } from 'vitest'
import { classifyAnswer, type Family } from '../../src/provider/classify.ts'
import type { FailureClass } from '../../src/provider/failure.ts'
import { retryAfterMs } from '../../src/runtime/retry-after.ts'

const NOW = Date.parse('2026-11-21T10:00:00Z')
const DAY = 24 * 3_600_000

const asItIs = (text: string) => text

function classify(family: Family, status: number, body: unknown, headers: Record<string, string | string[]> = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return classifyAnswer(family, { status, headers, body: Buffer.from(text) }, NOW, asItIs)
}

const HTML = '<html><body><h1>502 Bad Gateway</h1></body></html>'
const oauth = (status: string, error?: string) => ({
  status,
  message: 'a message',
  ...(error === undefined ? {} : { error }),
})
const crm = (category: string) => ({ status: 'error', message: 'a message', correlationId: 'c', category })
const limited = (policyName: string) => ({
  status: 'error',
  message: `You have reached your ${policyName.toLowerCase()} limit.`,
  errorType: 'RATE_LIMIT',
  correlationId: 'c',
  policyName,
  groupName: 'publicapi:private-apps:6748263',
})

const TABLE: [family: Family | 'both', status: number, body: unknown, kind: FailureClass, code: string][] = [
  ['both', 429, limited('TEN_SECONDLY_ROLLING'), 'transient', 'TEN_SECONDLY_ROLLING'],
  ['both', 429, limited('DAILY'), 'transient', 'DAILY'],
  ['both', 429, { message: 'You have reached your rate limit.' }, 'transient', '429'],
  ['both', 429, '', 'transient', '429'],
  ['both', 477, { message: 'Migration in Progress' }, 'parked', '477'],
  ['both', 423, 'Locked', 'transient', '423'],
  ['both', 408, '', 'transient', '408'],
  ['both', 500, crm('INTERNAL_ERROR'), 'transient', 'INTERNAL_ERROR'],
  ['both', 502, HTML, 'transient', '502'],
  ['both', 503, '', 'transient', '503'],
  ['both', 504, '{"truncat', 'transient', '504'],
  ['both', 521, HTML, 'transient', '521'],
  ['both', 526, HTML, 'transient', '526'],
  ['token', 400, oauth('BAD_REFRESH_TOKEN'), 'rejected', 'BAD_REFRESH_TOKEN'],
  ['token', 400, oauth('BAD_REFRESH_TOKEN', 'invalid_grant'), 'rejected', 'BAD_REFRESH_TOKEN'],
  ['token', 400, { error: 'invalid_grant' }, 'rejected', 'invalid_grant'],
  ['token', 400, { error: 'invalid_grant', status: 'error' }, 'rejected', 'invalid_grant'],
  ['token', 400, oauth('BAD_AUTH_CODE'), 'rejected', 'BAD_AUTH_CODE'],
  ['token', 400, oauth('EXPIRED_AUTH_CODE'), 'rejected', 'EXPIRED_AUTH_CODE'],
  ['token', 400, oauth('BAD_HUB', 'access_denied'), 'rejected', 'BAD_HUB'],
  ['token', 403, oauth('BAD_HUB'), 'rejected', 'BAD_HUB'],
  ['token', 400, { error: 'access_denied' }, 'client', 'access_denied'],
  ['token', 401, oauth('BAD_HUB'), 'client', 'BAD_HUB'],
  ['token', 400, oauth('BAD_CLIENT_SECRET'), 'client', 'BAD_CLIENT_SECRET'],
  ['token', 400, oauth('BAD_CLIENT_ID', 'invalid_client'), 'client', 'BAD_CLIENT_ID'],
  ['token', 401, { error: 'invalid_client' }, 'client', 'invalid_client'],
  ['token', 400, { error: 'unsupported_grant_type' }, 'client', 'unsupported_grant_type'],
  ['token', 400, HTML, 'client', '400'],
  ['token', 400, '', 'client', '400'],
  ['token', 403, crm('MISSING_SCOPES'), 'client', 'MISSING_SCOPES'],
  // A proxy, a wrong address, a redirect to a login page: nobody's account is at fault.
  ['token', 404, HTML, 'client', '404'],
  ['token', 302, '', 'client', '302'],
  ['crm', 401, crm('EXPIRED_AUTHENTICATION'), 'unauthorized', 'EXPIRED_AUTHENTICATION'],
  ['crm', 401, crm('INVALID_AUTHENTICATION'), 'unauthorized', 'INVALID_AUTHENTICATION'],
  ['crm', 401, '', 'unauthorized', '401'],
  ['crm', 403, crm('MISSING_SCOPES'), 'forbidden', 'MISSING_SCOPES'],
  ['crm', 403, HTML, 'forbidden', '403'],
  ['crm', 400, crm('VALIDATION_ERROR'), 'client', 'VALIDATION_ERROR'],
  ['crm', 404, { status: 'error', message: 'not found' }, 'client', '404'],
  // Only the token endpoint may say that a grant is no good.
  ['crm', 400, oauth('BAD_REFRESH_TOKEN', 'invalid_grant'), 'client', 'BAD_REFRESH_TOKEN'],
  ['crm', 403, oauth('BAD_HUB'), 'forbidden', 'BAD_HUB'],
]

const ROWS = TABLE.flatMap(([family, ...rest]) =>
  (family === 'both' ? (['token', 'crm'] as const) : [family]).map(
    (one): [Family, number, unknown, FailureClass, string] => [one, ...rest],
  ),
)

describe('what an answer means', () => {
  test.each(ROWS)('%s %i %j is %s (%s)', (family, status, body, kind, code) => {
    expect(classify(family, status, body)).toMatchObject({ class: kind, code, status })
  })

  test('is told with the number and what the provider said, on one short line', () => {
    expect(classify('token', 400, { message: 'missing or\n  invalid' }).message).toBe(
      'the provider answered 400: missing or invalid',
    )
    expect(classify('token', 400, { error_description: 'better', message: 'worse' }).message).toContain('better')
    expect(classify('crm', 502, HTML).message).toBe('the provider answered 502')
    expect(classify('crm', 500, { message: 'x'.repeat(5_000) }).message.length).toBeLessThan(300)
  })

  test('says nothing that a terminal obeys, or that reads backwards', () => {
    const message = 'go \u001b[31m\u0007\u009baway\u2028\u202enow\u200b'
    expect(classify('token', 400, { message }).message).toBe('the provider answered 400: go [31m away now')
  })

  test('is cut without leaving half an emoji, which no store would take', () => {
    for (const before of [196, 197, 198, 199, 200]) {
      const { message } = classify('token', 400, { message: `${'a '.repeat(before / 2).slice(0, before)}😀 and more` })
      expect(message.isWellFormed(), `${before} characters before it`).toBe(true)
    }
  })

  test('does not depend on the kind of the fields: all are optional', () => {
    const odd = { status: 7, error: ['x'], message: { a: 1 }, category: null, policyName: false, errorType: 0 }
    expect(classify('token', 400, odd)).toEqual({
      class: 'client',
      code: '400',
      message: 'the provider answered 400',
      status: 400,
    })
  })

  test('has a code that is short and plain, whatever the provider sends', () => {
    for (const category of ['x y', 'a'.repeat(61), '<b>', 'na1-token', '']) {
      expect(classify('crm', 401, { category }).code).toBe('401')
    }
  })
})

describe('what must not be told', () => {
  const clean = (text: string) => text.replaceAll('hush', '[secret]')
  const cleaned = (body: object) =>
    classifyAnswer('token', { status: 400, headers: {}, body: Buffer.from(JSON.stringify(body)) }, NOW, clean)

  test('is taken out of the message before it is cut short', () => {
    expect(cleaned({ message: 'no hush here' }).message).toBe('the provider answered 400: no [secret] here')
    const long = cleaned({ message: `${'x y '.repeat(49)}x hush` }).message
    expect(long).not.toMatch(/hu/)
  })

  test('makes no code', () => {
    expect(cleaned({ status: 'hush' }).code).toBe('400')
    expect(cleaned({ category: 'a_hush_b' }).code).toBe('400')
    expect(cleaned({ category: 'BAD_REFRESH_TOKEN' }).code).toBe('BAD_REFRESH_TOKEN')
  })
})

describe('when to come back', () => {
  const cases: [header: string | string[] | undefined, ms: number | undefined][] = [
    [undefined, undefined],
    ['7', 7_000],
    [' 7 ', 7_000],
    ['0', 1_000],
    ['86400', DAY],
    ['99999999999999999999', DAY],
    ['Sat, 21 Nov 2026 10:00:30 GMT', 30_000],
    ['Sat, 21 Nov 2026 09:00:00 GMT', 1_000],
    ['Sat, 21 Nov 2026 10:00:00 GMT', 1_000],
    ['-1', undefined],
    ['Wed, 21 Nov 2035 10:00:00 GMT', DAY],
    ['soon', undefined],
    ['', undefined],
    [['1', '2'], undefined],
  ]
  test.each(cases)('Retry-After: %j is %s ms', (header, ms) => {
    expect(retryAfterMs(header, NOW)).toBe(ms)
  })

  test.each([429, 477, 503])('stands in the failure of a %i, where the provider says it', (status) => {
    expect(classify('token', status, '', { 'retry-after': '12' }).retryAfterMs).toBe(12_000)
    expect(classify('token', status, '', { 'retry-after': '0' }).retryAfterMs).toBe(1_000)
    expect(classify('token', status, '')).not.toHaveProperty('retryAfterMs')
  })
})

describe('how long to stay away where no Retry-After says it', () => {
  test.each([
    ['crm', 'TEN_SECONDLY_ROLLING', 10_000],
    ['crm', 'DAILY', 3_600_000],
    ['crm', 'SECONDLY', undefined],
    ['crm', 'constructor', undefined],
    // The token endpoint has a pace of its own.
    ['token', 'TEN_SECONDLY_ROLLING', undefined],
  ] as [Family, string, number | undefined][])('%s, policy %s: %s ms', (family, policy, ms) => {
    expect(classify(family, 429, limited(policy)).retryAfterMs).toBe(ms)
  })

  test('is known from a 429 alone, and Retry-After says it better', () => {
    expect(classify('crm', 500, limited('TEN_SECONDLY_ROLLING'))).not.toHaveProperty('retryAfterMs')
    expect(classify('crm', 429, limited('DAILY'), { 'retry-after': '7' }).retryAfterMs).toBe(7_000)
  })
})

describe('the scopes that a 403 names', () => {
  const named = (...errors: unknown[]) => classify('crm', 403, { category: 'MISSING_SCOPES', errors }).scopes
  const requires = (...requiredScopes: unknown[]) => ({ message: 'One or more', context: { requiredScopes } })

  test('are handed on, each once, from all errors', () => {
    expect(named(requires('contacts', 'crm.objects.contacts.read'), requires('contacts', 'e-commerce'))).toEqual([
      'contacts',
      'crm.objects.contacts.read',
      'e-commerce',
    ])
    expect(named(requires('crm.objects.contacts.highly_sensitive.read.v2'))).toHaveLength(1)
  })

  test('are no more than somebody reads, whatever is sent', () => {
    const many = Array.from({ length: 5_000 }, (_, n) => `crm.objects.a${n}.read`)
    expect(named(requires(...many))).toEqual(many.slice(0, 20))
  })

  test('are words that can be a scope; the rest is nobody’s', () => {
    const junk = [
      '',
      'x'.repeat(81),
      'a b',
      '<b>',
      'a\n',
      'na1-5d2c-98ef',
      'Contacts',
      '.read',
      'a..b',
      7,
      null,
      ['contacts'],
    ]
    expect(named(requires(...junk, 'tickets'))).toEqual(['tickets'])
    expect(named(requires(...junk))).toBeUndefined()
  })

  test.each([
    [null],
    ['contacts'],
    [[null, 7, 'x', [], { context: null }, { context: { requiredScopes: 'contacts' } }]],
    [{ 0: requires('contacts') }],
  ])('are none in %j', (errors) => {
    expect(classify('crm', 403, { category: 'MISSING_SCOPES', errors })).not.toHaveProperty('scopes')
  })

  test('lose what must not be told, and mean nothing beside another refusal', () => {
    const body = JSON.stringify({ errors: [requires('hush', 'contacts')] })
    const clean = (text: string) => text.replaceAll('hush', '[secret]')
    const answer = (status: number) => ({ status, headers: {}, body: Buffer.from(body) })
    expect(classifyAnswer('crm', answer(403), NOW, clean).scopes).toEqual(['contacts'])
    expect(classifyAnswer('crm', answer(400), NOW, clean)).not.toHaveProperty('scopes')
  })
})
