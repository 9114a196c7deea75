import { describe, expect, test } from 'vitest'
import { decodeEntry } from '../../src/alerts/outbox-entry.ts'
import { tokenAnnouncer } from '../../src/alerts/token-alert.ts'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const announcer = tokenAnnouncer({
  installPage: 'https://plimsoll.example.com/install',
  pageOf: (hubId) => `https://plimsoll.example.com/accounts/${hubId}`,
  repeatEveryMs: 24 * 3_600_000,
})
const account = {
  ...{ hubId: 123, hubDomain: 'acme.example.com', refreshedAt: NOW - 1_000, expiresAt: NOW, tokenAlert: '' },
  ...{ interruptedAt: null as number | null, now: NOW },
}

describe('the alert about an account that must be authorised again', () => {
  test('says why, since when, and where the customer connects again', () => {
    const { messages, changes } = announcer.reauthorize(account, 'the provider answered 400')
    const { alert } = decodeEntry(messages[0] ?? '')
    expect(alert).toMatchObject({ kind: 'token', level: 'critical', reason: 'entered', status: 'firing' })
    expect(alert.message).toMatch(
      /the provider answered 400.*2026-11-21T09:59:59.*https:\/\/plimsoll\.example\.com\/install/,
    )
    expect(changes).toEqual([['token', '', expect.any(String)]])
    expect(announcer.reauthorize({ ...account, refreshedAt: 0 }, 'x').messages[0]).toContain('last worked never')
  })

  test('is opened once, and closed once, under one id', () => {
    const opened = announcer.reauthorize(account, 'x')
    const stored = opened.changes[0]?.[2] ?? ''
    expect(announcer.reauthorize({ ...account, tokenAlert: stored }, 'x')).toEqual({ changes: [], messages: [] })
    const closed = announcer.recovered({ ...account, tokenAlert: stored, now: NOW + 1 })
    expect(closed.changes).toEqual([['token', stored, '']])
    const ids = [opened, closed].map(({ messages }) => decodeEntry(messages[0] ?? '').alert.id.split('-'))
    expect(ids[0]?.[0]).toBe(ids[1]?.[0])
    expect(ids.map(([, number]) => number)).toEqual(['1', '2'])
    expect(announcer.recovered(account)).toEqual({ changes: [], messages: [] })
  })
})

describe('the alert about an uninstall whose refresh token is not deleted', () => {
  const uninstall = { askedAt: NOW - 3_600_000, reason: 'HTTP 503' }

  test('is a warning that says since when and why', () => {
    const { alert } = decodeEntry(announcer.undeleted(account, uninstall).messages[0] ?? '')
    expect(alert).toMatchObject({ kind: 'token', rule: 'uninstall', level: 'warning', status: 'firing' })
    expect(alert.message).toMatch(/asked for 2026-11-21T09:00:00.*HTTP 503/)
  })

  test('is opened once, and closed by the deletion or by connecting again, as what it was', () => {
    const stored = announcer.undeleted(account, uninstall).changes[0]?.[2] ?? ''
    const open = { ...account, tokenAlert: stored }
    expect(announcer.undeleted(open, uninstall)).toEqual({ changes: [], messages: [] })
    for (const { messages, changes } of [announcer.deleted(open), announcer.recovered(open)]) {
      const { alert } = decodeEntry(messages[0] ?? '')
      expect(alert).toMatchObject({ rule: 'uninstall', level: 'warning', status: 'resolved', reason: 'recovered' })
      expect(changes).toEqual([['token', stored, '']])
    }
    expect(announcer.deleted(account)).toEqual({ changes: [], messages: [] })
  })
})
