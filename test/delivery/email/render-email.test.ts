import { describe, expect, test } from 'vitest'
import type { FleetChanges } from '../../../src/alerts/alert.ts'
import { renderEmail } from '../../../src/delivery/receivers/email/send-email.ts'
import { aMessage, anAlert, NOW, onAccount, someChanges } from '../example-messages.ts'

describe('a group', () => {
  const warning = anAlert({ level: 'warning', percent: 86 })

  test('of hundreds stays within what mail programs show: a row each, after the first', () => {
    const alerts = Array.from({ length: 200 }, (_, index) => onAccount(1000 + index, warning))
    const { text, html } = renderEmail(aMessage(alerts), NOW)
    expect(Buffer.byteLength(html)).toBeLessThan(100_000)
    expect(text.match(/^Usage/gm)).toHaveLength(3)
    for (const { account } of alerts) {
      expect(text).toContain(`(${account?.hubId})`)
      expect(html).toContain(`(${account?.hubId})`)
    }
  })
})

describe('a digest that is not the first has what changed since the last one below its alerts', () => {
  const mail = (changed: FleetChanges) => {
    const message = aMessage([anAlert()], { type: 'alert.digest' })
    return renderEmail({ ...message, data: { ...message.data, period: 'day', changed } }, NOW, {
      changes: 'https://plimsoll.example.com/changes',
    })
  }

  test('whatever strangers wrote in it', () => {
    const changes = someChanges()
    const items = changes.items.map((item) => ({
      ...item,
      account: { hubId: 1, hubDomain: '<img src=x>\u202e\nBcc: a' },
    }))
    const { text, html } = mail({ ...changes, items })
    expect(html).not.toContain('<img')
    expect(text).not.toMatch(/^Bcc|\u202e/m)
  })
})
