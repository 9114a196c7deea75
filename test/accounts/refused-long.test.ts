import { describe, expect, test } from 'vitest'
import { type FailedAttempt, uninstallAfterRefusal } from '../../src/accounts/uninstall.ts'
import { failure } from '../support/fake-provider.ts'

const DAY = 86_400_000
const SINCE = Date.parse('2026-10-01T08:00:00.000Z')
const NOW = SINCE + 30 * DAY

const refused: FailedAttempt = {
  ...{ state: 'reauthorize', alerted: false, rejectedAt: SINCE },
  failure: failure('rejected').failure,
}

describe('a refresh token that is refused again', () => {
  test('after long enough is an uninstall, and says since when', () => {
    const request = { by: 'evidence', reason: 'refresh token refused since 2026-10-01', refusedSince: SINCE }
    expect(uninstallAfterRefusal(refused, 30 * DAY, NOW)).toEqual(request)
  })

  test.each<[string, Partial<FailedAttempt>, number | 'never']>([
    ['is none a moment too early', {}, 30 * DAY + 1],
    ['is none where the config says never', {}, 'never'],
    ['is none in the moment that finds it out', { alerted: true }, 30 * DAY],
    ['is none while it is not confirmed', { state: 'failing' }, 30 * DAY],
    ['is none where it was never refused', { rejectedAt: null }, 30 * DAY],
    ['is none when the provider only does not answer', { failure: failure('transient').failure }, 30 * DAY],
    ['is none when the app is refused', { failure: failure('client').failure }, 30 * DAY],
    ['is none when the account is to be left alone', { failure: failure('parked').failure }, 30 * DAY],
  ])('%s', (_, change, after) => {
    expect(uninstallAfterRefusal({ ...refused, ...change }, after, NOW)).toBeUndefined()
  })
})
