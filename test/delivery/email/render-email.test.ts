import { describe, expect, test } from 'vitest'
import type { Alert, FleetChanges, Message } from '../../../src/alerts/alert.ts'
import { subjectLine } from '../../../src/delivery/describe/subject.ts'
import { renderEmail } from '../../../src/delivery/receivers/email/send-email.ts'
import { slackBody } from '../../../src/delivery/receivers/slack/slack-body.ts'
import { aMessage, anAlert, anAtLimitAlert, aTokenAlert, NOW, onAccount, someChanges } from '../example-messages.ts'

/** What a reader of the HTML part reads. */
function readable(html: string): string {
  const entities: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" }
  return html
    .replace(/<style>.*<\/style>/s, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&nbsp;/g, ' ')
    .replace(/&(amp|lt|gt|quot|#39);/g, (entity) => entities[entity] ?? '')
    .replace(/\s+/g, ' ')
}

describe('a limit alert', () => {
  const { text, html } = renderEmail(aMessage(), NOW)

  test('reads, as text, as follows', () => {
    expect(text).toBe(`acme.example.com (123)

[CRITICAL] Custom properties, 960 of 1,000.
Worse: warning → critical.

To do          Delete custom properties that are not in use (in HubSpot: Settings > Properties), or have the limit raised.
Since          2026-11-20 09:00 UTC (25 h ago)
Usage          960 of 1,000 (96 %), 40 left
Change         up 20 since 2026-11-21 09:45 UTC (940 → 960 of 1,000)
Forecast       6 days left at this pace
Measured       2026-11-21 10:00 UTC (5 min ago)
Rule           customProperties.overall

Open account   https://plimsoll.example.com/accounts/123

-- 
Sent by Plimsoll, 2026-11-21 10:00 UTC.
`)
  })

  test('says the same in HTML', () => {
    const read = readable(html)
    for (const line of text
      .split('\n')
      .filter((line) => /^(Worse|Usage|Change|Forecast|Rule|Since|Measured|To do)/.test(line))) {
      expect(read).toContain(line.replace(/\s+/g, ' '))
    }
    expect(html).toContain('href="https://plimsoll.example.com/accounts/123"')
    expect(html).toContain('width="96%"')
    expect(html).toContain('width="4%"')
  })
})

describe('what happened', () => {
  const fromCritical = { level: 'critical', usage: 970, measuredAt: '2026-11-21T09:45:00.000Z' } as const

  test.each([
    ['entered', { reason: 'entered' }, 'New: critical.'],
    ['eased', { reason: 'eased', level: 'warning', previous: fromCritical }, 'Better: critical → warning.'],
    ['recovered', { reason: 'recovered', status: 'resolved' }, 'Back to normal.'],
    [
      'ended with its rule',
      { reason: 'recovered', status: 'resolved', because: { is: 'no-rule' } },
      'No longer watched.',
    ],
    [
      'ended with a rule that switches off',
      { reason: 'recovered', status: 'resolved', because: { is: 'off', rule: 'quiet' } },
      'No longer watched.',
    ],
    [
      'gone from the reports',
      { reason: 'recovered', status: 'resolved', because: { is: 'gone' } },
      'No longer reported.',
    ],
    ['worse', { reason: 'worse' }, 'Still critical, usage rose.'],
    ['repeat', { reason: 'repeat' }, 'Still critical.'],
    ['uninstalled', { reason: 'uninstalled', status: 'resolved' }, 'App uninstalled, alert closed.'],
    ['test', { kind: 'test', reason: 'test' }, 'Test.'],
    ['over the limit', { usage: 1020, percent: 102, remaining: -20 }, '1,020 of 1,000 (102 %), 20 over the limit'],
    ['unchanged', { usage: 940 }, 'unchanged since 2026-11-21 09:45 UTC (940 → 940 of 1,000)'],
    ['fallen', { usage: 900 }, 'down 40 since 2026-11-21 09:45 UTC (940 → 900 of 1,000)'],
    [
      'foretold',
      { daysLeft: 12.3, daysLeftRange: { earliest: 9.1, latest: 19.2 } },
      '12 days left (9 to 20) at this pace',
    ],
    [
      'foretold, maybe in years',
      { daysLeft: 12.3, daysLeftRange: { earliest: 9.1 } },
      '12 days left (9 or more) at this pace',
    ],
    ['foretold for today', { daysLeft: 0.4 }, 'less than a day left at this pace'],
    ['full', { usage: 1_000, percent: 100, daysLeft: 0 }, 'Custom properties, 1,000 of 1,000 (limit reached).'],
    [
      'resolved',
      { status: 'resolved', reason: 'recovered' },
      '25 h, from 2026-11-20 09:00 UTC to 2026-11-21 10:00 UTC',
    ],
  ] as const)('%s', (_name, overrides, expected) => {
    const { text, html } = renderEmail(aMessage([anAlert(overrides)]), NOW)
    expect(text).toContain(expected)
    expect(readable(html)).toContain(expected)
  })

  test('is the sentence of an alert that is not about a number', () => {
    const { text, html } = renderEmail(aMessage([aTokenAlert()]), NOW)
    for (const part of [text, readable(html)]) {
      expect(part).toContain('The provider refuses the refresh token. Ask the customer to connect the account again.')
      expect(part).not.toMatch(/Usage|Reason|Rule|undefined|NaN|%/)
    }
  })
})

describe('the bar', () => {
  const barIn = (percent: number) => renderEmail(aMessage([anAlert({ percent })]), NOW).html

  test.each([
    [0, ['100']],
    [0.4, ['1', '99']],
    [99.9, ['99', '1']],
    [100, ['100']],
    [100.1, ['99', '1']],
    [120, ['83', '17']],
    [1_000_000, ['1', '99']],
  ])('has, for %f percent, parts of this width', (percent, widths) => {
    const html = barIn(percent)
    expect([...html.matchAll(/<td[^>]* width="(\d+)%" height="10"/g)].map(([, width]) => width)).toEqual(widths)
    expect(html.includes('border-left:3px')).toBe(percent > 100)
    expect(html.includes('class="track"')).toBe(percent < 100)
  })

  test('says the usage to those who do not see it', () => {
    expect(barIn(120)).toContain('aria-label="120 % used"')
  })
})

describe('records', () => {
  test('are named with id and usage, and how many are not shown', () => {
    const { text, html } = renderEmail(aMessage([anAtLimitAlert()]), NOW)
    for (const part of [text.replace(/\s+/g, ' '), readable(html)])
      expect(part).toContain(
        'Records (3 of 212 shown) Acme Holdings (#1201): at its limit Grüße & Söhne <GmbH> (#77002): 9,990',
      )
    expect(html).toContain('<bdi>Grüße &amp; Söhne &lt;GmbH&gt; (#77002): 9,990</bdi>')
  })

  test('whose labels are not kept are shown by their ids', () => {
    const records = { shown: 2, total: 2, items: [{ objectId: 1201 }, { objectId: 77002, usage: 9_990 }] }
    const { text } = renderEmail(aMessage([anAtLimitAlert({ records })]), NOW)
    expect(text).toContain('Records (2)\n  #1201: at its limit\n  #77002: 9,990')
  })

  test('say nothing of samples where all are shown', () => {
    const records = { shown: 1, total: 1, items: [{ objectId: 1, label: '' }] }
    const { text } = renderEmail(aMessage([anAtLimitAlert({ records })]), NOW)
    expect(text).toContain('Records (1)\n  (no name) (#1): at its limit')
  })
})

describe('a group', () => {
  const resolved = anAlert({ status: 'resolved', reason: 'recovered', percent: 72, usage: 720 })
  const warning = anAlert({ level: 'warning', percent: 86 })

  test('has a section for each alert, the worst first, and counts them', () => {
    const alerts = [onAccount(1, resolved), onAccount(2, warning), onAccount(3, anAlert())]
    const { text, html } = renderEmail(aMessage(alerts, { truncated: 4 }), NOW)
    for (const part of [text, readable(html)]) {
      expect(part).toContain('7 alerts, the first 3: 1 critical, 1 warning, 1 resolved in 3 accounts.')
      expect(part).toContain('4 more alerts not shown.')
      const order = ['(3)', '(2)', '(1)'].map((account) =>
        part.indexOf(`example.com ${account}`, part.indexOf('7 alerts')),
      )
      expect(order).toEqual([...order].sort((a, b) => a - b))
    }
    expect(text.match(/^Usage/gm)).toHaveLength(3)
  })

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

test('a digest ranks accounts by how urgent they are, a line for each alert, and says how many are left out', () => {
  const alerts = [
    onAccount(1, anAlert({ level: 'warning', percent: 81, usage: 810 })),
    onAccount(2, anAlert({ level: 'warning', percent: 94, usage: 940 })),
    onAccount(3, anAtLimitAlert()),
    onAccount(4, anAlert({ percent: 99, usage: 990 })),
  ]
  const { text, html } = renderEmail(aMessage(alerts, { type: 'alert.digest', truncated: 1 }), NOW)
  expect(text).toContain('First readings of new accounts: 2 critical, 2 warnings, 1 more in 4 accounts.')
  expect(text).toContain(
    '  account-4.example.com (4)\n    https://plimsoll.example.com/accounts/4\n    [CRITICAL] Custom properties, 990 of 1,000, 6 days left\n',
  )
  const rows = readable(html)
  expect(rows).toContain('account-4.example.com (4) CRITICAL Custom properties, 990 of 1,000, 6 days left')
  expect(rows).toContain('account-3.example.com (3) CRITICAL 212 contacts have the maximum of companies')
  expect(rows).toContain('1 more alert not shown.')
  const order = [3, 4, 2, 1].map((hubId) => rows.indexOf(`account-${hubId}.`))
  expect(order).toEqual([...order].sort((a, b) => a - b))
})

describe('an account with several alerts', () => {
  const series = { metric: 'customProperties.objectType', objectTypeId: '2-77', label: 'Ships' }
  const own = [anAlert({ level: 'warning', percent: 81, usage: 810 }), anAlert({ id: 'a-2', series }), anAtLimitAlert()]
  const other = onAccount(7, anAlert({ level: 'warning', percent: 90 }))
  const line = 'acme.example.com (123)'

  test('is named once, above its alerts, in a mail of its own', () => {
    const { subject, text, html } = renderEmail(aMessage(own), NOW)
    expect(subject).toBe('[CRITICAL] acme.example.com (123): 212 contacts have the maximum of companies and 2 more')
    for (const part of [text, readable(html)]) expect(part.split(line)).toHaveLength(part === text ? 2 : 3)
    expect(text.startsWith('3 alerts: 2 critical, 1 warning in 1 account.\n')).toBe(true)
  })

  test('in a digest, before the accounts that are better off', () => {
    const { text, html } = renderEmail(aMessage([other, ...own], { type: 'alert.digest' }), NOW)
    for (const part of [text, readable(html)]) {
      expect(part.split(line)).toHaveLength(2)
      const order = [line, '212 contacts', 'Ships', 'Custom properties, 810', 'account-7'].map((what) =>
        part.indexOf(what),
      )
      if (part === text) expect(order).toEqual(order.toSorted((a, b) => a - b))
    }
  })
})

test('the first trouble is the worst by consequence, and the badge the worst level', () => {
  const failing = onAccount(7, aTokenAlert({ kind: 'poll', level: 'warning', cause: 'failing' }))
  const { subject } = renderEmail(aMessage([anAlert(), failing]), NOW)
  expect(subject).toBe('[CRITICAL] 1 of 2 accounts: custom properties 96 %, worst acme.example.com')
})

/** As a poll writes it. */
function aChange(overrides: Partial<Alert> = {}): Alert {
  const { daysLeft, threshold, ...alert } = anAlert({
    kind: 'limit-changed',
    level: 'warning',
    reason: 'entered',
    rule: 'limit-changed',
    usage: 480,
    limit: 500,
    percent: 96,
    remaining: 20,
    since: '2026-11-21T10:00:00.000Z',
    previous: { level: 'warning', usage: 478, limit: 1_000, measuredAt: '2026-11-21T09:45:00.000Z' },
    message: 'The limit went down from 1,000 to 500: usage is now 96 % (480).',
    ...overrides,
  })
  return alert
}

test('a limit that moved is told as such, with the limit from before', () => {
  const message = aMessage([aChange()])
  expect(subjectLine(message)).toBe('[WARNING] acme.example.com (123): Custom properties, limit now 500, 96 % used')
  const { text, html } = renderEmail(message, NOW)
  expect(text).toBe(`acme.example.com (123)

[WARNING] Custom properties, limit now 500, 96 % used.
The limit went down from 1,000 to 500: usage is now 96 % (480).

To do          Check that the account has enough room left.
Since          2026-11-21 10:00 UTC (5 min ago)
Usage          480 of 500 (96 %), 20 left
Change         up 2 since 2026-11-21 09:45 UTC (478 of 1,000 → 480 of 500)
Measured       2026-11-21 10:00 UTC (5 min ago)
Reason         HubSpot changed the limit

Open account   https://plimsoll.example.com/accounts/123

-- 
Sent by Plimsoll, 2026-11-21 10:00 UTC.
`)
  expect(readable(html)).toContain('478 of 1,000 → 480 of 500')
})

test('several limits that moved share a subject, and each has a row or a section', () => {
  const changes = [1, 2, 3].map((hubId) => onAccount(hubId, aChange()))
  const message = aMessage(changes)
  expect(subjectLine(message)).toBe('[WARNING] 3 accounts: limit changed, e.g. account-1.example.com')
  expect(renderEmail(message, NOW).text.match(/The limit went down/g)).toHaveLength(3)
  const digest = renderEmail({ ...message, type: 'alert.digest' }, NOW)
  expect(digest.text.match(/Custom properties, limit now 500, 96 % used/g)).toHaveLength(3)
  expect(readable(digest.html).match(/Custom properties, limit now 500, 96 % used/g)).toHaveLength(3)
})

test('a level that is entered because the limit moved says so', () => {
  const previous = { level: 'ok' as const, usage: 480, limit: 1_000, measuredAt: '2026-11-21T09:45:00.000Z' }
  const alert = anAlert({ reason: 'entered', usage: 480, limit: 500, remaining: 20, previous })
  const { text } = renderEmail(aMessage([alert]), NOW)
  expect(text).toContain('New: critical (the limit was 1,000).')
  expect(text).toContain('Change         unchanged since 2026-11-21 09:45 UTC (480 of 1,000 → 480 of 500)')
  const unmoved = anAlert({ reason: 'entered', previous: { ...previous, limit: 1_000 } })
  expect(renderEmail(aMessage([unmoved]), NOW).text).toContain('New: critical.')
})

function digest(data: Partial<Message['data']>) {
  const message = aMessage([], { type: 'alert.digest' })
  return renderEmail({ ...message, data: { ...message.data, period: 'day', ...data } }, NOW)
}

test('a digest of nothing says so, in subject and text', () => {
  const { subject, text } = digest({ totals: { accounts: 0, critical: 0, warning: 0 } })
  expect(subject).toBe('[DIGEST] Daily: no open alerts')
  expect(text.startsWith('No open alerts.\n\n-- \n')).toBe(true)
})

test('a digest tells all there is, also what it does not show', () => {
  const { subject, text } = digest({
    period: 'week',
    alerts: [anAlert()],
    truncated: 1_213,
    totals: { accounts: 1_000, critical: 14, warning: 1_200 },
  })
  expect(subject).toBe('[DIGEST] Weekly: 14 critical, 1,200 warnings in 1,000 accounts')
  expect(text.match(/\[CRITICAL\]/g)).toHaveLength(1)
  expect(text).toContain('1,213 more alerts not shown.')
})

describe('a digest that is not the first has what changed since the last one below its alerts', () => {
  const mail = (changed: FleetChanges) => {
    const message = aMessage([anAlert()], { type: 'alert.digest' })
    return renderEmail({ ...message, data: { ...message.data, period: 'day', changed } }, NOW, {
      changes: 'https://plimsoll.example.com/changes',
    })
  }

  test('a line for each account, by group', () => {
    const { text, html } = mail(someChanges())
    const ends = `  acme.example.com (123)
    https://plimsoll.example.com/accounts/123
    [CRITICAL] Custom properties, 960 of 1,000, 6 days left

============================================================

1 account must reconnect, 1 alert opened, 1 limit changed, 1 alert resolved, 1 account connected since 2026-11-20 08:00 UTC.

Accounts: connected, uninstalled, must reconnect
  globex.example.com (5): tokens, ok → must reconnect (2026-11-21 09:00 UTC)
  account 9: reconnected (2026-11-21 10:00 UTC)

Worse
  acme.example.com (123): 1 alert opened, 1 limit changed, 1 alert resolved; worst: Custom properties, ok → critical, 960 of 1,000 (2026-11-21 10:00 UTC)

7 more changes not shown. All changes: https://plimsoll.example.com/changes
Not all changes before 2026-11-20 12:00 UTC are kept.\n`
    expect(text.slice(0, ends.length)).toBe(ends)
    const read = readable(html)
    const lines = ends.slice(ends.indexOf('1 account must')).split('\n').filter(Boolean)
    expect(lines).toHaveLength(8)
    for (const line of lines) expect(read).toContain(line.trim())
    expect(read.indexOf('Custom properties, 960')).toBeLessThan(read.indexOf('1 account must reconnect'))
    expect(html).toContain('<a href="https://plimsoll.example.com/changes">')
  })

  test('in one line where nothing did', () => {
    const { counts, ...changes } = someChanges()
    const none = Object.fromEntries(Object.keys(counts).map((name) => [name, 0])) as typeof counts
    const { text, html } = mail({ ...changes, counts: none, items: [], leftOut: 0 })
    expect(text).toContain('\nNothing changed since 2026-11-20 08:00 UTC.\n')
    expect(readable(html)).toContain('Nothing changed since 2026-11-20 08:00 UTC.')
  })

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

test('what concerns the whole fleet is in no account', () => {
  expect(digest({ totals: { accounts: 0, critical: 1, warning: 0 } }).subject).toBe('[DIGEST] Daily: 1 critical')
})

test('of several alerts of an account the critical one is first, and Slack links the account', () => {
  const poll = anAlert({ id: 'a-2', kind: 'poll', level: 'warning', rule: 'poll', cause: 'failing' })
  const { series: _, usage: __, limit: ___, percent: ____, remaining: _____, daysLeft: ______, ...bare } = poll
  const message = aMessage([bare, anAlert()])
  const { text } = renderEmail(message, NOW)
  expect(text).toMatch(/^2 alerts: 1 critical, 1 warning in 1 account\.\n/)
  const slack = slackBody(message, { receiver: 'chat', home: 'https://plimsoll.example.com/', groupBy: [] })
  expect(slack).toContain('accounts/123|Open account')
})

test('names of rows and links in plain text are apart from what they name', () => {
  const links = { reconnect: () => 'https://plimsoll.example.com/install?account=123' }
  expect(renderEmail(aMessage([aTokenAlert()]), NOW, links).text).toMatch(/^Reconnect link +https:/m)
})

test('a message of several alerts begins with a line and a link for each, before it shows them one by one', () => {
  const others = [7, 8].map((hubId) => onAccount(hubId, anAlert({ level: 'warning', percent: 90, usage: 900 })))
  const message = aMessage([...others, anAlert(), anAtLimitAlert({ id: 'a-9' })])
  const lines = [
    '[CRITICAL] acme.example.com (123): 212 contacts have the maximum of companies',
    '[CRITICAL] acme.example.com (123): Custom properties, 960 of 1,000',
    '[WARNING] account-7.example.com (7): Custom properties, 900 of 1,000',
    '[WARNING] account-8.example.com (8): Custom properties, 900 of 1,000',
  ]
  const { text, html } = renderEmail(message, NOW)
  expect(text).toContain(
    `4 alerts: 2 critical, 2 warnings in 3 accounts.\n  ${lines[0]}\n    https://plimsoll.example.com/accounts/123\n  ${lines[1]}\n`,
  )
  expect(text.match(/^To do .*Delete custom properties/gm)).toHaveLength(1)
  expect(readable(html).replaceAll(/ +/g, ' ')).toContain(lines.join(' ').replaceAll(/\[(\w+)\]/g, '$1'))
  expect(renderEmail(aMessage([anAlert()]), NOW).text).not.toContain('[CRITICAL] acme.example.com (123): custom')
})
