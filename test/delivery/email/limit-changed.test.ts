import { expect, test } from 'vitest'
import type { Alert } from '../../../src/alerts/alert.ts'
import { renderEmail } from '../../../src/delivery/email/send-email.ts'
import { subjectOf } from '../../../src/delivery/email/subject.ts'
import { aMessage, anAlert, aTokenAlert, NOW, onAccount } from '../example-messages.ts'

/** As a poll writes it. */
function aChange(overrides: Partial<Alert> = {}): Alert {
  const { daysLeft, threshold, ...alert } = anAlert({
    ...{ kind: 'limit-changed', level: 'warning', reason: 'entered', rule: 'limit-changed' },
    ...{ usage: 480, limit: 500, percent: 96, remaining: 20, since: '2026-11-21T10:00:00.000Z' },
    previous: { level: 'warning', usage: 478, limit: 1_000, measuredAt: '2026-11-21T09:45:00.000Z' },
    message: 'The limit went down from 1,000 to 500: usage is now 96 % (480).',
    ...overrides,
  })
  return alert
}

const words = (html: string) =>
  html
    .replace(/<style>.*<\/style>/s, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')

test('a limit that moved is told as such, with the limit from before', () => {
  const message = aMessage([aChange()])
  expect(subjectOf(message)).toBe('[WARNING] acme.example.com (123): limit of custom properties is now 500, 96 % used')
  const { text, html } = renderEmail(message, NOW)
  expect(text).toBe(`[WARNING] acme.example.com (123)
The limit went down from 1,000 to 500: usage is now 96 % (480).

████████████████████████████░░ 96 %

Since        2026-11-21 10:00 UTC (5 minutes ago)
Usage        480 of 500 (96 %), 20 left
Change       up 2 since 2026-11-21 09:45 UTC (478 of 1,000 → 480 of 500)
Measured     2026-11-21 10:00 UTC (5 minutes ago)
Why now      the provider moved the limit
To do        Check that the account has enough room left.

Open account https://plimsoll.example.com/accounts/123

-- 
Sent by Plimsoll, 2026-11-21 10:00 UTC.
`)
  expect(words(html)).toContain('478 of 1,000 → 480 of 500')
})

test('several limits that moved share a subject, and each has a row or a section', () => {
  const changes = [1, 2, 3].map((hubId) => onAccount(hubId, aChange()))
  const message = aMessage(changes)
  expect(subjectOf(message)).toBe(
    '[WARNING] account-1.example.com (1): limit of custom properties is now… (3 accounts)',
  )
  expect(renderEmail(message, NOW).text.match(/The limit went down/g)).toHaveLength(3)
  const digest = renderEmail({ ...message, type: 'alert.digest' }, NOW)
  expect(digest.text.match(/limit of custom properties is now 500, 96 % used/g)).toHaveLength(3)
  expect(words(digest.html).match(/limit of custom properties is now 500, 96 % used/g)).toHaveLength(3)
})

test('a level that is entered because the limit moved says so', () => {
  const previous = { level: 'ok' as const, usage: 480, limit: 1_000, measuredAt: '2026-11-21T09:45:00.000Z' }
  const alert = anAlert({ reason: 'entered', usage: 480, limit: 500, remaining: 20, previous })
  const { text } = renderEmail(aMessage([alert]), NOW)
  expect(text).toContain('Now critical: custom properties 96 % of 500 (the limit was 1,000).')
  expect(text).toContain('Change       unchanged since 2026-11-21 09:45 UTC (480 of 1,000 → 480 of 500)')
  const unmoved = anAlert({ reason: 'entered', previous: { ...previous, limit: 1_000 } })
  expect(renderEmail(aMessage([unmoved]), NOW).text).toContain('Now critical: custom properties 96 % of 1,000.')
})

test('an account that can not be watched is not one whose polls fail', () => {
  const about = (cause: 'scopes' | 'failing', status: 'firing' | 'resolved' = 'firing') =>
    subjectOf(aMessage([aTokenAlert({ ...{ kind: 'poll', rule: 'poll', level: 'warning', cause, status } })]))
  expect(about('scopes')).toBe("[WARNING] acme.example.com (123): limits can't be read: scope missing")
  expect(about('failing')).toBe("[WARNING] acme.example.com (123): limits can't be read: polls fail")
  const both = (['scopes', 'failing'] as const).map((cause, n) =>
    onAccount(n + 1, aTokenAlert({ kind: 'poll', rule: 'poll', level: 'warning', cause })),
  )
  expect(subjectOf(aMessage(both))).toContain("account-1.example.com (1): limits can't be read")
})
