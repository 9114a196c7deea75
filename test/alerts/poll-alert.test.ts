import { describe, expect, test } from 'vitest'
import { decodeEntry } from '../../src/alerts/outbox-entry.ts'
import { pollAnnouncer } from '../../src/alerts/poll-alert.ts'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const pages = {
  installPage: 'https://plimsoll.example.com/install',
  pageOf: (hubId: number) => `https://plimsoll.example.com/accounts/${hubId}`,
}
const announce = pollAnnouncer({ ...pages, scopes: ['oauth', 'crm.objects.contacts.read', 'tickets'] })
const granted = { hubId: 123, hubDomain: 'acme.example.com', pollAlert: '', now: NOW }
const lacking = { ...granted, scopes: ['oauth'], opensLimits: false }
const enough = { ...granted, scopes: ['oauth', 'tickets'], opensLimits: true }

describe('the alert about scopes that do not let limits be read', () => {
  test('says what is missing, and where to grant it', () => {
    const { messages, changes } = announce(lacking)
    const { alert } = decodeEntry(messages[0] ?? '')
    expect(alert).toMatchObject({ kind: 'poll', level: 'warning', reason: 'entered', status: 'firing', rule: 'poll' })
    expect(alert.message).toContain('missing crm.objects.contacts.read, tickets.')
    expect(alert.message).toContain(pages.installPage)
    expect(alert.url).toBe(pages.pageOf(123))
    expect(changes).toEqual([['poll', '', expect.any(String)]])
  })

  test('says so where the app itself asks for none that would do', () => {
    const asksForNothing = pollAnnouncer({ ...pages, scopes: ['oauth'] })
    expect(asksForNothing(lacking).messages[0]).toContain('nor do those that the app asks for')
  })

  test('is opened once, and closed once, under one id', () => {
    const opened = announce(lacking)
    const stored = opened.changes[0]?.[2] ?? ''
    expect(announce({ ...lacking, pollAlert: stored })).toEqual({ changes: [], messages: [] })
    const closed = announce({ ...enough, pollAlert: stored, now: NOW + 1 })
    expect(closed.changes).toEqual([['poll', stored, '']])
    const alerts = [opened, closed].map(({ messages }) => decodeEntry(messages[0] ?? '').alert)
    expect(alerts.map(({ status }) => status)).toEqual(['firing', 'resolved'])
    expect(alerts[0]?.id.split('-')[0]).toBe(alerts[1]?.id.split('-')[0])
    expect(alerts.map(({ id }) => id.split('-')[1])).toEqual(['1', '2'])
    expect(announce(enough)).toEqual({ changes: [], messages: [] })
  })
})
