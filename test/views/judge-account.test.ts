import { describe, expect, test } from 'vitest'
import { type Account, readAccount } from '../../src/accounts/account.ts'
import { NEW_POLL_STATE } from '../../src/limits/poll-state-text.ts'
import { type JudgeFacts, judgeAccount, STATE_NAMES, troubleOf } from '../../src/views/judge-account.ts'
import { VERDICT_LEVELS, type VerdictLevel } from '../../src/views/shapes/account.ts'
import type { JudgedAlert } from '../../src/views/silenced.ts'

const NOW = Date.parse('2026-11-21T10:00:00Z')
const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000]

const WELL: JudgeFacts['account'] = {
  ...readAccount(
    1,
    {
      hubDomain: 'acme.example.com',
      state: 'active',
      connectedAt: String(NOW - 9 * DAY),
      obtainedAt: String(NOW - MINUTE),
      expiresAt: String(NOW + 29 * MINUTE),
    },
    { ...NEW_POLL_STATE, polledAt: NOW - 9 * SECOND },
  ),
  nextRefreshAt: NOW + 15 * MINUTE,
  nextPollAt: NOW + 14 * MINUTE,
  nextUninstallAt: null,
}
const token = (more: Partial<Account['token']>) => ({ token: { ...WELL.token, ...more } })
const refreshFailure = (count: number, more: object = {}) => ({
  refreshFailure: {
    count,
    class: 'transient',
    reason: 'it answered 500.',
    at: NOW - 20 * SECOND,
    since: NOW - 5 * MINUTE,
    ...more,
  },
})
const pollFailure = (count: number) => ({
  pollFailure: { count, reason: 'the provider answered 502', at: NOW - 9 * SECOND, since: NOW - 22 * MINUTE },
})
const blocked = (what: 'all' | 'part', scopes: string[] = []) => ({ pollBlocked: { what, since: NOW - DAY, scopes } })
const uninstall = (more: object) => ({
  uninstall: {
    askedAt: NOW - HOUR,
    reason: 'left us',
    by: 'api' as const,
    attempts: 1,
    failure: null,
    failureAt: null,
    at: null,
    ending: null,
    purgeAt: null,
    ...more,
  },
})
const alert = (level: JudgedAlert['level'], isHandled = false, field = 'overall'): JudgedAlert => {
  return { field, level, isHandled, title: 'Custom properties, 960 of 1,000, opened 3 h ago' }
}
const handled = alert('critical', true)

type Row = [
  what: string,
  verdict: VerdictLevel,
  trouble: string,
  says: string[],
  account: Partial<JudgeFacts['account']>,
  more?: Partial<JudgeFacts>,
]

const TOKENS = 'Tokens were refreshed 1 min ago; next refresh in 15 min. Its access token expires in 29 min.'
const LIMITS = 'Limits were read 9 s ago; next poll in 14 min.'
const NO_ALERT = 'No alert is open.'
const EXPIRES = 'Its access token expires in 29 min.'
const UNTIL = 'Until it is reconnected, nothing is refreshed or polled.'

const rows: Row[] = [
  ['all is well', 'ok', '', [TOKENS, LIMITS, 'No alert is open.'], {}],
  [
    'a refresh just failed, and its state is active still',
    'ok',
    'refresh failed 20 s ago: it answered 500',
    [`The last refresh failed 20 s ago: it answered 500. ${EXPIRES} The next attempt is in 15 min.`, LIMITS, NO_ALERT],
    refreshFailure(0),
  ],
  [
    'its refresh token is refused, and not confirmed yet',
    'warning',
    'refresh token refused, to be confirmed by 2026-11-21 10:32 UTC at the latest',
    [
      `HubSpot refuses its refresh token (it answered 500), to be confirmed by 2026-11-21 10:32 UTC at the latest. Reconnecting it helps at once. ${EXPIRES} The next attempt is in 15 min.`,
      LIMITS,
    ],
    { state: 'failing', refusedSince: NOW - MINUTE, ...refreshFailure(1, { class: 'rejected' }) },
  ],
  [
    'refreshes fail, and the token has expired',
    'critical',
    'refresh failing for 5 min: it answered 500',
    [
      'Refreshing its tokens has failed for 5 minutes (6 times in a row): it answered 500. Its access token expired 2 min ago. The next attempt is in 15 min.',
      LIMITS,
    ],
    { state: 'failing', ...refreshFailure(6), ...token({ expiresAt: NOW - 2 * MINUTE }) },
  ],
  [
    'the token that was imported is of another account',
    'critical',
    'the imported token belongs to another account',
    [
      `The imported token belongs to another account (it answered 500): import its own, or reconnect it. ${UNTIL}`,
      'Limits have not been read yet.',
    ],
    { state: 'reauthorize', polledAt: null, ...refreshFailure(1, { class: 'foreign' }) },
  ],
  [
    'no refresh is planned',
    'unknown',
    'no refresh is planned',
    [`No refresh is planned. ${EXPIRES}`, LIMITS],
    { nextRefreshAt: null },
  ],
  [
    'it was just imported',
    'unknown',
    '',
    [
      'There is no access token yet: the first refresh is due now.',
      'Limits have not been read yet; next poll due now.',
    ],
    { ...token({ obtainedAt: null, expiresAt: null }), polledAt: null, nextRefreshAt: NOW, nextPollAt: NOW },
  ],
  [
    'it was never read',
    'unknown',
    '',
    [TOKENS, 'Limits have not been read yet; next poll in 14 min.'],
    { polledAt: null },
  ],
  [
    'a part of its polls fails',
    'ok',
    "Association limits can't be read (HubSpot has answered 502 since 09:38)",
    [
      TOKENS,
      "Association limits can't be read (HubSpot has answered 502 since 09:38). Custom property limits are up to date.",
      NO_ALERT,
    ],
    {
      pollFailure: { ...pollFailure(22).pollFailure, partly: { unread: ['associations'], read: ['customProperties'] } },
    },
  ],
  [
    'no poll is planned',
    'unknown',
    'no poll is planned',
    [TOKENS, 'Limits were read 9 s ago; no poll is planned.'],
    { nextPollAt: null },
  ],
  [
    'its reading is old',
    'unknown',
    'last read 3 days ago',
    [TOKENS, 'Limits were read 3 days ago, older than limits.freshness (26 h).'],
    { polledAt: NOW - 3 * DAY },
  ],
  [
    'a part may not be read',
    'unknown',
    "some limits can't be read: a permission is missing",
    [TOKENS, LIMITS, "Some limits can't be read: a permission is missing. It began 24 h ago."],
    blocked('part'),
  ],
  [
    'alerts are open',
    'critical',
    '',
    [
      TOKENS,
      LIMITS,
      'Open alerts: 2 critical, 1 warning + 4 acknowledged or silenced; worst: Custom properties, 960 of 1,000, opened 3 h ago.',
    ],
    {},
    { alerts: [alert('critical'), alert('critical'), alert('warning'), handled, handled, handled, handled] },
  ],
  [
    'its open alerts are handled',
    'handled',
    '',
    [TOKENS, LIMITS, '4 open alerts, acknowledged or silenced.'],
    {},
    { alerts: [handled, handled, handled, handled] },
  ],
  [
    'its refresh token is refused, and an operator has handled that',
    'unknown',
    'refresh token refused for 1 min',
    [
      `HubSpot has refused its refresh token for 1 minute (it answered 500). ${UNTIL} ${EXPIRES}`,
      'Limits were read 9 s ago.',
      '1 open alert, acknowledged or silenced.',
    ],
    { state: 'reauthorize', refusedSince: NOW - MINUTE, ...refreshFailure(2) },
    { alerts: [alert('critical', true, 'token')] },
  ],
  [
    'its polls fail, and the alert about that is open',
    'warning',
    "Limits can't be read (HubSpot has answered 502 since 09:38)",
    [
      TOKENS,
      "Limits can't be read (HubSpot has answered 502 since 09:38). Limits were read 9 s ago.",
      'Open alerts: 1 warning; worst: Custom properties, 960 of 1,000, opened 3 h ago.',
    ],
    pollFailure(22),
    { alerts: [alert('warning', false, 'poll')] },
  ],
  [
    'it is being uninstalled',
    'none',
    '',
    ['Nothing is refreshed or polled any more; its refresh token is being deleted at HubSpot. Reason: left us.'],
    { state: 'uninstalling', ...uninstall({}) },
  ],
  [
    'its refresh token can not be deleted',
    'warning',
    'refresh token not deleted yet: 503',
    [
      'Nothing is refreshed or polled any more. Its refresh token could not be deleted yet: 503. The next attempt is in 5 min. Reason: left us.',
    ],
    { state: 'uninstalling', nextUninstallAt: NOW + 5 * MINUTE, ...uninstall({ failure: '503', failureAt: NOW }) },
  ],
]

const judged = (account: Partial<JudgeFacts['account']>, more: Partial<JudgeFacts> = {}) => {
  return judgeAccount(
    { account: { ...WELL, ...account }, alerts: [], freshnessMs: 26 * HOUR, freshAt: null, ...more },
    NOW,
  )
}

describe('an account of which it is true that', () => {
  test.each(rows)('%s is %s', (_what, level, trouble, says, account, more) => {
    const verdict = judged(account, more)
    expect({ level: verdict.level, trouble: troubleOf(verdict) }).toEqual({ level, trouble })
    expect(verdict.findings.map((one) => one.says)).toEqual(says)
  })
})

test('of several facts the worst decides, whichever two they are', () => {
  const rank = (level: VerdictLevel) => VERDICT_LEVELS.indexOf(level)
  // What is refused is not polled, so that nothing but its tokens is judged.
  const some = rows.filter(([, , , , { state }]) => state === undefined)
  for (const [one, first, , , account, more] of some) {
    for (const [other, second, , , account2, more2] of some) {
      if (one !== other && Object.keys(account).some((field) => field in account2)) continue
      const { level, findings } = judged({ ...account, ...account2 }, { ...more, ...more2 })
      const worst = VERDICT_LEVELS.find((known) => findings.some((finding) => finding.level === known))
      expect({ one, other, level }).toEqual({ one, other, level: worst })
      expect(rank(level), `${one}, ${other}`).toBeLessThanOrEqual(rank(second))
      // An overdue poll, or a state that fails, makes more of a failure that is none by itself.
      if (first !== 'ok' || second !== 'ok') expect(level, `${one}, ${other}`).not.toBe('ok')
    }
  }
})

test('an account that is polled once in three days may have a reading of two days ago', () => {
  const account = { polledAt: NOW - 2 * DAY, nextPollAt: NOW + DAY }
  expect(judged(account).level).toBe('unknown')
  expect(judged(account, { freshAt: NOW - 20 * HOUR }).level).toBe('ok')
})

test('no sentence has "since ... ago", two full stops, or a word of the API for a state', () => {
  for (const [, , , , account, more] of rows) {
    for (const { says, brief } of judged(account, more).findings) {
      expect(`${says} ${brief}`).not.toMatch(/since [^.;]* ago|\.\.|parked|reauthorize/)
    }
  }
  expect(Object.values(STATE_NAMES)).not.toContain('parked')
})
