import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Alert, FleetChanges, Message } from '../../src/alerts/alert.ts'
import { renderEmail } from '../../src/delivery/receivers/email/send-email.ts'
import { saidBy } from '../views/said-by-pages.ts'
import { LINKS, MAILS } from './email/many-mails.ts'
import { aMessage, anAlert, anAtLimitAlert, aTokenAlert, NOW, onAccount, someChanges } from './example-messages.ts'
import { openReceiver } from './receivers/far-side.ts'

/** What is sent of each of these messages, whole: PLIMSOLL_WRITE=1 writes the file again, and what changes there is read like code. */
const FILE = new URL('messages.txt', import.meta.url)

const contacts = { metric: 'customProperties.objectType', objectTypeId: '0-1', label: 'Contacts' }
const pair = { from: '0-1', to: '0-2' }
const over = { status: 'resolved', reason: 'recovered' } as const
const warning = anAlert({ level: 'warning', percent: 86, usage: 860, remaining: 140 })
const recovered = anAlert({ ...over, percent: 72, usage: 720 })
const fromCritical = { level: 'critical', usage: 970, measuredAt: '2026-11-21T09:45:00.000Z' } as const
const halved = { level: 'ok', usage: 480, limit: 1_000, measuredAt: '2026-11-21T09:45:00.000Z' } as const
const poll = { kind: 'poll', level: 'warning' } as const

/** One alert each, as it differs from one that got critical. */
const ALERTS: Record<string, Partial<Alert>> = {
  entered: { reason: 'entered' },
  'entered because the limit moved': { reason: 'entered', usage: 480, limit: 500, remaining: 20, previous: halved },
  eased: { reason: 'eased', level: 'warning', previous: fromCritical },
  recovered: over,
  'ended with its rule': { ...over, because: { is: 'no-rule' } },
  'ended with a rule that switches off': { ...over, because: { is: 'off', rule: 'quiet' } },
  'gone from the reports': { ...over, because: { is: 'gone' } },
  worse: { reason: 'worse' },
  repeated: { reason: 'repeat' },
  uninstalled: { status: 'resolved', reason: 'uninstalled' },
  'over the limit': { usage: 1_020, percent: 102, remaining: -20 },
  'far over the limit': { percent: 1_000_000 },
  'nearly nothing': { percent: 0.4 },
  nothing: { percent: 0 },
  unchanged: { usage: 940 },
  fallen: { usage: 900 },
  foretold: { daysLeft: 12.3, daysLeftRange: { earliest: 9.1, latest: 19.2 } },
  'foretold, maybe in years': { daysLeft: 12.3, daysLeftRange: { earliest: 9.1 } },
  'foretold for today': { daysLeft: 0.4 },
  'for the days that are left': { percent: 70, usage: 700, daysLeft: 5.26, threshold: { percent: 95, daysLeft: 7 } },
  full: { usage: 1_000, percent: 100, daysLeft: 0, threshold: { daysLeft: 7 } },
  'of an object type': { series: contacts, percent: 99.96, limit: 12_500 },
  'of an object type without a label': { series: { metric: contacts.metric, objectTypeId: '2-77' } },
  'of the fullest record': { series: { metric: 'associations.fullest', ...pair }, percent: 92.34, limit: 10_000 },
  'with its reason': { because: { is: 'holds', level: 'critical', asks: 'percent', threshold: 95, value: 96 } },
  'of several changes': { supersedes: ['a-0'] },
  'of a limit that moved': {
    kind: 'limit-changed',
    level: 'warning',
    reason: 'entered',
    limit: 500,
    usage: 480,
    remaining: 20,
    previous: { ...halved, usage: 478 },
    message: 'The limit went down from 1,000 to 500: usage is now 96 % (480).',
  },
}

/** Alerts that are not about a number. */
const TROUBLES: Record<string, Partial<Alert>> = {
  'a token that is lost': {},
  'a token that may yet be saved': { cause: 'failing' },
  'an uninstall that hangs': { level: 'warning', rule: 'uninstall' },
  'an account that is not read': {
    ...poll,
    cause: 'failing',
    message:
      "Association limits can't be read (HubSpot has answered 502 since 13:36). Custom properties are up to date.",
  },
  'what has no number, before it neither': {
    ...poll,
    cause: 'failing',
    previous: { level: 'ok', measuredAt: '2026-11-21T09:45:00.000Z' },
  },
  'an account whose scope is missing': { ...poll, cause: 'scopes' },
}

const records = (items: NonNullable<Alert['records']>['items'], more: object = {}) =>
  anAtLimitAlert({ records: { shown: items.length, total: items.length, items, ...more } })
const digest = (data: Partial<Message['data']>) =>
  aMessage([], { type: 'alert.digest', data: { ...aMessage([]).data, period: 'day', ...data } })
const counted = (count: number) => Object.fromEntries(Object.keys(someChanges().counts).map((name) => [name, count]))

const { account: _, ...fleet } = aTokenAlert({ kind: 'fleet', message: 'The client secret is refused. Check it.' })
const { message: __, ...wordless } = fleet

const MESSAGES: Record<string, Message> = {
  'a fleet alert': aMessage([fleet]),
  'a fleet alert without a word': aMessage([wordless]),
  'records at their limit': aMessage([anAtLimitAlert({ usage: 1_212 })]),
  'one record near its limit': aMessage([
    anAtLimitAlert({ usage: 1, series: { metric: 'associations.nearLimit', ...pair } }),
  ]),
  'records without labels': aMessage([records([{ objectId: 1_201 }, { objectId: 77_002, usage: 9_990 }])]),
  'a record without a name': aMessage([records([{ objectId: 1, label: '' }])]),
  'records that came and went': aMessage([
    records([{ objectId: 7, label: 'Acme', isNew: true }], {
      left: [1, 2, 3, 4, 5, 6, 7].map((id) => ({ objectId: 100 + id, label: `Old ${id}` })),
    }),
  ]),
  'of which newer ones took over all': aMessage([], { truncated: 3 }),
  'three accounts': aMessage([onAccount(7, warning), anAlert(), onAccount(8, warning)]),
  'three accounts and more': aMessage([onAccount(7, warning), anAlert(), onAccount(8, recovered)], {
    truncated: 1_500,
  }),
  'different troubles': aMessage([onAccount(7, warning), aTokenAlert()]),
  'the same trouble in three accounts': aMessage([1, 2, 3].map((n) => onAccount(n, anAtLimitAlert()))),
  'a group that is well again': aMessage(
    [1, 2, 3].map((n) => onAccount(n, recovered)),
    { type: 'alert.resolved' },
  ),
  'a group in which the worst is over': aMessage([recovered, onAccount(7, warning)]),
  'several alerts of an account': aMessage([
    anAlert({ level: 'warning', percent: 81, usage: 810 }),
    anAlert({ id: 'a-2', series: { ...contacts, label: 'Ships' } }),
    anAtLimitAlert(),
  ]),
  'a first digest': aMessage([onAccount(1, warning), onAccount(3, anAtLimitAlert()), onAccount(4, anAlert())], {
    type: 'alert.digest',
    truncated: 1,
  }),
  'a digest of nothing': digest({ totals: { accounts: 0, critical: 0, warning: 0 } }),
  'a digest about the fleet alone': digest({ totals: { accounts: 0, critical: 1, warning: 0 } }),
  'a weekly digest': digest({
    period: 'week',
    alerts: [anAlert()],
    truncated: 1_213,
    totals: { accounts: 1_000, critical: 14, warning: 1_200 },
  }),
  'a digest with changes': digest({ alerts: [anAlert()], changed: someChanges() }),
  'a digest without changes': digest({
    alerts: [anAlert()],
    changed: { ...someChanges(), counts: counted(0) as unknown as FleetChanges['counts'], items: [], leftOut: 0 },
  }),
  'limits that moved': aMessage([1, 2, 3].map((n) => onAccount(n, anAlert(ALERTS['of a limit that moved'])))),
}

const RECEIVERS: Record<string, Record<string, unknown>> = {
  slack: {},
  teams: {},
  telegram: { botToken: '1:abc', chat: '7' },
  ntfy: { topic: 't' },
  apprise: {},
  pagerduty: { routingKey: 'k' },
  webhook: { format: 'alertmanager', secrets: [Buffer.alloc(32, 1).toString('base64')] },
}
const URL_OF_SERVICE = 'https://service.example.com/hook'

async function sentTo(type: string, message: Message): Promise<string[]> {
  const receiver = openReceiver({ type, url: URL_OF_SERVICE, ...RECEIVERS[type] })
  const { text } = receiver.show(message, NOW)
  await receiver.close()
  const lines = text.trimEnd().split('\n')
  // Of JSON, what is more than a bracket.
  return [`${type}:`, ...lines.filter((line) => !/^[\s{}[\],]+$/.test(line))]
}

function mail(message: Message): string[] {
  const { subject, text, html } = renderEmail(message, NOW, { changes: 'https://plimsoll.example.com/changes' })
  expect(`${subject}${text}${html}`).not.toMatch(/undefined|NaN|\[object/)
  return [`Subject: ${subject}`, ...text.trimEnd().split('\n')]
}

/** Widths of bars, which no text has. */
const barsIn = (html: string) => [...html.matchAll(/<td[^>]* width="(\d+)%" height="10"/g)].map(([, width]) => width)

function htmlPart(message: Message): string[] {
  const { html } = renderEmail(message, NOW, LINKS)
  return ['html:', `bars: ${barsIn(html).join(' ')}`, ...saidBy(html.replace(/<style>.*?<\/style>/s, ''))]
}

const EACH: Record<string, Message> = {
  ...Object.fromEntries(Object.entries(ALERTS).map(([name, more]) => [name, aMessage([anAlert(more)])])),
  ...Object.fromEntries(Object.entries(TROUBLES).map(([name, more]) => [name, aMessage([aTokenAlert(more)])])),
  ...MESSAGES,
}
const EVERYWHERE = ['critical', 'at the limit', 'over the limit', 'resolved', 'test', 'token', 'digest with changes']

test('each message reads as it is written down', async () => {
  const lines: string[] = []
  const usual = mail(aMessage())
  lines.push('# usual', ...usual, '')
  for (const [name, message] of Object.entries(EACH)) {
    const own = mail(message)
    lines.push(`# ${name}`, ...(name in ALERTS ? own.filter((line) => !usual.includes(line)) : own), '')
  }
  for (const name of EVERYWHERE) {
    const message = MAILS[name] ?? aMessage()
    lines.push(`# ${name}, everywhere`, ...htmlPart(message))
    for (const type of Object.keys(RECEIVERS)) lines.push(...(await sentTo(type, message)))
    lines.push('')
  }
  const text = lines.map((line) => line.trimEnd()).join('\n')
  if (process.env.PLIMSOLL_WRITE === '1') writeFileSync(FILE, text)
  expect(text.split('\n')).toEqual(readFileSync(FILE, 'utf8').split('\n'))
})
