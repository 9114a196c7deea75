import { describe, expect, test } from 'vitest'
import { acknowledgeState } from '../../../src/alerts/acknowledge.ts'
import { encodeState } from '../../../src/alerts/alert-state.ts'
import { type AttemptedAccount, grantAnnouncer, pollAnnouncer } from '../../../src/alerts/kinds/poll-alert.ts'
import { decodeEntry } from '../../../src/alerts/outbox.ts'
import type { PollOutcome } from '../../../src/limits/polling/poll-outcome.ts'
import type { ProviderFailure } from '../../../src/provider/failure.ts'
import type { AlertWrites } from '../../../src/redis/steps.ts'
import { stateIn } from '../../support/state-in.ts'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const DAY = 86_400_000
const pages = {
  pageOf: (hubId: number) => `https://plimsoll.example.com/accounts/${hubId}`,
}
const scopes = ['oauth', 'crm.objects.contacts.read', 'tickets']
const announceGrant = grantAnnouncer({ ...pages, scopes })
const granted = { hubId: 123, hubDomain: 'acme.example.com', pollAlert: '', now: NOW }
const lacking = { ...granted, scopes: ['oauth'], opensLimits: false }
const enough = { ...granted, scopes: ['oauth', 'tickets'], opensLimits: true }

const settings = { ...pages, scopes, opensLimits: true, repeatEveryMs: DAY }
const announce = pollAnnouncer(settings)
const failure = (more: Partial<ProviderFailure> = {}): ProviderFailure => ({
  class: 'transient',
  code: '503',
  message: 'the provider answered 503',
  status: 503,
  ...more,
})
const READ: PollOutcome = { readAnything: true, readAll: true, failures: [], refused: undefined, lacking: [] }
const FAILED: PollOutcome = {
  readAnything: false,
  readAll: false,
  failures: [failure()],
  refused: undefined,
  lacking: [],
}
const UNAUTHORIZED: PollOutcome = {
  ...FAILED,
  failures: [failure({ class: 'unauthorized', message: 'the provider answered 401' })],
}
const REFUSED: PollOutcome = {
  readAnything: false,
  readAll: false,
  failures: [],
  lacking: [],
  refused: { what: ['custom properties', 'associations'], scopes: ['contacts'] },
}

/** `failed`: how many polls failed in a row before this one, the first of them an hour ago; from 7 on that is for long. */
function polled(outcome: PollOutcome, more: Partial<AttemptedAccount> & { failed?: number } = {}): AttemptedAccount {
  const { failed = 0, ...rest } = more
  return {
    hubId: 123,
    hubDomain: 'acme.example.com',
    outcome,
    pollAlert: '',
    isFleetTrouble: false,
    now: NOW,
    failsForLong: failed >= 7 && outcome.failures.length > 0,
    failing: failed === 0 ? undefined : { count: failed, reason: 'it failed', at: NOW - 1, since: NOW - 3_600_000 },
    blocked: undefined,
    ...rest,
  }
}

function alertOf({ entries }: AlertWrites) {
  expect(entries).toHaveLength(1)
  return decodeEntry(entries[0] ?? '').alert
}

function storedBy({ changes }: AlertWrites): string {
  expect(changes).toHaveLength(1)
  return changes[0]?.[2] ?? ''
}

const NOTHING = { changes: [], entries: [] }

describe('what the metadata says of scopes that do not let limits be read', () => {
  test('is told with what is missing, and where to grant it', () => {
    const writes = announceGrant(lacking)
    const alert = alertOf(writes)
    expect(alert).toMatchObject({ kind: 'poll', level: 'warning', reason: 'entered', status: 'firing', rule: 'poll' })
    expect(alert.cause).toBe('scopes')
    expect(alert.message).toMatch(/Missing: crm.objects.contacts.read, tickets\. .*reconnect-link 123 /)
    expect(alert.url).toBe(pages.pageOf(123))
    expect(writes.changes).toEqual([['poll', '', expect.any(String)]])
  })

  test('is told where the app itself asks for none that would do', () => {
    const asksForNothing = grantAnnouncer({ ...pages, scopes: ['oauth'] })
    expect(asksForNothing(lacking).entries[0]).toContain('Nor do those that the app asks for')
  })

  test('is told once, and closed once, under one id', () => {
    const opened = announceGrant(lacking)
    const stored = storedBy(opened)
    expect(announceGrant({ ...lacking, pollAlert: stored })).toEqual(NOTHING)
    const closed = announceGrant({ ...enough, pollAlert: stored, now: NOW + 1 })
    expect(closed.changes).toEqual([['poll', stored, '']])
    const alerts = [opened, closed].map(alertOf)
    expect(alerts.map(({ status }) => status)).toEqual(['firing', 'resolved'])
    expect(alerts[0]?.id.split('-')[0]).toBe(alerts[1]?.id.split('-')[0])
    expect(alerts.map(({ id }) => id.split('-')[1])).toEqual(['1', '2'])
    expect(announceGrant(enough)).toEqual(NOTHING)
  })

  test('leaves an alert alone that is about polls that fail', () => {
    const failing = storedBy(announce(polled(FAILED, { failed: 7 })))
    for (const account of [lacking, enough]) expect(announceGrant({ ...account, pollAlert: failing })).toEqual(NOTHING)
  })
})

describe('a poll that is refused for want of a scope', () => {
  test('opens the alert, with the scopes that would do', () => {
    const alert = alertOf(announce(polled(REFUSED)))
    expect(alert).toMatchObject({
      kind: 'poll',
      status: 'firing',
      reason: 'entered',
      cause: 'scopes',
      level: 'warning',
    })
    expect(alert.message).toContain('does not show the custom properties and associations of this account')
    expect(alert.message).not.toContain('asks for')
    expect(alert.message).toContain('Any crm.objects.*.read scope will do')
    expect(alert.message).toContain('plimsoll accounts reconnect-link 123')
    expect(alert.message).not.toContain('provider.scopes')
  })

  test('says so where the app asks for no scope that would do', () => {
    const { message } = alertOf(pollAnnouncer({ ...settings, opensLimits: false })(polled(REFUSED)))
    expect(message).toContain('add one to provider.scopes')
  })

  test('is told in full: mails cut a long message', () => {
    const asked = Array.from({ length: 20 }, (_, n) => `crm.objects.custom_objects_of_kind_${n}.read`)
    const refused = { what: ['custom properties' as const, 'associations' as const], scopes: asked }
    const { message = '' } = alertOf(
      pollAnnouncer({ ...settings, opensLimits: false })(polled({ ...REFUSED, readAnything: true, refused })),
    )
    expect(message.length).toBeLessThanOrEqual(600)
    expect(message).toMatch(/Any crm\.objects.*add one to provider\.scopes.*reconnect-link 123/)
  })

  test('is told once, also where metadata told it before, and never again for as long as it lasts', () => {
    const stored = [storedBy(announce(polled(REFUSED))), storedBy(announceGrant(lacking))]
    for (const pollAlert of stored) {
      expect(announce(polled(REFUSED, { pollAlert, now: NOW + 30 * DAY }))).toEqual(NOTHING)
    }
  })

  test('in part says what can not be read, and that the rest is', () => {
    const refused = { what: ['associations' as const], scopes: [] }
    const { message } = alertOf(
      announce(polled({ readAnything: true, readAll: false, failures: [], refused, lacking: [] })),
    )
    expect(message).toContain('does not show the associations of this account')
    expect(message).toContain('All other limits are up to date')
  })

  test('stays open until a poll reads everything: one that only fails says nothing about it', () => {
    const pollAlert = storedBy(announce(polled(REFUSED)))
    expect(announce(polled(FAILED, { pollAlert }))).toEqual(NOTHING)
    const closed = announce(polled(READ, { pollAlert, now: NOW + 1 }))
    expect(closed.changes).toEqual([['poll', pollAlert, '']])
    expect(alertOf(closed)).toMatchObject({ status: 'resolved', reason: 'recovered', cause: 'scopes' })
  })
})

describe('polls that fail for long', () => {
  test('are told: what fails, since when, and what to do', () => {
    for (let failed = 0; failed < 7; failed++) expect(announce(polled(FAILED, { failed }))).toEqual(NOTHING)
    const alert = alertOf(announce(polled(FAILED, { failed: 7 })))
    expect(alert).toMatchObject({
      kind: 'poll',
      status: 'firing',
      reason: 'entered',
      cause: 'failing',
      level: 'warning',
    })
    expect(alert.message).toBe(
      "Limits can't be read (HubSpot has answered 503 since 09:00). 8 polls failed in a row. Plimsoll tries again. " +
        "If it lasts, check HubSpot's status page.",
    )
  })

  test.each([
    [
      ['associations'],
      ['customProperties'],
      "Association limits can't be read (HubSpot has answered 503 since 09:00). Custom property limits are up to date. 8 polls",
    ],
    [
      ['associations'],
      ['customProperties', 'associations', 'pipelines'],
      "Some association limits can't be read (HubSpot has answered 503 since 09:00). Custom property limits and pipeline limits are",
    ],
    [
      ['associations'],
      ['associations'],
      "Some association limits can't be read (HubSpot has answered 503 since 09:00). All other limits are up to date.",
    ],
    [
      [],
      ['associations'],
      "Some limits can't be read (HubSpot has answered 503 since 09:00). All other limits are up to date.",
    ],
  ])('in part name what is not read, %j, and what is, %j', (unread, read, says) => {
    const outcome = { ...FAILED, readAnything: true, partly: { unread, read } }
    expect(alertOf(announce(polled(outcome, { failed: 7 }))).message).toContain(says)
  })

  test.each([
    ['no refresh yet', undefined, 'failing', 'No refresh has brought another token since then. Plimsoll tries again.'],
    ['a refresh before', { at: NOW - 2 * DAY, failure: undefined }, 'failing', 'No refresh has brought another token'],
    [
      'a refresh that works',
      { at: NOW - 60_000, failure: undefined },
      'unauthorized',
      'A newly refreshed token is refused, too. Connect the account again. plimsoll accounts',
    ],
    [
      'a refused one',
      { at: NOW - 60_000, failure: { class: 'rejected', reason: 'the provider answered 400: BAD_REFRESH_TOKEN' } },
      'unauthorized',
      'The last refresh failed too (HubSpot answered 400: BAD_REFRESH_TOKEN). Connect the account again',
    ],
    [
      'one that may work later',
      { at: 0, failure: { class: 'transient', reason: 'the provider answered 503' } },
      'failing',
      'The last refresh failed too (HubSpot answered 503). Plimsoll tries again.',
    ],
  ])('because the access token is refused say what is known of its refresh: %s', (_, refreshes, cause, says) => {
    const alert = alertOf(announce(polled(UNAUTHORIZED, { failed: 7, ...(refreshes && { refreshes }) })))
    expect(alert.message).toContain(says)
    expect(alert.cause).toBe(cause)
  })

  test('are told again when only a new connection helps, but not when they fail for another reason after that', () => {
    const refreshes = { at: NOW - 60_000, failure: undefined }
    const failing = storedBy(announce(polled(FAILED, { failed: 7 })))
    const refused = announce(polled(UNAUTHORIZED, { failed: 8, refreshes, pollAlert: failing }))
    expect(alertOf(refused)).toMatchObject({ reason: 'worse', cause: 'unauthorized' })
    expect(announce(polled(FAILED, { failed: 9, pollAlert: storedBy(refused) }))).toEqual(NOTHING)
  })

  test('are told again only after the time of repeats, and closed by the first poll that reads everything', () => {
    const opened = announce(polled(FAILED, { failed: 7 }))
    const pollAlert = storedBy(opened)
    expect(announce(polled(FAILED, { failed: 8, pollAlert, now: NOW + DAY - 1 }))).toEqual(NOTHING)
    const again = announce(polled(FAILED, { failed: 90, pollAlert, now: NOW + DAY }))
    expect(alertOf(again)).toMatchObject({ status: 'firing', reason: 'repeat' })
    const closed = announce(polled(READ, { failed: 91, pollAlert: storedBy(again), now: NOW + 2 * DAY }))
    expect(alertOf(closed)).toMatchObject({ status: 'resolved', reason: 'recovered', since: alertOf(opened).since })
    expect([opened, again, closed].map((writes) => alertOf(writes).id.split('-')[1])).toEqual(['1', '2', '3'])
    expect(closed.changes[0]?.[2]).toBe('')
    expect(announce(polled(READ, { failed: 91 }))).toEqual(NOTHING)
  })

  test('are not told again once somebody knows, but another cause is, and is then known to nobody', () => {
    const known = (stored: string) =>
      encodeState(acknowledgeState(stateIn(stored), { by: 'ana', at: NOW, until: NOW + 7 * DAY }))
    const pollAlert = known(storedBy(announce(polled(FAILED, { failed: 7 }))))
    expect(announce(polled(FAILED, { failed: 90, pollAlert, now: NOW + 6 * DAY }))).toEqual(NOTHING)
    expect(alertOf(announce(polled(FAILED, { failed: 90, pollAlert, now: NOW + 7 * DAY }))).reason).toBe('repeat')
    const blocked = announce(polled(REFUSED, { failed: 8, pollAlert, now: NOW + DAY }))
    expect(alertOf(blocked)).toMatchObject({ reason: 'worse', cause: 'scopes' })
    expect(stateIn(storedBy(blocked))).not.toHaveProperty('acknowledged')
  })

  test('are not told of one account while the alert of the fleet speaks, but closed all the same', () => {
    expect(announce(polled(FAILED, { failed: 7, isFleetTrouble: true }))).toEqual(NOTHING)
    const pollAlert = storedBy(announce(polled(FAILED, { failed: 7 })))
    const later = { pollAlert, isFleetTrouble: true, now: NOW + 2 * DAY }
    expect(announce(polled(FAILED, { ...later, failed: 90 }))).toEqual(NOTHING)
    expect(alertOf(announce(polled(READ, later)))).toMatchObject({ status: 'resolved' })
  })

  test('and a scope that is missing share one alert: what changes is its cause, and that is told', () => {
    const scopesAlert = storedBy(announce(polled(REFUSED)))
    const failing = announce(polled({ ...REFUSED, failures: [failure()] }, { failed: 7, pollAlert: scopesAlert }))
    expect(failing.changes).toEqual([['poll', scopesAlert, expect.any(String)]])
    expect(alertOf(failing)).toMatchObject({ reason: 'worse', cause: 'failing' })
    const blocked = announce(polled(REFUSED, { failed: 8, pollAlert: storedBy(failing) }))
    expect(alertOf(blocked)).toMatchObject({ reason: 'worse', cause: 'scopes' })
    expect(alertOf(blocked).id.split('-')).toEqual([alertOf(failing).id.split('-')[0], '3'])
  })
})
