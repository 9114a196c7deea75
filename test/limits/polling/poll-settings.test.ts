import { describe, expect, test } from 'vitest'
import { type PollSettings, pollSettingsOf } from '../../../src/limits/polling/poll-settings.ts'

import { REPORTS } from '../../../src/limits/reports/all-reports.ts'

const ALIKE = { reports: REPORTS, pairsPerPoll: 20 }
const MINUTE = 60_000
const CONTACTS = [{ from: '0-1', to: '0-2' }]
const SETTINGS: PollSettings = {
  every: 15 * MINUTE,
  soonest: 5 * MINUTE,
  reports: REPORTS.map(({ name }) => name),
  associations: CONTACTS,
  pairsPerPoll: 20,
  accounts: [
    { match: { tag: [{ name: 'vip', accounts: ['7', '*.example.com'] }] }, every: 4 * MINUTE },
    { match: { account: ['7', '8'] }, soonest: MINUTE, associations: [] },
    { match: { account: ['9'] }, every: 60 * MINUTE, soonest: 30 * MINUTE },
  ],
}
const of = (hubId: number, hubDomain = '') => pollSettingsOf(SETTINGS, { hubId, hubDomain })

describe('how an account is polled', () => {
  test('is what is set for all, where nothing is set for it', () => {
    expect(of(1)).toEqual({ everyMs: 15 * MINUTE, soonestMs: 5 * MINUTE, pairs: CONTACTS, ...ALIKE })
  })

  test('is what the first override that matches says, and no other', () => {
    expect(of(7)).toEqual({ everyMs: 4 * MINUTE, soonestMs: 4 * MINUTE, pairs: CONTACTS, ...ALIKE })
    const reports = REPORTS.filter(({ perPair }) => perPair === undefined)
    expect(of(8)).toEqual({ everyMs: 15 * MINUTE, soonestMs: MINUTE, pairs: [], ...ALIKE, reports })
    expect(of(9)).toEqual({ everyMs: 60 * MINUTE, soonestMs: 30 * MINUTE, pairs: CONTACTS, ...ALIKE })
    expect(of(1, 'a.example.com').everyMs).toBe(4 * MINUTE)
  })

  test('is never sooner than at the longest period, whatever the shortest one says', () => {
    expect(pollSettingsOf({ ...SETTINGS, every: 3_000, accounts: [] }, { hubId: 1, hubDomain: '' }).soonestMs).toBe(
      3_000,
    )
  })
})
