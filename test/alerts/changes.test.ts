import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Alert, AlertReason } from '../../src/alerts/alert.ts'
import { type AccountEvent, netChanges, worstFirst } from '../../src/alerts/changes.ts'
import { anAlert } from './an-alert.ts'

const AT = Date.parse('2026-11-21T10:00:00.000Z')
const MINUTE = 60_000
const iso = (minute: number) => new Date(AT + minute * MINUTE).toISOString()
const account = { hubId: 7, hubDomain: 'n7.example.com' }

/** What an alert does, a minute each: the reason and its level. */
type Did = readonly [reason: AlertReason, level: 'warning' | 'critical']

function did(what: readonly Did[], more: Partial<Alert> = {}): Alert[] {
  return what.map(([reason, level], n) =>
    anAlert({
      id: `a-${n + 1}`,
      account,
      series: { metric: 'customProperties.overall' },
      reason,
      level,
      ...more,
      status: reason === 'recovered' || reason === 'uninstalled' ? 'resolved' : 'firing',
      measuredAt: iso(n),
    }),
  )
}

const events = (...names: AccountEvent['event'][]): AccountEvent[] =>
  names.map((event, n) => ({ hubId: 7, event, at: AT + n * MINUTE }))

const short = (alerts: readonly Alert[], came: readonly AccountEvent[] = []) =>
  netChanges(alerts, came).map(({ change, from, via, to }) =>
    [change, from, via, to].filter((one) => one !== undefined),
  )

describe('an alert', () => {
  test.each<[string, Did[], unknown[]]>([
    ['that opened', [['entered', 'warning']], ['entered', 'ok', 'warning']],
    ['that got worse', [['escalated', 'critical']], ['worse', 'warning', 'critical']],
    ['that got worse at its level', [['worse', 'critical']], ['worse', 'critical', 'critical']],
    ['that eased', [['eased', 'warning']], ['eased', 'critical', 'warning']],
    ['that ended', [['recovered', 'critical']], ['left', 'critical', 'ok']],
    [
      'is one line from its first state to its last',
      [
        ['entered', 'warning'],
        ['escalated', 'critical'],
        ['repeat', 'critical'],
      ],
      ['entered', 'ok', 'critical'],
    ],
    [
      'that opened and ended shows how bad it was',
      [
        ['entered', 'warning'],
        ['escalated', 'critical'],
        ['eased', 'warning'],
        ['recovered', 'warning'],
      ],
      ['left', 'ok', 'critical', 'ok'],
    ],
    [
      'that ended and opened again',
      [
        ['recovered', 'warning'],
        ['entered', 'warning'],
      ],
      ['entered', 'warning', 'ok', 'warning'],
    ],
    [
      'that was worse in between has eased',
      [
        ['escalated', 'critical'],
        ['eased', 'warning'],
      ],
      ['eased', 'warning', 'critical', 'warning'],
    ],
    [
      'that was better in between is worse',
      [
        ['eased', 'warning'],
        ['escalated', 'critical'],
      ],
      ['worse', 'critical', 'warning', 'critical'],
    ],
  ])('%s', (_, what, change) => {
    expect(short(did(what))).toEqual([change])
  })

  test('that was only sent again did not change', () => {
    expect(netChanges(did([['repeat', 'critical']]), [])).toEqual([])
  })

  test('has the moment of its last change, how many there were, and its last transition without records', () => {
    const records = { shown: 1, total: 1, items: [{ objectId: 1 }] }
    const [entered, left] = did([
      ['entered', 'warning'],
      ['recovered', 'warning'],
    ])
    const [change] = netChanges([entered, { ...left, records, supersedes: ['a-1'] }] as Alert[], [])
    expect(change).toEqual({
      change: 'left',
      at: iso(1),
      account,
      from: 'ok',
      via: 'warning',
      to: 'ok',
      times: 2,
      alert: left,
    })
  })

  test('of another series, or account, is a change of its own', () => {
    const other = did([['entered', 'warning']], { series: { metric: 'associations.fullest', from: '0-1', to: '0-2' } })
    const others = did([['entered', 'warning']], { account: { hubId: 8, hubDomain: '' } })
    expect(netChanges([...did([['entered', 'warning']]), ...other, ...others], [])).toHaveLength(3)
  })
})

describe('a limit', () => {
  const moved = (before: number, limit: number) =>
    anAlert({
      kind: 'limit-changed',
      series: { metric: 'customProperties.overall' },
      account,
      limit,
      previous: { level: 'ok', limit: before, measuredAt: iso(0) },
    })

  test('that moved is from its first value to its last', () => {
    expect(short([moved(1_000, 1_200), moved(1_200, 800)])).toEqual([['limit', 1_000, 800]])
  })
  test('that moved there and back shows what it was in between', () => {
    expect(short([moved(1_000, 1_200), moved(1_200, 1_000)])).toEqual([['limit', 1_000, 1_200, 1_000]])
  })
})

describe('an account', () => {
  const token = { kind: 'token', rule: 'token', series: undefined } as object

  test.each<[string, Did[], unknown[]]>([
    ['whose token is refused is lost', [['entered', 'critical']], ['lost', 'ok', 'critical']],
    ['whose refresh fails, and is then refused, is lost', [['worse', 'critical']], ['lost', 'critical', 'critical']],
    ['whose tokens work again has recovered', [['recovered', 'critical']], ['recovered', 'critical', 'ok']],
    [
      'that was lost in between has recovered',
      [
        ['entered', 'critical'],
        ['recovered', 'critical'],
      ],
      ['recovered', 'ok', 'critical', 'ok'],
    ],
  ])('%s', (_, what, change) => {
    expect(short(did(what, token))).toEqual([change])
  })

  test('whose refresh fails is not lost yet, and has not recovered', () => {
    const failing = did([['entered', 'critical']], { ...token, cause: 'failing' })
    expect(short(failing)).toEqual([['entered', 'ok', 'critical']])
    const works = did([['recovered', 'critical']], { ...token, cause: 'failing' })
    expect(short(works)).toEqual([['left', 'critical', 'ok']])
  })

  test('whose uninstall is not finished is not lost', () => {
    const alerts = did([['entered', 'warning']], { kind: 'token', rule: 'uninstall' })
    expect(short(alerts)).toEqual([['entered', 'ok', 'warning']])
  })

  test('that was connected again is reconnected, which is why it has recovered', () => {
    const alerts = did([['recovered', 'critical']], token)
    expect(netChanges(alerts, events('reconnected'))).toMatchObject([{ change: 'reconnected', times: 1 }])
    const lost = did(
      [
        ['entered', 'critical'],
        ['recovered', 'critical'],
      ],
      token,
    )
    expect(netChanges(lost, events('reconnected'))).toMatchObject([{ change: 'reconnected', before: 'lost' }])
  })

  test('that came and went is one line with both', () => {
    expect(netChanges([], events('connected', 'uninstalled'))).toEqual([
      {
        change: 'uninstalled',
        at: iso(1),
        account: { hubId: 7, hubDomain: '' },
        before: 'connected',
        times: 2,
      },
    ])
    expect(netChanges([], events('reconnected', 'reconnected'))).toMatchObject([{ change: 'reconnected', times: 2 }])
  })

  test('that was uninstalled takes its alerts along, also where nothing else is known of the uninstall', () => {
    const closed = did([
      ['entered', 'warning'],
      ['uninstalled', 'warning'],
    ])
    expect(netChanges(closed, events('uninstalled'))).toMatchObject([{ change: 'uninstalled', account }])
    expect(netChanges(closed, [])).toEqual([{ change: 'uninstalled', at: iso(1), account, times: 1 }])
  })
})

test('a lost account comes first, one that is gone, new ones; then all accounts, limits by level, limits that moved, what got better', () => {
  const { account: _, ...fleet } = anAlert({ kind: 'fleet', level: 'critical' })
  const of = (hubId: number) => ({ account: { hubId, hubDomain: '' } })
  const alerts = [
    anAlert({ ...of(1), reason: 'recovered', status: 'resolved' }),
    anAlert({ ...of(2), kind: 'limit-changed', limit: 9, previous: { level: 'ok', limit: 5, measuredAt: iso(0) } }),
    anAlert({ ...of(3), kind: 'limit-changed', limit: 5, previous: { level: 'ok', limit: 9, measuredAt: iso(0) } }),
    anAlert({ ...of(4), percent: 90 }),
    anAlert({ ...of(5), level: 'critical', reason: 'escalated', percent: 96 }),
    anAlert({ ...of(6), kind: 'token', level: 'critical', rule: 'token' }),
    fleet,
  ]
  const came = (hubId: number, event: AccountEvent['event'], minute: number) => ({ hubId, event, at: AT + minute })
  const changes = netChanges(alerts, [came(8, 'connected', 1), came(9, 'connected', 2), came(10, 'uninstalled', 0)])
  expect(worstFirst(changes).map(({ account }) => account?.hubId)).toEqual([6, 10, 9, 8, undefined, 5, 4, 3, 2, 1])
})

test('whatever an alert does, the change leads from the state before it to the state after it, and is never two', () => {
  const way = fc.array(fc.constantFrom('ok', 'warning', 'critical'), { minLength: 2, maxLength: 8 })
  fc.assert(
    fc.property(way, (states) => {
      const steps = states.filter((state, n) => n === 0 || state !== states[n - 1])
      const what = steps.slice(1).map((to, n): Did => {
        const from = steps[n]
        if (to === 'ok') return ['recovered', from as 'warning']
        return [from === 'ok' ? 'entered' : to === 'critical' ? 'escalated' : 'eased', to as 'warning']
      })
      const changes = netChanges(did(what), [])
      expect(changes).toHaveLength(steps.length > 1 ? 1 : 0)
      for (const { from, to } of changes) expect([from, to]).toEqual([steps[0], steps.at(-1)])
    }),
  )
})
