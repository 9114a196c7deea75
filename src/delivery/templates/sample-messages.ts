import type { Alert, AlertKind, Message } from '../../alerts/alert.ts'
import { type MailLinks, recordPages } from '../describe/mail-links.ts'

const AT = '2026-11-21T10:00:00.000Z'
const HOME = 'https://plimsoll.example.com/'
const ACCOUNT = { hubId: 1234567, hubDomain: 'acme.example.com' }

const COMMON = { status: 'firing', level: 'critical', reason: 'entered', measuredAt: AT, since: AT } as const
const OF_ACCOUNT = { ...COMMON, account: ACCOUNT, url: `${HOME}accounts/1234567` }

/** One alert of each kind, with all that the kind may have. */
const ALERTS: Record<AlertKind, Alert> = {
  limit: {
    ...OF_ACCOUNT,
    id: '1f0c9a7be2d45a63-2',
    kind: 'limit',
    reason: 'escalated',
    rule: 'associations.fullest',
    series: { metric: 'associations.fullest', from: '0-2', to: '0-1', objectTypeId: '0-2', label: 'Companies' },
    usage: 480,
    limit: 500,
    percent: 96,
    remaining: 20,
    daysLeft: 6.5,
    threshold: { percent: 95 },
    previous: { level: 'warning', usage: 450, limit: 500, measuredAt: '2026-11-20T10:00:00.000Z' },
    since: '2026-11-20T10:00:00.000Z',
    records: { shown: 1, total: 3, items: [{ objectId: 1201, label: 'Acme Holdings', usage: 480 }] },
  },
  'limit-changed': {
    ...OF_ACCOUNT,
    id: '2a1d9a7be2d45a63-1',
    kind: 'limit-changed',
    level: 'warning',
    rule: 'limit-changed',
    series: { metric: 'customProperties.overall' },
    usage: 480,
    limit: 500,
    percent: 96,
    remaining: 20,
    previous: { level: 'ok', usage: 480, limit: 1000, measuredAt: '2026-11-20T10:00:00.000Z' },
  },
  token: {
    ...OF_ACCOUNT,
    id: '3b2e9a7be2d45a63-1',
    kind: 'token',
    rule: 'token',
    message:
      'HubSpot refuses the refresh token. The app was uninstalled, or its access was revoked. Only a new connection helps.',
  },
  poll: {
    ...OF_ACCOUNT,
    id: '4c3f9a7be2d45a63-1',
    kind: 'poll',
    level: 'warning',
    rule: 'poll',
    cause: 'scopes',
    message: 'The granted scopes do not allow to read limits.',
  },
  fleet: {
    ...COMMON,
    id: '5d4a9a7be2d45a63-1',
    kind: 'fleet',
    rule: 'fleet',
    cause: 'credentials',
    url: HOME,
    message: "All 24 accounts: tokens can't be refreshed (client secret rejected).",
  },
  delivery: {
    ...COMMON,
    id: '6e5b9a7be2d45a63-1',
    kind: 'delivery',
    level: 'warning',
    rule: 'delivery',
    cause: 'failing',
    message: 'The receiver ops-hook has been failing for 1 hour: answered 500.',
    url: `${HOME}deliveries`,
  },
  test: {
    ...COMMON,
    id: '7f6c9a7be2d45a63-1',
    kind: 'test',
    level: 'warning',
    reason: 'test',
    rule: 'test',
    message: 'This is a test.',
    url: `${HOME}deliveries`,
  },
}

const KINDS = Object.keys(ALERTS) as AlertKind[]

/** One message of each kind, and the others: an end, a mail to a customer, several alerts, digests. */
const MESSAGES = {
  ...(Object.fromEntries(
    KINDS.map((kind) => [kind, messageOf(kind === 'test' ? 'alert.test' : 'alert.firing', [ALERTS[kind]])]),
  ) as Record<AlertKind, Message>),
  resolved: messageOf('alert.resolved', [ended(ALERTS.limit)]),
  several: messageOf('alert.firing', [ALERTS.limit, { ...ALERTS.token, account: { hubId: 7, hubDomain: '' } }], 3),
  digest: messageOf('alert.digest', [ALERTS.limit, ALERTS.token]),
  acknowledged: withData(messageOf('alert.acknowledged', [ALERTS.limit]), {
    acknowledged: { by: 'ann', comment: 'asked the customer', at: AT, until: AT },
  }),
  account: withData(messageOf('account.connected', []), { account: ACCOUNT }),
} satisfies Record<string, Message>

export type SampleName = keyof typeof MESSAGES
export const SAMPLE_NAMES = Object.keys(MESSAGES) as SampleName[]

export function sampleMessage(name: SampleName): Message {
  return MESSAGES[name]
}

/** Messages that a template must be good for: the samples, each kind resolved, none and many alerts. */
export function samplesOfAllKinds(): { name: string; message: Message }[] {
  const many = Array.from({ length: 200 }, (_, n) => ({
    ...ALERTS.limit,
    id: `${n}-1`,
    account: { hubId: n + 1, hubDomain: `account-${n}.example.com` },
  }))
  return [
    ...SAMPLE_NAMES.map((name) => ({ name: `the kind ${name}`, message: MESSAGES[name] })),
    ...KINDS.map((kind) => ({
      name: `the kind ${kind}, resolved`,
      message: messageOf('alert.resolved', [ended(ALERTS[kind])]),
    })),
    { name: 'no alerts', message: messageOf('alert.digest', []) },
    { name: '200 alerts', message: messageOf('alert.firing', many) },
  ]
}

/** Links like those of a message; what they permit is not signed. */
export function sampleLinks(publicUrl: string): MailLinks {
  const to = (path: string) => () => `${publicUrl}/${path}`
  return {
    open: to('alerts/1f0c9a7be2d45a63'),
    reconnect: to('install?link=SIGNED'),
    silence: to('silences/new'),
    acknowledge: to('acknowledge?link=SIGNED'),
    record: recordPages('https://app.hubspot.com/oauth/authorize'),
  }
}

function ended(alert: Alert): Alert {
  return { ...alert, status: 'resolved', reason: 'recovered' }
}

function withData(message: Message, more: Partial<Message['data']>): Message {
  return { ...message, data: { ...message.data, ...more } }
}

function messageOf(type: Message['type'], alerts: Alert[], truncated = 0): Message {
  return { type, timestamp: AT, data: { groupKey: 'account=1234567', truncated, alerts } }
}
