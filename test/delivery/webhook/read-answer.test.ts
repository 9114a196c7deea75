import { describe, expect, test } from 'vitest'
import { readAnswer } from '../../../src/delivery/webhook/send-webhook.ts'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const DAY = 24 * 60 * 60 * 1000

describe('every status from 100 to 599', () => {
  const statuses = Array.from({ length: 500 }, (_, index) => 100 + index)

  test.each(statuses)('%i', (status) => {
    const answer = readAnswer(status, undefined, NOW)
    if (status >= 200 && status < 300) expect(answer).toEqual({ outcome: 'delivered', answer: status })
    else if (status === 410) expect(answer.outcome).toBe('disable')
    else {
      expect(answer).toMatchObject({ outcome: 'retry', reason: expect.stringContaining(`answered ${status}`) })
      expect(answer).not.toHaveProperty('retryAfterMs')
    }
  })
})

test('a redirect says that it is not followed', () => {
  expect(readAnswer(302, undefined, NOW)).toEqual({
    outcome: 'retry',
    answer: 302,
    reason: 'answered 302: redirects are not followed',
  })
})

describe('Retry-After', () => {
  test.each([
    ['seconds', '120', 120_000],
    ['an HTTP date', 'Sat, 21 Nov 2026 10:05:00 GMT', 300_000],
    ['nothing at all to wait', '0', 1000],
    ['a date gone by', 'Sat, 21 Nov 2026 09:00:00 GMT', 1000],
    ['a year', '31536000', DAY],
    ['more digits than a number holds', '9'.repeat(400), DAY],
    ['a date in years', 'Fri, 21 Nov 2036 10:00:00 GMT', DAY],
  ])('%s', (_name, header, expected) => {
    for (const status of [429, 503]) expect(readAnswer(status, header, NOW)).toMatchObject({ retryAfterMs: expected })
  })

  test.each(['', 'soon', '-5', '1.5', '2026-11-22', 'Sat, never'])(
    'is left out where it says nothing: %o',
    (header) => {
      expect(readAnswer(429, header, NOW)).not.toHaveProperty('retryAfterMs')
    },
  )

  test('counts only where the standard says so', () => {
    for (const status of [301, 408, 425, 500, 502, 504])
      expect(readAnswer(status, '120', NOW)).not.toHaveProperty('retryAfterMs')
  })
})

test('a status that is none is tried again', () => {
  for (const status of [0, 99, 600, 999]) expect(readAnswer(status, undefined, NOW).outcome).toBe('retry')
})
