import type { Alert, FleetChanges, Message } from '../../src/alerts/alert.ts'

export const NOW = Date.parse('2026-11-21T10:05:00.000Z')

export function anAlert(overrides: Partial<Alert> = {}): Alert {
  return {
    id: 'a-1',
    kind: 'limit',
    status: 'firing',
    level: 'critical',
    reason: 'escalated',
    rule: 'customProperties.overall',
    account: { hubId: 123, hubDomain: 'acme.example.com' },
    series: { metric: 'customProperties.overall' },
    usage: 960,
    limit: 1000,
    percent: 96,
    remaining: 40,
    daysLeft: 6.5,
    threshold: { percent: 95 },
    previous: { level: 'warning', usage: 940, measuredAt: '2026-11-21T09:45:00.000Z' },
    measuredAt: '2026-11-21T10:00:00.000Z',
    since: '2026-11-20T09:00:00.000Z',
    url: 'https://plimsoll.example.com/accounts/123',
    ...overrides,
  }
}

const NUMBERS = ['series', 'usage', 'limit', 'percent', 'remaining', 'daysLeft', 'threshold', 'previous'] as const

/** An alert of a kind that is not about a number. */
export function aTokenAlert(overrides: Partial<Alert> = {}): Alert {
  const alert = anAlert({
    kind: 'token',
    reason: 'entered',
    rule: 'token',
    message: 'The provider refuses the refresh token. Ask the customer to connect the account again.',
  })
  for (const field of NUMBERS) delete alert[field]
  return { ...alert, ...overrides }
}

export function anAtLimitAlert(overrides: Partial<Alert> = {}): Alert {
  const alert = anAlert({
    rule: 'associations.atLimit',
    series: { metric: 'associations.atLimit', from: '0-1', to: '0-2' },
    usage: 212,
    threshold: { count: 50 },
    previous: { level: 'warning', usage: 40, measuredAt: '2026-11-21T09:45:00.000Z' },
    records: {
      shown: 3,
      total: 212,
      items: [
        { objectId: 1201, label: 'Acme Holdings' },
        { objectId: 77_002, label: 'Grüße & Söhne <GmbH>', usage: 9990 },
        { objectId: 5, label: '👩‍🚀 Space Camp', usage: 9870 },
      ],
    },
  })
  for (const field of ['limit', 'percent', 'remaining', 'daysLeft'] as const) delete alert[field]
  return { ...alert, ...overrides }
}

export function onAccount(hubId: number, alert: Alert, hubDomain = `account-${hubId}.example.com`): Alert {
  return {
    ...alert,
    id: `a-${hubId}`,
    account: { hubId, hubDomain },
    url: `https://plimsoll.example.com/accounts/${hubId}`,
  }
}

export function aMessage(
  alerts: Alert[] = [anAlert()],
  overrides: Partial<Message> & { truncated?: number } = {},
): Message {
  const { truncated = 0, ...rest } = overrides
  return {
    type: 'alert.firing',
    timestamp: '2026-11-21T10:00:00.000Z',
    data: { groupKey: 'ops-mail/customProperties.overall', truncated, alerts },
    ...rest,
  }
}

/** What a digest begins with: a change of each group. */
export function someChanges(): FleetChanges {
  const at = '2026-11-21T10:00:00.000Z'
  const account = { hubId: 123, hubDomain: 'acme.example.com' }
  const gone = anAtLimitAlert({ status: 'resolved', reason: 'recovered', because: { is: 'no-rule' } })
  const series = { metric: 'associations.atLimit' }
  return {
    since: '2026-11-20T08:00:00.000Z',
    until: at,
    keptSince: '2026-11-20T12:00:00.000Z',
    leftOut: 7,
    counts: {
      lost: 1,
      entered: 1,
      worse: 0,
      limit: 1,
      eased: 0,
      left: 1,
      recovered: 0,
      uninstalled: 0,
      reconnected: 0,
      connected: 1,
    },
    items: [
      {
        change: 'lost',
        at: '2026-11-21T09:00:00.000Z',
        from: 'ok',
        to: 'critical',
        times: 1,
        account: { hubId: 5, hubDomain: 'globex.example.com' },
        alert: aTokenAlert(),
      },
      { change: 'entered', at, account, from: 'ok', to: 'critical', times: 2, alert: anAlert() },
      {
        change: 'limit',
        at,
        account,
        from: 1_000,
        to: 800,
        times: 1,
        alert: anAlert({ kind: 'limit-changed', usage: 800, limit: 800, percent: 100 }),
      },
      { change: 'left', at, account, from: 'ok', via: 'critical', to: 'ok', times: 4, alert: { ...gone, series } },
      { change: 'reconnected', at, account: { hubId: 9, hubDomain: '' }, before: 'lost', times: 1 },
    ],
  }
}
