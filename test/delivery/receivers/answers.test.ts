import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { AttemptOutcome } from '../../../src/delivery/receiver.ts'
import { receiverKind } from '../../../src/delivery/receivers/all-receivers.ts'
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

/** What each service answers, and what it means: PLIMSOLL_WRITE=1 writes the file again, and what changes there is read like code. */
const FILE = new URL('answers.txt', import.meta.url)

type Answer = readonly [status: number, body: string | object]

const PAGE =
  '<!DOCTYPE html><html><head><title>Attention Required! | Cloudflare</title></head><body>invalid_token</body></html>'
const telegram = (error_code: number, description: string): Answer => [
  error_code,
  { ok: false, error_code, description, parameters: {} },
]
const workflow = (code: string, message: string) => ({ error: { code, message } })

const ANSWERS: Record<string, Answer[]> = {
  slack: [
    [200, 'ok'],
    [403, 'invalid_token'],
    [400, 'invalid_token'],
    [403, 'no_service'],
    [403, 'action_prohibited'],
    [404, 'no_team'],
    [404, ''],
    [410, 'channel_is_archived'],
    [400, 'invalid_payload'],
    [400, 'no_text'],
    [413, ''],
    [400, 'Bad Request'],
    [200, { ok: false, error: 'channel_not_found' }],
    [500, 'rollup_error'],
  ],
  telegram: [
    [200, { ok: true, result: {} }],
    telegram(401, 'Unauthorized'),
    telegram(404, 'Not Found'),
    telegram(403, 'Forbidden: bot was blocked by the user'),
    telegram(403, 'Forbidden: bot was kicked from the group chat'),
    telegram(403, 'Forbidden: user is deactivated'),
    telegram(400, 'Bad Request: chat not found'),
    telegram(400, 'Bad Request: message is too long'),
    [200, telegram(403, 'Forbidden: bot was blocked by the user')[1]],
    [200, { ok: false }],
    [404, '404 page not found'],
    telegram(429, 'Too Many Requests'),
    telegram(502, 'Bad Gateway'),
  ],
  teams: [
    [202, ''],
    [404, workflow('WorkflowNotFound', "The workflow 'x' could not be found.")],
    [400, workflow('WorkflowTriggerIsNotEnabled', 'It is disabled.')],
    [401, workflow('DirectApiAuthorizationRequired', 'No sig.')],
    [410, ''],
    [413, ''],
    [400, workflow('TriggerInputSchemaMismatch', 'Not that shape.')],
    [200, 'Microsoft Teams endpoint returned HTTP error 429 with ContextId 1'],
    [200, 'Microsoft Teams endpoint returned HTTP error 413 with ContextId 1'],
    [404, ''],
    [502, ''],
  ],
  pagerduty: [
    [202, { status: 'success' }],
    [400, { message: 'Event object is invalid', errors: ['Invalid routing key'] }],
    [400, { errors: ["'payload.summary' is missing"] }],
    [400, ''],
    [403, {}],
    [407, {}],
    [429, {}],
  ],
  ntfy: [
    [200, { id: 'x', event: 'message' }],
    [401, { code: 40101, http: 401, error: 'unauthorized' }],
    [403, { code: 40301, http: 403, error: 'forbidden' }],
    [403, 'Forbidden'],
    [400, { code: 40024, error: 'invalid request: message JSON' }],
    [413, { code: 41301, error: 'too large' }],
    [429, { code: 42901, error: 'limit reached: too many requests' }],
    [507, ''],
  ],
  apprise: [
    [200, ''],
    [204, ''],
    [424, { error: 'One or more notification could not be sent.' }],
    [500, ''],
  ],
  webhook: [
    [200, { ok: false }],
    [400, { message: 'unknown field' }],
    [401, ''],
    [404, 'no such hook'],
    [410, ''],
    [307, 'Temporary'],
    [429, ''],
    [503, ''],
  ],
}

/** Of a mail server, whose answers have tests of their own: the code and why it failed. */
const MAIL_FAILURES: [code: number | undefined, reason: string][] = [
  [undefined, 'connection refused'],
  [undefined, 'no access token for the mail login: answered 401'],
  [535, 'login refused: 535 5.7.8'],
  [504, 'refused as localhost (EHLO, setting name): 504 5.5.2'],
  [550, 'sender or recipients refused: 550 5.7.1 Helo command rejected'],
  [451, 'sender or recipients refused: 451 4.3.0'],
  [550, 'sender or recipients refused: 550 5.1.1'],
]

const reasonOf = (outcome: AttemptOutcome) => (outcome.outcome === 'delivered' ? '' : outcome.reason)

async function meaningOf(type: string, [status, body]: Answer): Promise<string[]> {
  const { url } = await aFarSide(answers(status, body))
  const outcome = await sendThrough({ type, insecure: true, ...SETTINGS[type]?.(url) })
  const said = `${type} ${status} ${body === PAGE ? 'a page' : JSON.stringify(body)}: ${outcome.outcome}`
  if (outcome.outcome === 'delivered') return [said]
  return [`${said}, "${outcome.reason}"`, wayOut(type, status, outcome.reason)]
}

function wayOut(type: string, answer: number | undefined, reason: string): string {
  return `  ${receiverKind({ type: type as 'email' }).wayOut('receivers.ops', answer, reason)}`
}

test('each answer means what is written down, with what to do about it', async () => {
  const lines: string[] = []
  for (const [type, own] of Object.entries(ANSWERS)) {
    // What a firewall or a proxy answers in place of a service is not its word.
    const pages = [200, 400, 401, 403, 404].map((status): Answer => [status, PAGE])
    for (const answer of [...own, ...pages]) lines.push(...(await meaningOf(type, answer)))
  }
  for (const [code, reason] of MAIL_FAILURES) lines.push(`email ${code} "${reason}"`, wayOut('email', code, reason))
  const text = `${lines.join('\n')}\n`
  if (process.env.PLIMSOLL_WRITE === '1') writeFileSync(FILE, text)
  expect(text.split('\n')).toEqual(readFileSync(FILE, 'utf8').split('\n'))
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
