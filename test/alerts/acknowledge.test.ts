import { describe, expect, test } from 'vitest'
import { acknowledgeState, findAlert, storeAcknowledgement } from '../../src/alerts/acknowledge.ts'
import type { AlertLevel } from '../../src/alerts/alert.ts'
import { alertId, decodeState, encodeState, openedState, type SeriesState } from '../../src/alerts/alert-state.ts'
import { remembered } from '../../src/alerts/evaluation/evaluate.ts'
import { redisOfFile } from '../support/of-file.ts'
import { aRule, aSeries, DAY, HOUR, judge, NOW, open, PERCENT } from './evaluation/a-series.ts'

const SETTINGS = { worseAfterMs: 300_000 }
const UNTIL = NOW + 7 * DAY

const of1000 = (usage: number) => aSeries(usage, 1_000)

function openAt(level: AlertLevel, usage: number): SeriesState {
  return open(level, { since: NOW, sentAt: NOW, lastSent: { level, usage, limit: 1_000, at: NOW } })
}

const known = (state: SeriesState, reading?: ReturnType<typeof aSeries>) =>
  acknowledgeState(state, { by: 'ana', comment: 'seen', at: NOW, until: UNTIL }, reading)

/** What readings, each so many ms after the one before, bring one after the other: `-` is no message. */
function walk(
  rule: typeof PERCENT,
  start: SeriesState,
  readings: (readonly [ms: number, ReturnType<typeof aSeries>])[],
) {
  let [before, now]: [SeriesState | undefined, number] = [start, NOW]
  const said = readings.map(([ms, series]) => {
    now += ms
    const { state, event } = judge(series, { rule, before, now, settings: SETTINGS })
    before = remembered(state)
    return event?.reason ?? '-'
  })
  return { said, state: before }
}

const days = (usages: readonly number[], limit: number | null = 1_000) =>
  usages.map((usage) => [DAY, aSeries(usage, limit)] as const)
const minutes = (steps: readonly (readonly [minutes: number, usage: number])[]) =>
  steps.map(([after, usage]) => [after * 60_000, of1000(usage)] as const)

describe('an alert that is acknowledged', () => {
  test('remembers who, why and what there was to see', () => {
    expect(known(openAt('warning', 850)).acknowledged).toEqual({
      at: NOW,
      by: 'ana',
      comment: 'seen',
      until: UNTIL,
      usage: 850,
      percent: 85,
      remaining: 150,
    })
    expect(known(openAt('warning', 850), of1000(860)).acknowledged).toMatchObject({ usage: 860, percent: 86 })
    expect(known({ ...openAt('warning', 850), lastSent: null }).acknowledged).not.toHaveProperty('usage')
    const pending = { ...openAt('warning', 1), level: 'ok' as const }
    expect(known(pending), 'what is not entered yet stays as it is').toEqual(pending)
  })

  test('is kept with its state', () => {
    for (const state of [
      known(openAt('warning', 850)),
      known({ ...openAt('warning', 5), lastSent: null, cause: 'failing' }),
      known({ ...openAt('critical', 850), foreseen: true }, aSeries(12, null)),
      acknowledgeState(openAt('warning', 1), { by: 'a "b" c', at: 1, until: 2 }),
    ]) {
      expect(decodeState(encodeState(state))).toEqual(state)
    }
  })

  const counting = { ...openAt('warning', 7), lastSent: { level: 'warning' as const, usage: 7, at: NOW } }
  const repeats = ['-', '-', '-', '-', '-', '-', 'repeat', 'repeat']
  test.each<[what: string, levels: Partial<typeof PERCENT>, start: SeriesState, usages: number[], said: string[]]>([
    ['as it is', PERCENT, openAt('warning', 850), [850, 899, 820, 899], ['-', '-', '-', '-']],
    ['by five points more', PERCENT, openAt('warning', 850), [890, 900, 901, 901], ['-', 'worse', 'repeat', 'repeat']],
    ['at 33.3 %', { warning: { percent: 10 } }, openAt('warning', 333), [382, 383], ['-', 'worse']],
    ['over the limit', { warning: { percent: 10 } }, openAt('warning', 1_200), [1_249, 1_250], ['-', 'worse']],
    ['what remains is halved', { warning: { remaining: 40 } }, openAt('warning', 970), [984, 985], ['-', 'worse']],
    ['halved, where no level asks that', PERCENT, openAt('critical', 970), [984, 985], ['-', '-']],
    ['its level rises', PERCENT, openAt('warning', 949), [950, 950], ['escalated', 'repeat']],
    ['it eases: it stays known', PERCENT, openAt('critical', 960), [900, 900, 930], ['eased', '-', '-']],
    ['it recovers', PERCENT, openAt('warning', 850), [700, 850, 850], ['recovered', 'entered', 'repeat']],
    ['its time is over', PERCENT, openAt('warning', 850), Array(8).fill(850), repeats],
  ])('is sent, or not: %s', (_, levels, start, usages, said) => {
    expect(walk(aRule(levels), known(start), days(usages)).said).toEqual(said)
  })

  test('of a count is sent again by any one more', () => {
    const { said } = walk(aRule({ warning: { count: 5 } }), known(counting), days([7, 5, 7, 8, 8], null))
    expect(said).toEqual(['-', '-', '-', 'worse', 'repeat'])
  })

  test('says what it was when it got worse, and is then no longer acknowledged', () => {
    const before = known(openAt('warning', 850))
    const found = judge(of1000(900), { before, now: NOW + 300_000, settings: SETTINGS })
    expect(found.because).toMatchObject({ is: 'holds', worseThan: { usage: 850, percent: 85, remaining: 150 } })
    expect(found.state).not.toHaveProperty('acknowledged')
  })
})

describe('what gets worse at its level', () => {
  const RULE = aRule({ warning: { percent: 80, remaining: 150 }, critical: { percent: 99 } })

  test('is sent whether it was acknowledged or not, once `group.interval` is over since the last message', () => {
    const steps = [1, 3, 2, 1, 9].map((after) => [after, 900] as const)
    for (const start of [openAt('warning', 850), known(openAt('warning', 850))]) {
      expect(walk(RULE, start, minutes(steps)).said).toEqual(['-', '-', 'worse', '-', '-'])
      const off = { before: start, now: NOW + HOUR, rule: RULE, settings: { worseAfterMs: undefined } }
      expect(judge(of1000(985), off).event).toBeUndefined()
    }
  })

  test('is measured by what was acknowledged too', () => {
    const steps = minutes([900, 940, 955].map((usage) => [60, usage] as const))
    expect(walk(RULE, openAt('warning', 850), steps).said).toEqual(['worse', '-', 'worse'])
    expect(walk(RULE, known(openAt('warning', 850), of1000(910)), steps).said).toEqual(['-', '-', 'worse'])
    const lower = minutes([885, 900].map((usage) => [60, usage] as const))
    expect(walk(RULE, known(openAt('warning', 850), of1000(830)), lower).said).toEqual(['-', 'worse'])
  })

  test('of records near their limit is the one that reaches it, not one more that is near', () => {
    const before = open('warning', { sentAt: NOW, lastSent: { level: 'warning', usage: 7, at: NOW } })
    const more = { before, rule: aRule({ warning: { count: 5 } }), now: NOW + HOUR, settings: SETTINGS }
    const said = (metric: 'associations.atLimit' | 'associations.nearLimit') =>
      judge({ ...aSeries(8, null), id: 'x', metric }, more).event?.reason
    expect(said('associations.atLimit')).toBe('worse')
    expect(said('associations.nearLimit')).toBeUndefined()
  })
})

describe('the alert that is meant', () => {
  const redis = redisOfFile()
  /** More accounts than are read at once, each with one alert. */
  const ACCOUNTS = 1_201

  /** Accounts with an alert each, opened at a moment. */
  async function alerting(accounts: readonly (readonly [hubId: number, since: number])[]) {
    const keys = redis.freshKeys()
    const states = accounts.map(
      ([hubId, since]) => [hubId, encodeState(openedState('warning', 'token', since))] as const,
    )
    await Promise.all(states.map(([hubId, state]) => redis.store.hset(keys.account(hubId).alerts, 'token', state)))
    return { store: redis.store, keys, registry: { alerting: async () => accounts.map(([hubId]) => hubId) } }
  }
  const fleet = () => alerting(Array.from({ length: ACCOUNTS }, (_, n) => [n + 1, 5] as const))
  const idOf = (hubId: number) => alertId(hubId, 'token', 5)

  test('is found by its id, with the number of a transition or without; what is closed, or no id at all, is not', async () => {
    const deps = await fleet()
    for (const hubId of [1, 600, ACCOUNTS]) {
      for (const text of [idOf(hubId), `${idOf(hubId)}-2`, ` ${idOf(hubId).toUpperCase()} `]) {
        expect(await findAlert(deps, text)).toMatchObject({ is: 'found', alert: { hubId, field: 'token' } })
      }
    }
    expect(await findAlert(deps, alertId(1, 'token', 6))).toEqual({ is: 'unknown' })
    for (const text of ['', 'abcde', 'nothing-2', `${idOf(1)}00`, `${idOf(1)}-x`]) {
      expect(await findAlert(deps, text)).toEqual({ is: 'no-id' })
    }
  })

  test('is one of several where its id begins like others: all are named', async () => {
    const [one, other] = sharedBeginning()
    const deps = await alerting([one, other].map(({ hubId, since }) => [hubId, since] as const))
    const ids = [one.id, other.id].sort()
    expect(await findAlert(deps, one.id.slice(0, 6))).toEqual({ is: 'several', ids })
    expect(await findAlert(deps, one.id)).toMatchObject({ alert: { id: one.id } })
  })

  /** Alerts of two accounts whose ids begin alike: among some thousands there are such. */
  function sharedBeginning() {
    const ofFirst = new Map<string, { hubId: number; since: number; id: string }>()
    for (let since = 1; ; since++) {
      const [one, other] = [1, 2].map((hubId) => ({ hubId, since, id: alertId(hubId, 'token', since) }))
      if (one === undefined || other === undefined) throw new Error('two accounts')
      ofFirst.set(one.id.slice(0, 6), one)
      const before = ofFirst.get(other.id.slice(0, 6))
      if (before !== undefined) return [before, other] as const
    }
  }

  test('is acknowledged also where others change it at the same time, and nothing of theirs is lost', async () => {
    const { store, keys } = await fleet()
    const { alerts } = keys.account(7)
    const seen = { id: idOf(7), hubId: 7, level: 'warning' as const }
    const [outcome] = await Promise.all([
      storeAcknowledgement({ store, keys, acknowledgeForMs: 1_000 }, seen, { by: 'ann' }, 100),
      ...[2, 3, 4, 5].map((transitions) =>
        store.hset(alerts, 'token', encodeState({ ...openedState('warning', 'token', 5), transitions })),
      ),
    ])
    expect(outcome).toMatchObject({ is: 'acknowledged', acknowledged: { by: 'ann', at: 100, until: 1_100 } })
    const state = decodeState((await store.hget(alerts, 'token')) ?? '')
    expect(state).toMatchObject({ transitions: 5, acknowledged: { by: 'ann' } })
  })
})
