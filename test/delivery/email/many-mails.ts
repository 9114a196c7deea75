import type { Alert, Message } from '../../../src/alerts/alert.ts'
import { type MailLinks, recordPages } from '../../../src/delivery/describe/mail-links.ts'
import { aMessage, anAlert, anAtLimitAlert, aTokenAlert, onAccount, someChanges } from '../example-messages.ts'

/** What whoever makes up labels, domains and names might try. */
export const HOSTILE: Record<string, string> = {
  script: `<script>document.title='ran'</script><img src=x onerror="document.title='ran'">`,
  'an attribute': `" onmouseover="document.title='ran'" style="position:fixed;inset:0`,
  'a header': 'x\r\nBcc: victim@example.net\r\nContent-Type: text/html\r\n\r\n<h1>hello',
  'a lone line end': 'x\nSubject: another\rX-Evil: 1\u2028y\u0085z',
  'an encoded word': '=?utf-8?q?=0d=0aBcc:victim@example.net?= =?UTF-8?B?PHNjcmlwdD4=?=',
  'ten kilobytes': 'long '.repeat(2_000),
  'one long word': 'x'.repeat(10_000),
  'text that runs the other way': '\u202egnp.exe\u202c \u2066x\u2069 שלום 123 عليكم \u200f',
  'no width': 'a\u200bb\u200d\ufeffc\u00ad\u2060d',
  emoji: '👩‍🚀🏴󠁧󠁢󠁥󠁮󠁧󠁿👍🏽❤️'.repeat(20),
  'half a surrogate': '\ud800x\udc00',
  entities: '&lt;b&gt;&amp;&#60;script&#62;&nbsp;',
  quotes: `"'\`\\' \\" \\\\ $(reboot) ; rm -rf`,
  'a formula': '=HYPERLINK("http://evil.example","click");@SUM(1)',
  'stacked accents': `z${'\u0301'.repeat(500)}`,
  nothing: '',
}

/** An alert about a series of which every string is the stranger's. */
export function aHostileAlert(text: string): Alert {
  return anAtLimitAlert({
    account: { hubId: 1, hubDomain: text },
    rule: text,
    message: text,
    series: { metric: 'associations.atLimit', from: text, to: text, objectTypeId: text, label: text },
    records: {
      shown: 2,
      total: 3,
      items: [
        { objectId: 1, label: text, isNew: true },
        { objectId: 2, label: text, usage: 4 },
      ],
      left: [{ objectId: 3, label: text }],
    },
    url: `javascript:${text}`,
  })
}

/** All kinds of alerts with the same text wherever strangers may put one. */
export function hostileAlerts(text: string): Alert[] {
  const about = { account: { hubId: 1, hubDomain: text } }
  return [
    aHostileAlert(text),
    aTokenAlert({ ...about, message: text, url: `https://plimsoll.example.com/${text}` }),
    anAlert({ ...about, series: { metric: text, objectTypeId: text, label: text } }),
    anAlert({ ...about, series: { metric: 'customProperties.objectType', objectTypeId: text, label: text } }),
  ]
}

export const LINKS: MailLinks = {
  open: ({ id, account }) => `https://plimsoll.example.com/alerts/${id}?account=${account?.hubId}`,
  reconnect: () => `https://plimsoll.example.com/install?account=123&signature=${'s'.repeat(43)}`,
  silence: ({ rule }) =>
    `https://plimsoll.example.com/silences/new?${new URLSearchParams({ rule: rule.toWellFormed() })}`,
  acknowledge: ({ id }) =>
    `https://plimsoll.example.com/acknowledge/${id}?until=1795300000000&signature=${'s'.repeat(43)}`,
  record: recordPages('https://app.hubspot.com/oauth/authorize'),
  rule: () => 'thresholds line 31',
}

const recovered: Partial<Alert> = { status: 'resolved', reason: 'recovered', usage: 720, percent: 72, remaining: 280 }
const atLimit = anAtLimitAlert({
  records: {
    shown: 3,
    total: 212,
    items: [
      { objectId: 1201, label: 'Acme Holdings', isNew: true },
      { objectId: 77_002, label: 'Grüße & Söhne <GmbH>', usage: 9990 },
      { objectId: 5, label: '👩‍🚀 Space Camp', usage: 9870 },
    ],
    left: [{ objectId: 12, label: 'Initech' }],
  },
})

function fleet(count: number): Alert[] {
  return Array.from({ length: count }, (_, index) => {
    const percent = 99 - (index % 25)
    const numbers = { usage: percent * 10, percent, remaining: 1_000 - percent * 10, daysLeft: 1 + (index % 30) }
    const level = percent >= 95 ? 'critical' : 'warning'
    const alert =
      index % 7 === 6 ? anAtLimitAlert({ level }) : anAlert({ ...numbers, level, threshold: { percent: 75 } })
    return onAccount(4_000_000 + index, alert, `customer-${index}.subsidiary.example.com`)
  })
}

/** One message of every sort that a reader gets. */
export const MAILS: Record<string, Message> = {
  critical: aMessage([
    anAlert({
      daysLeftRange: { earliest: 4.2, latest: 9.8 },
      supersedes: ['a-0'],
      threshold: { percent: 95, daysLeft: 7 },
    }),
  ]),
  'at the limit': aMessage([atLimit]),
  'over the limit': aMessage([anAlert({ usage: 1_200, percent: 120, remaining: -200, daysLeft: 0 })]),
  'group of 12': aMessage([...fleet(9), atLimit, aTokenAlert(), onAccount(7, anAlert({ ...recovered }))]),
  'digest of 40': aMessage(fleet(40), { type: 'alert.digest', truncated: 160 }),
  'digest with changes': aMessage(fleet(5), {
    type: 'alert.digest',
    data: { ...aMessage(fleet(5)).data, period: 'day', changed: someChanges() },
  }),
  resolved: aMessage([anAlert({ ...recovered })], { type: 'alert.resolved' }),
  test: aMessage([testAlert()], { type: 'alert.test' }),
  token: aMessage([aTokenAlert()]),
  ...Object.fromEntries(
    Object.entries(HOSTILE).map(([name, text]) => [`hostile, ${name}`, aMessage(hostileAlerts(text))]),
  ),
  'hostile digest': aMessage(Object.values(HOSTILE).flatMap(hostileAlerts), { type: 'alert.digest' }),
}

function testAlert(): Alert {
  const { account, ...alert } = aTokenAlert({
    kind: 'test',
    reason: 'test',
    level: 'warning',
    rule: 'test',
    message: 'This is a test. Nothing is wrong; whoever reads this gets alerts.',
    url: 'https://plimsoll.example.com/',
  })
  return alert
}
