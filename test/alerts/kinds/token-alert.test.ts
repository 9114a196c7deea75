import { describe, expect, test } from 'vitest'
import { tokenAnnouncer } from '../../../src/alerts/kinds/token-alert.ts'
import { decodeEntry } from '../../../src/alerts/outbox.ts'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const announcer = tokenAnnouncer({
  pageOf: (hubId) => `https://plimsoll.example.com/accounts/${hubId}`,
})
const account = {
  hubId: 123,
  hubDomain: 'acme.example.com',
  refreshedAt: NOW - 1_000,
  expiresAt: NOW,
  tokenAlert: '',
  interruptedAt: null as number | null,
  now: NOW,
}
const refusal = (message: string) => ({ message, isElsewhere: false })

describe('the alert about an account that must be reconnected', () => {
  test('names the data center that the account is in', () => {
    const message = 'the account is in data center eu1: connect it again'
    const { entries } = announcer.reauthorize(account, { message, isElsewhere: true })
    expect(decodeEntry(entries[0] ?? '').alert.message).toBe(
      "Tokens can't be refreshed: the account is in data center eu1: connect it again. Tokens last worked " +
        '2026-11-21 09:59 UTC. Only a new connection helps. plimsoll accounts reconnect-link 123 prints the link.',
    )
  })

  test('says why, since when, and how the customer connects again, without a page to sign in at', () => {
    const { entries, changes } = announcer.reauthorize(account, refusal('the provider answered 400'))
    const { alert } = decodeEntry(entries[0] ?? '')
    expect(alert).toMatchObject({ kind: 'token', level: 'critical', reason: 'entered', status: 'firing' })
    expect(alert.message).toMatch(
      /HubSpot answered 400.*2026-11-21 09:59.*plimsoll accounts reconnect-link 123 prints the link/,
    )
    expect(alert.message).not.toContain('https://')
    expect(changes).toEqual([['token', '', expect.any(String)]])
    expect(announcer.reauthorize({ ...account, refreshedAt: 0 }, refusal('x')).entries[0]).toContain(
      'No refresh has worked yet.',
    )
  })

  test('is opened once, and closed once, under one id', () => {
    const opened = announcer.reauthorize(account, refusal('x'))
    const stored = opened.changes[0]?.[2] ?? ''
    expect(announcer.reauthorize({ ...account, tokenAlert: stored }, refusal('x'))).toEqual({
      changes: [],
      entries: [],
    })
    const closed = announcer.recovered({ ...account, tokenAlert: stored, now: NOW + 1 })
    expect(closed.changes).toEqual([['token', stored, '']])
    const ids = [opened, closed].map(({ entries }) => decodeEntry(entries[0] ?? '').alert.id.split('-'))
    expect(ids[0]?.[0]).toBe(ids[1]?.[0])
    expect(ids.map(([, number]) => number)).toEqual(['1', '2'])
    expect(announcer.recovered(account)).toEqual({ changes: [], entries: [] })
  })
})

describe('the alert about an account that fails for long', () => {
  test('is critical, says why and since when, and is sent once', () => {
    const { entries, changes } = announcer.failing(account, 'the provider answered 503')
    const { alert } = decodeEntry(entries[0] ?? '')
    expect(alert).toMatchObject({
      kind: 'token',
      level: 'critical',
      cause: 'failing',
      reason: 'entered',
      status: 'firing',
      account: { hubId: 123 },
    })
    expect(alert.message).toMatch(/answered 503.*expired 2026-11-21 10:00.*last worked 2026-11-21 09:59/)
    const stored = changes[0]?.[2] ?? ''
    expect(announcer.failing({ ...account, tokenAlert: stored }, 'x')).toEqual({ changes: [], entries: [] })
  })

  test('gets worse, as the same alert, when the account must be reconnected; both end when tokens work', () => {
    const warned = announcer.failing(account, 'x').changes[0]?.[2] ?? ''
    const escalated = announcer.reauthorize({ ...account, tokenAlert: warned, now: NOW + 1 }, refusal('refused'))
    const stored = escalated.changes[0]?.[2] ?? ''
    expect(escalated.changes).toEqual([['token', warned, stored]])
    expect(announcer.reauthorize({ ...account, tokenAlert: stored }, refusal('x'))).toEqual({
      changes: [],
      entries: [],
    })
    const closed = announcer.recovered({ ...account, tokenAlert: stored, now: NOW + 2 })
    const told = [...escalated.entries, ...closed.entries].map((message) => decodeEntry(message).alert)
    expect(told).toMatchObject([
      { level: 'critical', reason: 'worse', since: '2026-11-21T10:00:00.000Z' },
      { level: 'critical', reason: 'recovered', status: 'resolved', since: '2026-11-21T10:00:00.000Z' },
    ])
    expect(told.map(({ id }) => id.split('-')[1])).toEqual(['2', '3'])
  })
})

test('that a refresh broke off is told to whoever has to connect the account again', () => {
  const { entries } = announcer.reauthorize({ ...account, interruptedAt: NOW - 60_000 }, refusal('x'))
  expect(decodeEntry(entries[0] ?? '').alert.message).toMatch(/broke off at 2026-11-21 09:59.*may have been lost/)
  expect(announcer.reauthorize(account, refusal('x')).entries[0]).not.toContain('killed')
})

describe('the alert about an uninstall whose refresh token is not deleted', () => {
  const uninstall = { askedAt: NOW - 3_600_000, reason: 'HTTP 503' }

  test('is a warning that says since when and why', () => {
    const { alert } = decodeEntry(announcer.undeleted(account, uninstall).entries[0] ?? '')
    expect(alert).toMatchObject({ kind: 'token', rule: 'uninstall', level: 'warning', status: 'firing' })
    expect(alert.message).toMatch(/requested 2026-11-21 09:00.*HTTP 503/)
  })

  test('is opened once, and closed by the deletion or by connecting again, as what it was', () => {
    const stored = announcer.undeleted(account, uninstall).changes[0]?.[2] ?? ''
    const open = { ...account, tokenAlert: stored }
    expect(announcer.undeleted(open, uninstall)).toEqual({ changes: [], entries: [] })
    for (const { entries, changes } of [announcer.deleted(open), announcer.recovered(open)]) {
      const { alert } = decodeEntry(entries[0] ?? '')
      expect(alert).toMatchObject({ rule: 'uninstall', level: 'warning', status: 'resolved', reason: 'recovered' })
      expect(changes).toEqual([['token', stored, '']])
    }
    expect(announcer.deleted(account)).toEqual({ changes: [], entries: [] })
  })
})
