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
const said = (message: string) => ({ status: 'error', message })
const limited = (policyName: string) => ({
  status: 'error',
  message: `You have reached your ${policyName.toLowerCase()} limit.`,
  errorType: 'RATE_LIMIT',
  correlationId: 'c',
  policyName,
  groupName: 'publicapi:private-apps:6748263',
})

type Row = [family: Family | 'both', status: number, body: unknown, kind: FailureClass, code: string]

/** Beside what `answer-table.txt` has of every status: the words of the provider, one by one. */
const TABLE: Row[] = [
  ['both', 429, limited('TEN_SECONDLY_ROLLING'), 'transient', 'TEN_SECONDLY_ROLLING'],
  ['both', 429, limited('DAILY'), 'transient', 'DAILY'],
  ['both', 429, { message: 'You have reached your rate limit.' }, 'transient', '429'],
  ['both', 477, { message: 'Migration in Progress' }, 'parked', '477'],
  ['both', 423, 'Locked', 'transient', '423'],
  ['both', 500, crm('INTERNAL_ERROR'), 'transient', 'INTERNAL_ERROR'],
  ['token', 400, oauth('BAD_REFRESH_TOKEN'), 'rejected', 'BAD_REFRESH_TOKEN'],
  ['token', 400, { error: 'invalid_grant' }, 'rejected', 'invalid_grant'],
  ['token', 400, { error: 'invalid_grant', status: 'error' }, 'rejected', 'invalid_grant'],
  ['token', 400, oauth('BAD_AUTH_CODE'), 'rejected', 'BAD_AUTH_CODE'],
  ['token', 400, oauth('EXPIRED_AUTH_CODE'), 'rejected', 'EXPIRED_AUTH_CODE'],
  ['token', 400, oauth('BAD_HUB', 'access_denied'), 'rejected', 'BAD_HUB'],
  ['token', 403, oauth('BAD_HUB'), 'rejected', 'BAD_HUB'],
  // Whatever the status, in any case of the letters.
  ['token', 401, oauth('BAD_HUB'), 'rejected', 'BAD_HUB'],
  ['token', 403, oauth('bad_refresh_token'), 'rejected', 'bad_refresh_token'],
  ['token', 500, { error: 'invalid_grant' }, 'rejected', 'invalid_grant'],
  ['token', 200, { error: 'invalid_grant' }, 'rejected', 'invalid_grant'],
  ['token', 400, { error: 'server_error' }, 'transient', 'server_error'],
  ['token', 401, { error: 'unauthorized_client' }, 'client', 'unauthorized_client'],
  ['token', 400, oauth('MISMATCH_REDIRECT_URI_AUTH_CODE'), 'client', 'MISMATCH_REDIRECT_URI_AUTH_CODE'],
  ['token', 400, oauth('BAD_REDIRECT_URI', 'invalid_grant'), 'client', 'BAD_REDIRECT_URI'],
  [
    'token',
    400,
    { error: 'invalid_grant', error_description: 'redirect_uri differs' },
    'client',
    'redirect_uri_mismatch',
  ],
  [
    'both',
    488,
    { message: 'Hub 7 is unknown to this Hublet, but it appears to exist in Hublet eu1' },
    'rejected',
    'other-data-center',
  ],
  ['token', 400, oauth('BAD_CLIENT_ID', 'invalid_client'), 'client', 'BAD_CLIENT_ID'],
  ['token', 401, { error: 'invalid_client' }, 'client', 'invalid_client'],
  ['token', 400, { error: 'unsupported_grant_type' }, 'client', 'unsupported_grant_type'],
  ['token', 403, crm('MISSING_SCOPES'), 'client', 'MISSING_SCOPES'],
  // A firewall, a proxy, a redirect to a login page: neither an account nor the app is at fault.
  ['both', 401, { message: 'Unauthorized' }, 'transient', 'intermediary'],
  ['both', 403, { error: 'access_denied' }, 'transient', 'intermediary'],
  ['both', 403, { error: { code: 7, message: 'blocked' } }, 'transient', 'intermediary'],
  ['both', 302, '', 'transient', 'intermediary'],
  ['crm', 401, crm('EXPIRED_AUTHENTICATION'), 'unauthorized', 'EXPIRED_AUTHENTICATION'],
  ['crm', 401, crm('INVALID_AUTHENTICATION'), 'unauthorized', 'INVALID_AUTHENTICATION'],
  ['crm', 403, crm('MISSING_SCOPES'), 'forbidden', 'MISSING_SCOPES'],
  ['crm', 404, { status: 'error', message: 'not found' }, 'client', '404'],
  // Only the token endpoint may say that a grant is no good.
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
    expect(classify('token', 400, said('missing or\n  invalid')).message).toBe(
      'the provider answered 400: missing or invalid',
    )
    expect(classify('token', 400, { error_description: 'better', ...said('worse') }).message).toContain('better')
    expect(classify('crm', 502, '').message).toBe('the provider answered 502')
    expect(classify('crm', 500, { message: 'x'.repeat(5_000) }).message.length).toBeLessThan(300)
  })

  test('says nothing that a terminal obeys, or that reads backwards', () => {
    const message = 'go \u001b[31m\u0007\u009baway\u2028\u202enow\u200b'
    expect(classify('token', 400, said(message)).message).toBe('the provider answered 400: go [31m away now')
  })

  test('is cut without leaving half an emoji, which no store would take', () => {
    for (const before of [196, 197, 198, 199, 200]) {
      const { message } = classify('token', 400, said(`${'a '.repeat(before / 2).slice(0, before)}😀 and more`))
      expect(message.isWellFormed(), `${before} characters before it`).toBe(true)
    }
  })

  test('does not depend on the kind of the fields: all are optional', () => {
    const odd = { status: 7, error: ['x'], message: { a: 1 }, category: null, policyName: false, errorType: 0 }
    expect(classify('token', 400, odd)).toEqual({
      class: 'transient',
      code: 'intermediary',
      message: 'an answer of a firewall or proxy (400)',
      status: 400,
    })
  })

  test('has a code that is short and plain, whatever the provider sends', () => {
    for (const category of ['x y', 'a'.repeat(61), '<b>', 'na1-token', '']) {
      expect(classify('crm', 401, { ...said('a message'), category }).code).toBe('401')
    }
  })
})

describe('an answer that is not the provider’s is told as', () => {
  const told = (status: number, body: unknown) => classify('token', status, body).message
  const page = (title: string) => `<!DOCTYPE html>\n<html><head><title>${title}</title></head></html>`

  test.each([
    [
      403,
      page('Attention Required! | Cloudflare'),
      'a page of a firewall or proxy (403): Attention Required! | Cloudflare',
    ],
    [502, HTML, 'a page of a firewall or proxy (502): 502 Bad Gateway'],
    [429, page('Slow down'), 'a page of a firewall or proxy (429): Slow down'],
    [404, '<xml/>', 'a page of a firewall or proxy (404)'],
    [403, page('A &amp; B &lt;b&gt;&#33; \n\u202e x'), 'a page of a firewall or proxy (403): A & B <b>! x'],
    [403, page('x'.repeat(500)), `a page of a firewall or proxy (403): ${'x'.repeat(79)}…`],
    [403, page(`token abc${'d1'.repeat(20)}`), 'a page of a firewall or proxy (403): token [removed]'],
    [407, '', 'an empty answer of a firewall or proxy (407)'],
    [302, '', 'a redirect by a firewall or proxy (302)'],
    [403, { message: 'Forbidden' }, 'an answer of a firewall or proxy (403): Forbidden'],
    [403, { error: 'blocked' }, 'an answer of a firewall or proxy (403): blocked'],
    [403, 'upstream connect error', 'an answer of a firewall or proxy (403): upstream connect error'],
    [403, '[1,2', 'an answer of a firewall or proxy (403)'],
  ])('%i %j', (status, body, sentence) => {
    expect(told(status, body)).toBe(sentence)
  })
})

describe('what must not be told', () => {
  const clean = (text: string) => text.replaceAll('hush', '[secret]')
  const cleaned = (body: object) =>
    classifyAnswer('token', { status: 400, headers: {}, body: Buffer.from(JSON.stringify(body)) }, NOW, clean)

  test('is taken out of the message before it is cut short', () => {
    expect(cleaned(said('no hush here')).message).toBe('the provider answered 400: no [secret] here')
    const long = cleaned(said(`${'x y '.repeat(49)}x hush`)).message
    expect(long).not.toMatch(/hu/)
  })

  test('makes no code', () => {
    expect(cleaned({ ...said('no'), policyName: 'hush' }).code).toBe('400')
    expect(cleaned({ ...said('no'), category: 'a_hush_b' }).code).toBe('400')
    expect(cleaned({ ...said('no'), category: 'BAD_REFRESH_TOKEN' }).code).toBe('BAD_REFRESH_TOKEN')
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
    const body = JSON.stringify({ ...said('no'), errors: [requires('hush', 'contacts')] })
    const clean = (text: string) => text.replaceAll('hush', '[secret]')
    const answer = (status: number) => ({ status, headers: {}, body: Buffer.from(body) })
    expect(classifyAnswer('crm', answer(403), NOW, clean).scopes).toEqual(['contacts'])
    expect(classifyAnswer('crm', answer(400), NOW, clean)).not.toHaveProperty('scopes')
  })
})
