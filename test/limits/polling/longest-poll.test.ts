import { expect, test } from 'vitest'
import { shareLeft } from '../../../src/limits/polling/account-calls.ts'
import { longestPollMs } from '../../../src/limits/polling/make-poll.ts'

test.each([
  { requests: 10, perMs: 600_000 },
  { requests: 5, perMs: 3_600_000 },
  { requests: 60, perMs: 300_000 },
])('a claim lasts longer than a poll that begins with nothing left of its share: %o', (share) => {
  const reports = ['customProperties', 'associations']
  const polling = { every: 1, soonest: 1, reports, associations: [], pairsPerPoll: 20, accounts: [] }
  const { waitMs } = shareLeft(share, [[0, share.requests]], [], 1)
  expect(longestPollMs({ polling, share }, 10_000)).toBeGreaterThan(waitMs)
})
