import { expect, test } from 'vitest'
import { type Account, readAccount } from '../../src/accounts/account.ts'
import type { OpenAlert } from '../../src/alerts/open-alerts.ts'
import { accountStory } from '../../src/views/account-story.ts'

const at = (time: string) => Date.parse(`2026-10-${time}:00Z`)
const text = (time: string) => String(at(time))

const CONNECTED = { state: 'active', connectedAt: text('01T10:00'), obtainedAt: text('01T09:59') }

function account(hash: Record<string, string>, nextUninstallAt: number | null = null) {
  return { ...(readAccount(1, { ...CONNECTED, ...hash }, undefined) as Account), nextUninstallAt }
}

/** As a person reads it. */
function told(hash: Record<string, string>, next?: number | null, alerts: OpenAlert[] = []): string[] {
  return accountStory(account(hash, next), alerts).map(({ at, event, detail }) =>
    [new Date(at).toISOString().slice(8, 16), event, detail].filter(Boolean).join(' | '),
  )
}

test('an account that was just connected has a short story', () => {
  expect(told({ refreshedAt: text('01T09:59') })).toEqual(['01T10:00 | connected'])
})

test('who comes back is told apart from who is new, and refreshes from the tokens of connecting', () => {
  expect(told({ firstConnectedAt: text('01T08:00'), refreshedAt: text('02T10:00') })).toEqual([
    '01T08:00 | connected',
    '01T10:00 | reconnected',
    '02T10:00 | last refresh',
  ])
})

test('a refresh that fails, a token that is refused and an alert that is open each have their moment', () => {
  const alert = {
    since: new Date(at('03T11:00')).toISOString(),
    kind: 'token',
    level: 'critical',
    rule: 'token',
  } as OpenAlert
  const series = { metric: 'customProperties.overall' }
  const full = { since: new Date(at('02T09:00')).toISOString(), level: 'warning', rule: 'r', series } as OpenAlert
  const failing = {
    failures: '3',
    failureClass: 'rejected',
    failureReason: 'the provider answered 400',
    failureAt: text('03T12:00'),
    failingSince: text('03T10:00'),
    rejectedAt: text('03T10:30'),
  }
  expect(told({ state: 'reauthorize', ...failing }, null, [alert, full])).toEqual([
    '01T10:00 | connected',
    '02T09:00 | alert opened | Custom properties, now warning',
    '03T10:00 | refreshes started to fail | HubSpot answered 400 (3 failures in a row, the last 2026-10-03 12:00 UTC)',
    '03T10:30 | refresh token refused',
    '03T11:00 | alert opened | Customer must reconnect, now critical',
  ])
})

const ASKED = {
  state: 'uninstalling',
  uninstallAskedAt: text('04T10:00'),
  uninstallReason: 'left us',
  uninstallBy: 'api',
}
const FAILED = {
  uninstallAttempts: '2',
  uninstallFailureReason: 'HTTP 500',
  uninstallFailureAt: text('04T10:05'),
}

test('an uninstall under way says who asked for it, what failed last, how often, and when it is tried next', () => {
  expect(told({ ...ASKED, ...FAILED }, at('04T10:09')).slice(1)).toEqual([
    '04T10:00 | uninstall requested | left us (by API)',
    '04T10:05 | deletion failed | HTTP 500 (2 failed attempts, the next 2026-10-04 10:09 UTC)',
  ])
  const evidence = { ...ASKED, uninstallBy: 'evidence', uninstallReason: 'refresh token refused since 2026-09-01' }
  expect(told(evidence).at(-1)).toBe(
    '04T10:00 | uninstall requested | refresh token refused since 2026-09-01 (by evidence)',
  )
})

test('an uninstall that is done says how it ended and when the record goes', () => {
  const done = {
    state: 'uninstalled',
    uninstallAttempts: '3',
    uninstalledAt: text('04T10:09'),
    uninstallEnding: 'deleted',
    purgeAt: text('30T10:09'),
  }
  const after = at('30T10:09')
  expect(told({ ...ASKED, ...FAILED, ...done }, after).slice(2)).toEqual([
    '04T10:05 | deletion failed | HTTP 500 (2 failed attempts)',
    '04T10:09 | refresh token deleted | HubSpot confirmed it',
    '30T10:09 | record deleted | planned',
  ])
  expect(told({ ...ASKED, ...done, uninstallEnding: 'was-gone' }, after)).toContain(
    '04T10:09 | refresh token deleted | HubSpot no longer knew it',
  )
})

test('what a record does not tell is left out, and programs get ISO times', () => {
  const orphan = {
    ...readAccount(1, { state: 'uninstalling', uninstallReason: 'x' }, undefined),
    nextUninstallAt: null,
  }
  expect(accountStory(orphan, [])).toEqual([])
  expect(accountStory(account({}), [])).toEqual([{ at: '2026-10-01T10:00:00.000Z', event: 'connected' }])
})
