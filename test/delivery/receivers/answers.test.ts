import { describe, expect, test } from 'vitest'
import type { AttemptOutcome } from '../../../src/delivery/receiver.ts'
import { aFarSide, answers, expectNothingOf, sendThrough } from './far-side.ts'

const SECRET = 's3cret-Key'
/** Each type with its secret, wherever it has one. */
const SETTINGS: Record<string, (url: string) => Record<string, unknown>> = {
  webhook: (url) => ({
    url: `${url}/hooks`,
    secrets: [Buffer.alloc(32, 1).toString('base64')],
    headers: { authorization: `Bearer ${SECRET}` },
  }),
  slack: (url) => ({ url: `${url}/services/T0/B0/${SECRET}` }),
  teams: (url) => ({
    url: `${url}/powerautomate/workflows/x/triggers/manual/paths/invoke?api-version=1&sig=${SECRET}`,
  }),
  pagerduty: (url) => ({ url: `${url}/v2/enqueue`, routingKey: SECRET }),
  telegram: (url) => ({ url, botToken: `12345:${SECRET}`, chat: '-100' }),
  ntfy: (url) => ({ url, topic: 'ops', token: SECRET }),
  apprise: (url) => ({ url: `${url}/notify/${SECRET}` }),
}

/** Switched off and told elsewhere; this message given up; tried again; arrived. */
const OUTCOMES = { final: 'disable', message: 'refuse', later: 'retry', delivered: 'delivered' } as const

type Row = [type: string, status: number, body: string | object, is: keyof typeof OUTCOMES, words: string]

const PAGE =
  '<!DOCTYPE html><html><head><title>Attention Required! | Cloudflare</title></head><body>invalid_token</body></html>'
const PAGE_WORDS = 'a page of a firewall or proxy: Attention Required! | Cloudflare'
const telegram = (error_code: number, description: string, parameters = {}) => ({
  ok: false,
  error_code,
  description,
  parameters,
})
const workflow = (code: string, message: string) => ({ error: { code, message } })

const ROWS: Row[] = [
  ['slack', 200, 'ok', 'delivered', ''],
  ['slack', 403, 'invalid_token', 'final', 'answered 403: invalid_token'],
  ['slack', 400, 'invalid_token', 'final', 'answered 400: invalid_token'],
  ['slack', 403, 'no_service', 'final', 'answered 403: no_service'],
  ['slack', 403, 'action_prohibited', 'final', 'answered 403: action_prohibited'],
  ['slack', 404, 'no_team', 'final', 'answered 404: no_team'],
  ['slack', 404, '', 'final', 'answered 404: Not Found'],
  ['slack', 410, 'channel_is_archived', 'final', 'answered 410: channel_is_archived'],
  ['slack', 400, 'invalid_payload', 'message', 'answered 400: invalid_payload'],
  ['slack', 400, 'no_text', 'message', 'answered 400: no_text'],
  ['slack', 413, '', 'message', 'answered 413: Payload Too Large'],
  ['slack', 400, 'Bad Request', 'later', 'answered 400: Bad Request'],
  ['slack', 200, { ok: false, error: 'channel_not_found' }, 'later', 'answered 200: channel_not_found'],
  ['slack', 500, 'rollup_error', 'later', 'answered 500: rollup_error'],

  ['telegram', 200, { ok: true, result: {} }, 'delivered', ''],
  ['telegram', 401, telegram(401, 'Unauthorized'), 'final', 'answered 401: Unauthorized'],
  ['telegram', 404, telegram(404, 'Not Found'), 'final', 'answered 404: Not Found'],
  ...['bot was blocked by the user', 'bot was kicked from the group chat', 'user is deactivated'].map(
    (words): Row => [
      'telegram',
      403,
      telegram(403, `Forbidden: ${words}`),
      'final',
      `answered 403: Forbidden: ${words}`,
    ],
  ),
  ['telegram', 400, telegram(400, 'Bad Request: chat not found'), 'final', 'answered 400: Bad Request: chat not found'],
  [
    'telegram',
    400,
    telegram(400, 'Bad Request: message is too long'),
    'message',
    'answered 400: Bad Request: message is too long',
  ],
  [
    'telegram',
    200,
    telegram(403, 'Forbidden: bot was blocked by the user'),
    'final',
    'answered 403: Forbidden: bot was blocked by the user',
  ],
  ['telegram', 200, { ok: false }, 'later', 'answered 200: OK'],
  ['telegram', 404, '404 page not found', 'later', 'answered 404: 404 page not found'],
  ['telegram', 429, telegram(429, 'Too Many Requests'), 'later', 'answered 429: Too Many Requests'],
  ['telegram', 502, telegram(502, 'Bad Gateway'), 'later', 'answered 502: Bad Gateway'],

  ['teams', 202, '', 'delivered', ''],
  [
    'teams',
    404,
    workflow('WorkflowNotFound', "The workflow 'x' could not be found."),
    'final',
    "answered 404: WorkflowNotFound: The workflow 'x' could not be found.",
  ],
  [
    'teams',
    400,
    workflow('WorkflowTriggerIsNotEnabled', 'It is disabled.'),
    'final',
    'answered 400: WorkflowTriggerIsNotEnabled: It is disabled.',
  ],
  [
    'teams',
    401,
    workflow('DirectApiAuthorizationRequired', 'No sig.'),
    'final',
    'answered 401: DirectApiAuthorizationRequired: No sig.',
  ],
  ['teams', 410, '', 'final', 'answered 410: Gone'],
  ['teams', 413, '', 'message', 'answered 413: Payload Too Large'],
  [
    'teams',
    400,
    workflow('TriggerInputSchemaMismatch', 'Not that shape.'),
    'message',
    'answered 400: TriggerInputSchemaMismatch: Not that shape.',
  ],
  [
    'teams',
    200,
    'Microsoft Teams endpoint returned HTTP error 429 with ContextId 1',
    'later',
    'answered 200: Microsoft Teams endpoint returned HTTP error 429 with ContextId 1',
  ],
  [
    'teams',
    200,
    'Microsoft Teams endpoint returned HTTP error 413 with ContextId 1',
    'message',
    'answered 200: Microsoft Teams endpoint returned HTTP error 413 with ContextId 1',
  ],
  ['teams', 404, '', 'later', 'answered 404: Not Found'],
  ['teams', 502, '', 'later', 'answered 502: Bad Gateway'],

  ['pagerduty', 202, { status: 'success' }, 'delivered', ''],
  [
    'pagerduty',
    400,
    { message: 'Event object is invalid', errors: ['Invalid routing key'] },
    'final',
    'answered 400: Event object is invalid: Invalid routing key',
  ],
  [
    'pagerduty',
    400,
    { errors: ["'payload.summary' is missing"] },
    'message',
    "answered 400: 'payload.summary' is missing",
  ],
  ['pagerduty', 400, '', 'later', 'answered 400: Bad Request'],
  ['pagerduty', 403, {}, 'later', 'answered 403: Forbidden'],
  ['pagerduty', 407, {}, 'later', 'answered 407: Proxy Authentication Required'],
  ['pagerduty', 429, {}, 'later', 'answered 429: Too Many Requests'],

  ['ntfy', 200, { id: 'x', event: 'message' }, 'delivered', ''],
  ['ntfy', 401, { code: 40101, http: 401, error: 'unauthorized' }, 'final', 'answered 401: 40101: unauthorized'],
  ['ntfy', 403, { code: 40301, http: 403, error: 'forbidden' }, 'final', 'answered 403: 40301: forbidden'],
  ['ntfy', 403, 'Forbidden', 'later', 'answered 403: Forbidden'],
  [
    'ntfy',
    400,
    { code: 40024, error: 'invalid request: message JSON' },
    'message',
    'answered 400: 40024: invalid request: message JSON',
  ],
  ['ntfy', 413, { code: 41301, error: 'too large' }, 'message', 'answered 413: 41301: too large'],
  [
    'ntfy',
    429,
    { code: 42901, error: 'limit reached: too many requests' },
    'later',
    'answered 429: 42901: limit reached: too many requests',
  ],
  ['ntfy', 507, '', 'later', 'answered 507: Insufficient Storage'],

  ['apprise', 200, '', 'delivered', ''],
  ['apprise', 204, '', 'later', 'answered 204: no configuration under this key, nothing was sent'],
  [
    'apprise',
    424,
    { error: 'One or more notification could not be sent.' },
    'later',
    'answered 424: a service behind Apprise failed, others may have it: One or more notification could not be sent.',
  ],
  ['apprise', 500, '', 'later', 'answered 500: Internal Server Error'],

  ['webhook', 200, { ok: false }, 'delivered', ''],
  ['webhook', 400, { message: 'unknown field' }, 'later', 'answered 400: unknown field'],
  ['webhook', 404, 'no such hook', 'later', 'answered 404: no such hook'],
  ['webhook', 410, '', 'final', 'answered 410: Gone'],
  ['webhook', 307, 'Temporary', 'later', 'answered 307: redirects are not followed'],
  ['webhook', 403, PAGE, 'later', `answered 403: ${PAGE_WORDS}`],

  // What a firewall or a proxy answers in place of a service is not its word.
  ...Object.keys(SETTINGS)
    .filter((type) => type !== 'webhook')
    .flatMap((type) =>
      [200, 400, 401, 403, 404].map(
        (status): Row => [type, status, PAGE, 'later', `answered ${status}: ${PAGE_WORDS}`],
      ),
    ),
]

const reasonOf = (outcome: AttemptOutcome) => (outcome.outcome === 'delivered' ? '' : outcome.reason)

test.each(ROWS)('%s answers %i %j: %s, "%s"', async (type, status, body, is, words) => {
  const { url } = await aFarSide(answers(status, body))
  const got = await sendThrough({ type, insecure: true, ...SETTINGS[type]?.(url) })
  expect([got.outcome, reasonOf(got)]).toEqual([OUTCOMES[is], words])
})

describe.each(Object.keys(SETTINGS))('%s', (type) => {
  test.each([400, 401, 403, 404, 410, 500])('no secret that an answer of %i repeats is shown', async (status) => {
    const echo = (path: string) => `Cannot POST ${path}: ${SECRET} Bearer ${SECRET} 12345:${SECRET} "${SECRET}"`
    for (const wrap of [
      (text: string) => text,
      (error: string) => ({ ok: false, error }),
      (text: string) => `<html><title>${text}`,
    ]) {
      const { url } = await aFarSide((response, { path }) => answers(status, wrap(echo(path)))(response))
      const got = await sendThrough({ type, insecure: true, ...SETTINGS[type]?.(url) })
      expect(reasonOf(got)).toContain('[secret]')
      expectNothingOf(got, SECRET)
    }
  })

  test.each([429, 503])('%i waits for as long as it asks', async (status) => {
    const { url } = await aFarSide(answers(status, '', { 'retry-after': '30' }))
    const got = await sendThrough({ type, insecure: true, ...SETTINGS[type]?.(url) })
    expect(got).toMatchObject({ outcome: 'retry', answer: status, retryAfterMs: 30_000 })
  })

  test('words are one line of bounded length, without what hides or reorders text', async () => {
    const { url } = await aFarSide(answers(500, `no\u202e\n\nway ${'x'.repeat(90_000)}`))
    const reason = reasonOf(await sendThrough({ type, insecure: true, ...SETTINGS[type]?.(url) }))
    expect(reason).toMatch(/^answered 500: no way x+…$/)
    expect(reason.length).toBeLessThan(200)
  })
})
