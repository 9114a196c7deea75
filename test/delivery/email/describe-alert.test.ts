import { describe, expect, test } from 'vitest'
import type { Alert, Message } from '../../../src/alerts/alert.ts'
import { describeAlert } from '../../../src/delivery/describe/describe-alert.ts'
import { type MailLinks, recordPages } from '../../../src/delivery/describe/mail-links.ts'
import { renderEmail } from '../../../src/delivery/receivers/email/send-email.ts'
import { aMessage, anAlert, anAtLimitAlert, aTokenAlert, NOW, onAccount } from '../example-messages.ts'

function both(alert: Alert, links?: MailLinks): [text: string, html: string] {
  const { text, html } = renderEmail(aMessage([alert]), NOW, links)
  return [text, html]
}

describe('the reason', () => {
  const because = { is: 'holds', level: 'critical', asks: 'percent', threshold: 95, value: 96 } as const

  test('names what decided, the rule, and where the config has it', () => {
    const [text] = both(anAlert({ because }), { rule: (name) => `the place of ${name}` })
    expect(text).toContain(
      'Reason         96 %, at or above the critical threshold (95 %)\nRule           customProperties.overall (the place of customProperties.overall)',
    )
  })

  test('names no place that is not known', () => {
    expect(both(anAlert({ because }))[0]).toContain('Rule           customProperties.overall\n')
  })
})

test('only the newest of several changes is told, and how many there were', () => {
  for (const part of both(anAlert({ supersedes: ['a-0'] }))) {
    expect(part).toContain('Worse: warning → critical. It changed 2 times since the last message.')
  }
  for (const part of both(anAlert())) expect(part).not.toContain('since the last message')
})

describe('what there is to do', () => {
  const to = (name: string) => (alert: Alert) => `https://plimsoll.example.com/${name}/${alert.id}?a=1&b=2`
  const links = {
    open: to('open'),
    reconnect: to('reconnect'),
    acknowledge: to('acknowledge'),
    silence: to('silence'),
  }
  const named = (alert: Alert) => describeAlert(alert, NOW, links).actions.map(({ name }) => name)

  test('is a button, and a line of text', () => {
    const [text, html] = both(anAlert(), links)
    expect(text).toContain('\nAcknowledge    https://plimsoll.example.com/acknowledge/a-1?a=1&b=2\n')
    expect(html).toContain('href="https://plimsoll.example.com/acknowledge/a-1?a=1&amp;b=2"')
  })

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
  const records = {
    shown: 2,
    total: 2,
    items: [
      { objectId: 7, label: 'Acme', isNew: true as const },
      { objectId: 8, label: 'Hooli', usage: 99 },
    ],
    left: [1, 2, 3, 4, 5, 6, 7].map((id) => ({ objectId: 100 + id, label: `Old ${id}` })),
  }

  test('that came and went since the last message are told apart', () => {
    const [text, html] = both(anAtLimitAlert({ records }))
    expect(text).toContain('Records (2, 1 new)\n  [NEW] Acme (#7): at its limit\n  Hooli (#8): 99\n')
    expect(html).toContain('<b class="badge NEW">NEW</b> <bdi>Acme (#7): at its limit</bdi>')
    for (const part of [text, html]) {
      expect(part).toContain(
        'No longer among them: Old 1 (#101), Old 2 (#102), Old 3 (#103), Old 4 (#104), Old 5 (#105), 2 more',
      )
    }
  })

  test('lead to their page at the provider', () => {
    const [text, html] = both(anAtLimitAlert({ records }), {
      record: recordPages('https://app.hubspot.com/oauth/authorize'),
    })
    for (const part of [text, html]) expect(part).toContain('https://app.hubspot.com/contacts/123/record/0-1/7')
  })

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

  test('of accounts that live elsewhere lead there', () => {
    expect(recordPages('https://app-eu1.hubspot.com/oauth/authorize')({ hubId: 1, hubDomain: '' }, '2-77', 3)).toBe(
      'https://app-eu1.hubspot.com/contacts/1/record/2-77/3',
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
