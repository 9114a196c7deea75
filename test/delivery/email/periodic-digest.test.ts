import { expect, test } from 'vitest'
import type { Message } from '../../../src/alerts/alert.ts'
import { mailContent } from '../../../src/delivery/email/mail-content.ts'
import { aMessage, anAlert } from '../example-messages.ts'

function digest(data: Partial<Message['data']>) {
  const message = aMessage([], { type: 'alert.digest' })
  return mailContent(
    { ...message, data: { ...message.data, period: 'day', ...data } },
    Date.parse(message.timestamp),
    {},
  )
}

test('a digest of nothing says so, in subject and text', () => {
  const { subject, summary, rows, sections } = digest({ totals: { accounts: 0, critical: 0, warning: 0 } })
  expect(subject).toBe('[DIGEST] daily: nothing is open, all within thresholds')
  expect(summary).toBe('Daily digest: nothing is open, all within thresholds.')
  expect([...rows, ...sections]).toEqual([])
})

test('a digest tells all there is, also what it does not show, and what changed', () => {
  const { subject, summary, rows, omitted } = digest({
    ...{ period: 'week', alerts: [anAlert()], truncated: 1_213 },
    ...{
      totals: { accounts: 1_000, critical: 14, warning: 1_200 },
      changes: { new: 3, worse: 2, better: 1, resolved: 4 },
    },
  })
  expect(subject).toBe('[DIGEST] weekly: 14 critical, 1,200 warning in 1,000 accounts')
  expect(summary).toBe(
    'Weekly digest: 14 critical, 1,200 warning in 1,000 accounts; since the last one: 3 new, 2 worse, 1 better, 4 resolved.',
  )
  expect(rows).toHaveLength(1)
  expect(omitted).toContain('1,213 more alerts')
})

test('what concerns the whole fleet is in no account', () => {
  expect(digest({ totals: { accounts: 0, critical: 1, warning: 0 } }).subject).toBe('[DIGEST] daily: 1 critical')
})
