import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { LineQuota } from '../../src/runtime/logger.ts'
import { redactUrls } from '../../src/runtime/url-credentials.ts'
import { logLines } from '../support/log-lines.ts'

const TOKEN = 'na1-8f2c-9911'

describe('URLs are redacted', () => {
  const cases: [string, string][] = [
    [`https://x.test/oauth/v1/access-tokens/${TOKEN}`, 'https://x.test/oauth/v1/access-tokens/[secret]'],
    [`https://x.test/oauth/v1/refresh-tokens/${TOKEN}?a=1`, 'https://x.test/oauth/v1/refresh-tokens/[secret]?a=1'],
    [`GET /oauth/v1/access-tokens/a%2Fb%2Bc HTTP/1.1`, 'GET /oauth/v1/access-tokens/[secret] HTTP/1.1'],
    [
      '"/oauth/v1/access-tokens/abc" and /oauth/v1/refresh-tokens/def',
      '"/oauth/v1/access-tokens/[secret]" and /oauth/v1/refresh-tokens/[secret]',
    ],
    ['smtps://user:pa55@mail.example.com:465', 'smtps://user:[secret]@mail.example.com:465'],
    ['https://example.com/a@b', 'https://example.com/a@b'],
    ['mail ops@example.com', 'mail ops@example.com'],
    ['http://127.0.0.1:8088/accounts/1', 'http://127.0.0.1:8088/accounts/1'],
  ]
  test.each(cases)('%s', (text, clean) => {
    expect(redactUrls(text)).toBe(clean)
  })

  test('also where there is a password without a user', () => {
    expect(redactUrls('connect redis://:pa55word@10.0.0.1:6379')).toBe('connect redis://:[secret]@10.0.0.1:6379')
  })
})

describe('a log line', () => {
  test('has a level by name, a time, its code and its message', () => {
    const { log, lines } = logLines()
    log.info({ code: 'token.recovered', hubId: 1 }, 'works again')
    expect(lines()).toEqual([
      {
        level: 'info',
        time: expect.stringMatching(/^\d{4}-.*Z$/),
        code: 'token.recovered',
        hubId: 1,
        msg: 'works again',
      },
    ])
  })

  test.each([
    'accessToken',
    'refreshToken',
    'access_token',
    'refresh_token',
    'client_secret',
    'clientSecret',
    'adminToken',
    'password',
    'authorization',
    'secret',
    'secrets',
  ])('never shows a field called %s, nor one level down', (name) => {
    const { log, text } = logLines()
    log.warn({ code: 'http.error', [name]: TOKEN, inner: { [name]: TOKEN } }, 'x')
    expect(text()).not.toContain(TOKEN)
  })

  const url = `https://x.test/oauth/v1/refresh-tokens/${TOKEN}`

  test('shows an error without the token in its URL, in message and stack', () => {
    const { log, text, lines } = logLines()
    log.error({ code: 'http.error', err: new Error(`DELETE ${url} failed`) }, 'x')
    expect(text()).not.toContain(TOKEN)
    expect(lines()[0]?.err).toMatchObject({ type: 'Error', message: `DELETE ${url.replace(TOKEN, '[secret]')} failed` })
  })

  test('shows a chain of causes without the token', () => {
    const { log, text } = logLines()
    log.error(
      { code: 'http.error', err: new Error('outer', { cause: new Error('middle', { cause: new Error(url) }) }) },
      'x',
    )
    expect(text()).not.toContain(TOKEN)
  })

  test('shows the errors inside an AggregateError without the token', () => {
    const { log, text } = logLines()
    log.error({ code: 'http.error', err: new AggregateError([new Error(`closing ${url}`)], 'two failed') }, 'x')
    expect(text()).not.toContain(TOKEN)
  })

  test('shows the fields of an error without the token', () => {
    const { log, text } = logLines()
    log.error({ code: 'http.error', err: Object.assign(new Error('failed'), { url }) }, 'x')
    expect(text()).not.toContain(TOKEN)
  })

  test.each([
    ['itself', (error: Error) => error],
    ['the cause of another', (error: Error) => new Error('outer', { cause: error })],
    ['one of several', (error: Error) => new AggregateError([new Error('first'), error], 'two failed')],
  ])('shows nothing of the command that an error of Redis carries, by %s', (_, wrapped) => {
    const { log, text } = logLines()
    const refused = Object.assign(new Error('WRONGPASS invalid username-password pair'), {
      name: 'ReplyError',
      command: { name: 'auth', args: ['plimsoll', TOKEN, Buffer.from(TOKEN)] },
      previousErrors: [{ args: [TOKEN] }],
    })
    log.error({ code: 'http.error', err: wrapped(refused) }, 'no Redis')
    expect(text()).toContain('WRONGPASS')
    expect(text()).not.toContain(TOKEN)
    expect(text()).not.toMatch(/command|args|previousErrors/)
    expect(text()).not.toContain(JSON.stringify(Buffer.from(TOKEN).toJSON().data).slice(1, -1))
  })

  test('says of an error its name, message, code, stack and cause, and nothing else', () => {
    const { log, lines } = logLines()
    const cause = Object.assign(new Error('inner'), { code: 'ECONNREFUSED', port: 6379 })
    log.error(
      { code: 'http.error', err: Object.assign(new TypeError('outer', { cause }), { code: 'E1', extra: 1 }) },
      'x',
    )
    expect(lines()[0]?.err).toEqual({
      type: 'TypeError',
      message: 'outer',
      code: 'E1',
      stack: expect.stringContaining('TypeError: outer'),
      cause: { type: 'Error', message: 'inner', code: 'ECONNREFUSED', stack: expect.stringContaining('inner') },
    })
  })

  test.each([
    ['a string', 'gone'],
    ['null', null],
    ['an object', { code: 1 }],
  ])('can report %s that was thrown', (_, thrown) => {
    const { log, lines } = logLines()
    log.error({ code: 'http.error', err: thrown }, 'still here')
    expect(lines()[0]?.msg).toBe('still here')
  })
})

test('so many lines a minute are written, and the next one after them says how many are missing', () => {
  const quota = new LineQuota(2)
  expect([0, 1, 2, 3, 59_999].map((now) => quota.take(now))).toEqual([0, 0, undefined, undefined, undefined])
  expect([60_000, 60_001, 60_002].map((now) => quota.take(now))).toEqual([3, 0, undefined])
})

describe('what repeats for as long as a state lasts', () => {
  test('is one line for each thing that fails, whatever the account', () => {
    const { log, lines } = logLines()
    for (let n = 0; n < 1_000; n++) {
      log.warn({ code: 'worker.error', queue: 'poll-limits', err: new Error(`OOM ${n}`) }, 'no Redis')
      log.error({ code: 'poll.error', hubId: n, err: new Error('OOM') }, 'not worked on')
    }
    log.warn({ code: 'worker.error', queue: 'deliver', err: new Error('OOM 1') }, 'no Redis')
    log.warn({ code: 'token.expired', hubId: 1 }, 'an event')
    log.warn({ code: 'token.expired', hubId: 1 }, 'an event')
    const said = lines().map(({ code, queue }) => [code, queue].join(' ').trim())
    expect(said).toEqual([
      'worker.error poll-limits',
      'poll.error',
      'worker.error deliver',
      'token.expired',
      'token.expired',
    ])
  })

  test('has a line again after a minute, with how many were left out, also where no more come', () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const { log, lines } = logLines()
    const fail = () => log.warn({ code: 'worker.error', queue: 'deliver', err: new Error('OOM') }, 'no Redis')
    for (let n = 0; n < 10; n++) fail()
    vi.advanceTimersByTime(60_000)
    expect(lines().map(({ repeated }) => repeated)).toEqual([undefined, 9])
    fail()
    vi.advanceTimersByTime(60_000)
    expect(lines().map(({ repeated }) => repeated)).toEqual([undefined, 9, 1])
    vi.advanceTimersByTime(60_000)
    fail()
    expect(lines().map(({ repeated }) => repeated)).toEqual([undefined, 9, 1, undefined])
  })
})
