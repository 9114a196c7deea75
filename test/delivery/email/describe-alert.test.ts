import { describe, expect, test } from 'vitest'
import type { Alert, Message } from '../../../src/alerts/alert.ts'
import { describeAlert } from '../../../src/delivery/describe/describe-alert.ts'
import { type MailLinks, recordPages } from '../../../src/delivery/describe/mail-links.ts'
import { renderEmail } from '../../../src/delivery/receivers/email/send-email.ts'
import { aMessage, anAlert, aTokenAlert, NOW, onAccount } from '../example-messages.ts'

function both(alert: Alert, links?: MailLinks): [text: string, html: string] {
  const { text, html } = renderEmail(aMessage([alert]), NOW, links)
  return [text, html]
}

describe('what there is to do', () => {
  const to = (name: string) => (alert: Alert) => `https://plimsoll.example.com/${name}/${alert.id}?a=1&b=2`
  const links = {
    open: to('open'),
    reconnect: to('reconnect'),
    acknowledge: to('acknowledge'),
    silence: to('silence'),
  }
  const named = (alert: Alert) => describeAlert(alert, NOW, links).actions.map(({ name }) => name)

  const lost = ['Open alert', 'Reconnect link', 'Acknowledge', 'Silence']
  test.each<[string, Alert, string[]]>([
    ['a limit', anAlert(), ['Open alert', 'Acknowledge', 'Silence']],
    ['a token that is lost', aTokenAlert(), lost],
    ['a scope that is missing', aTokenAlert({ kind: 'poll', level: 'warning', cause: 'scopes' }), lost],
    [
      'a token that may yet be saved',
      aTokenAlert({ cause: 'failing' }),
      lost.filter((name) => name !== 'Reconnect link'),
    ],
    ['a limit that moved', anAlert({ kind: 'limit-changed' }), ['Open account', 'Silence']],
    ['what is over', anAlert({ status: 'resolved', reason: 'recovered' }), ['Open account']],
    ['a test', aTokenAlert({ kind: 'test', reason: 'test' }), ['Open account']],
  ])('about %s', (_name, alert, names) => expect(named(alert)).toEqual(names))

  test('has no address but one that a browser opens', () => {
    for (const part of both(anAlert(), { acknowledge: () => 'javascript:alert(1)' })) {
      expect(part).not.toMatch(/javascript|>Acknowledge|^Acknowledge/m)
    }
  })
})

describe('records', () => {
  test.each([
    ['http://127.0.0.1:8090/oauth/authorize', '0-1', 7],
    ['https://app.hubspot.com.evil.example/oauth/authorize', '0-1', 7],
    ['https://app.hubspot.com/oauth/authorize', '0-1/../../x', 7],
    ['https://app.hubspot.com/oauth/authorize', '0-1', 1.5],
    ['https://app.hubspot.com/oauth/authorize', '0-1', -1],
  ])('have no link where nobody knows that there is such a page: %s, %s, %d', (installUrl, type, id) => {
    expect(recordPages(installUrl)({ hubId: 123, hubDomain: '' }, type, id)).toBeUndefined()
  })

  test.each([
    ['eu1', 'app-eu1'],
    ['na1', 'app'],
    ['na2', 'app-na2'],
    ['x.evil/', 'app-ap1'],
  ])('of an account in data center %s lead to %s', (hublet, host) => {
    const page = recordPages('https://app-ap1.hubspot.com/oauth/authorize')
    expect(page({ hubId: 1, hubDomain: '', hublet }, '0-1', 3)).toBe(
      `https://${host}.hubspot.com/contacts/1/record/0-1/3`,
    )
  })
})

test('alerts are read one after the other up to ten; of more, the worst are shown whole and the rest is a table', () => {
  const shownWhole = (count: number, type: Message['type'] = 'alert.firing') => {
    const alerts = Array.from({ length: count }, (_, index) => onAccount(index + 1, anAlert()))
    const { text } = renderEmail(aMessage(alerts, { type }), NOW)
    for (const { account } of alerts) expect(text).toContain(account?.hubDomain)
    return text.match(/^Usage/gm)?.length ?? 0
  }
  expect([shownWhole(10), shownWhole(11), shownWhole(1, 'alert.digest')]).toEqual([10, 3, 0])
})
