import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AlertLevel } from '../../../src/alerts/alert.ts'
import type { SeriesState } from '../../../src/alerts/alert-state.ts'
import {
  type Evaluation,
  type EvaluationSettings,
  evaluate,
  remembered,
} from '../../../src/alerts/evaluation/evaluate.ts'
import type { Rule } from '../../../src/alerts/evaluation/rules.ts'
import type { Series } from '../../../src/limits/series.ts'

const NOW = 1_763_719_200_000
const DAY = 86_400_000
const SETTINGS: EvaluationSettings = { recoverBelow: 3, for: 0, repeatEveryMs: DAY }
const RULE: Rule = { name: 'r', on: '*', warning: { percent: 80 }, critical: { percent: 95 } }

function series(usage: number, limit: number | null = 100): Series {
  return {
    id: 'overall',
    metric: 'customProperties.overall',
    usage,
    limit,
    percent: limit === null ? null : (usage * 100) / limit,
  }
}

function open(level: AlertLevel, more: Partial<SeriesState> = {}): SeriesState {
  return {
    level,
    rule: 'r',
    since: NOW - 5_000,
    transitions: 1,
    toldAt: NOW - 1_000,
    said: { level, usage: 90, at: NOW - 1_000 },
    pending: null,
    ...more,
  }
}

const brief = ({ stands, event }: Evaluation) => [stands, event?.reason, event?.level, event?.before]

describe('a percent level, with warning from 80 and critical from 95, left 3 points inside', () => {
  type Before = 'ok' | AlertLevel
  const TABLE: [before: Before, percent: number, ...outcome: (string | undefined)[]][] = [
    ['ok', 0, 'ok'],
    ['ok', 79.99, 'ok'],
    ['ok', 80, 'warning', 'entered', 'warning', 'ok'],
    ['ok', 94.99, 'warning', 'entered', 'warning', 'ok'],
    ['ok', 95, 'critical', 'entered', 'critical', 'ok'],
    ['ok', 140, 'critical', 'entered', 'critical', 'ok'],
    ['warning', 140, 'critical', 'escalated', 'critical', 'warning'],
    ['warning', 95, 'critical', 'escalated', 'critical', 'warning'],
    ['warning', 94.99, 'warning'],
    ['warning', 80, 'warning'],
    ['warning', 77, 'warning'],
    ['warning', 76.99, 'ok', 'recovered', 'warning', 'warning'],
    ['warning', 0, 'ok', 'recovered', 'warning', 'warning'],
    ['critical', 100, 'critical'],
    ['critical', 92, 'critical'],
    ['critical', 91.99, 'warning', 'eased', 'warning', 'critical'],
    ['critical', 77, 'warning', 'eased', 'warning', 'critical'],
    ['critical', 76.99, 'ok', 'recovered', 'critical', 'critical'],
  ]
  test.each(TABLE)('%s at %d %%: %s %s', (before, percent, ...outcome) => {
    const state = before === 'ok' ? undefined : open(before)
    const found = brief(evaluate(RULE, state, series(percent), NOW, SETTINGS))
    expect(found).toEqual([...outcome, undefined, undefined, undefined].slice(0, 4))
  })

  test.each([['ok'], ['warning'], ['critical']] as const)(
    '%s, when the limit is gone, is unknown: nothing is said and nothing forgotten',
    (before) => {
      const state = before === 'ok' ? undefined : open(before)
      const because = { is: 'unknown', missing: 'limit', ...(before === 'ok' ? {} : { stays: before }) }
      expect(evaluate(RULE, state, series(500, null), NOW, SETTINGS)).toEqual({ state, stands: 'unknown', because })
    },
  )

  test.each([
    ['is off', { ...RULE, off: true }],
    ['is gone', undefined],
  ])('a rule that %s closes what is open, once', (_, rule) => {
    expect(brief(evaluate(rule, open('critical'), series(99), NOW, SETTINGS))).toEqual([
      'off',
      'recovered',
      'critical',
      'critical',
    ])
    const because = rule === undefined ? { is: 'no-rule' } : { is: 'off', rule: 'r' }
    expect(evaluate(rule, undefined, series(99), NOW, SETTINGS)).toEqual({ state: undefined, stands: 'off', because })
    const pending = open('warning', {
      level: 'ok',
      said: null,
      pending: { warning: 1, critical: 1, sinceFirstReading: false },
    })
    expect(evaluate(rule, pending, series(99), NOW, SETTINGS)).toEqual({ state: undefined, stands: 'off', because })
  })
})

describe('levels of other conditions', () => {
  const stands = (rule: Partial<Rule>, before: SeriesState | undefined, one: Series, settings = SETTINGS) =>
    evaluate({ name: 'r', on: '*', ...rule }, before, one, NOW, settings).stands

  test.each([
    ['a small count', { warning: { count: 4 } }, 4, 4, 3],
    ['a count from 5 on', { warning: { count: 5 } }, 5, 4, 3],
    ['remaining, by 10 %', { warning: { remaining: 20 } }, 80, 78, 77],
    ['remaining, by 10 % rounded down', { warning: { remaining: 29 } }, 71, 69, 68],
    ['remaining, by at least 1', { warning: { remaining: 0 } }, 100, 99, 98],
  ] as const)(
    'of %s are entered at the number itself, and left by a margin of their own',
    (_, rule, at, still, left) => {
      expect(stands(rule, undefined, series(at))).toBe('warning')
      expect(stands(rule, undefined, series(at - 1))).toBe('ok')
      expect(stands(rule, open('warning'), series(still))).toBe('warning')
      expect(stands(rule, open('warning'), series(left))).toBe('ok')
    },
  )

  test.each([
    ['remaining', { warning: { remaining: 20 } }, [19, 21, 19, 21], (left: number) => series(1_000 - left, 1_000)],
    ['count', { warning: { count: 5 } }, [5, 4, 5, 4], (count: number) => series(count, null)],
    ['daysLeft', { warning: { daysLeft: 7 } }, [7, 7.5, 6.9, 8], (days: number) => ({ ...series(50), daysLeft: days })],
  ] as const)('a number that swings around a threshold of %s is one alert', (_, rule, swings, read) => {
    let state: SeriesState | undefined
    const events = swings.flatMap((number, n) => {
      const decided = evaluate({ name: 'r', on: '*', ...rule }, state, read(number), NOW + n, SETTINGS)
      state = remembered(decided.state)
      return decided.event === undefined ? [] : [decided.event.reason]
    })
    expect(events).toEqual(['entered'])
  })

  test.each([
    ['count', { warning: { count: 10 } }, 10, 6, 5],
    ['remaining', { warning: { remaining: 20 } }, 80, 76, 75],
    ['percent', { warning: { percent: 80 } }, 80, 76, 75],
  ] as const)('of %s with a margin of the rule’s own are left by that, in its unit', (_, rule, at, still, left) => {
    const own = { ...rule, recoverBelow: 4 }
    expect(stands(own, undefined, series(at))).toBe('warning')
    expect(stands(own, undefined, series(at - 1))).toBe('ok')
    expect(stands(own, open('warning'), series(still))).toBe('warning')
    expect(stands(own, open('warning'), series(left))).toBe('ok')
  })

  test('a margin of 0 leaves at the number itself', () => {
    expect(stands({ warning: { percent: 80 }, recoverBelow: 0 }, open('warning'), series(79.9))).toBe('ok')
  })

  test('several in one level mean any of them', () => {
    const rule = { warning: { percent: 80, remaining: 5, count: 1_000 } }
    expect(stands(rule, undefined, series(799, 1_000))).toBe('ok')
    expect(stands(rule, undefined, series(800, 1_000))).toBe('warning')
    expect(stands(rule, undefined, series(5, 10))).toBe('warning')
    expect(stands(rule, undefined, series(1_000, 100_000))).toBe('warning')
  })

  test('one that holds counts although another can’t be known', () => {
    const rule = { warning: { percent: 80, count: 10 } }
    expect(stands(rule, undefined, series(10, null))).toBe('warning')
    expect(stands(rule, undefined, series(9, null))).toBe('unknown')
    expect(stands({ warning: { count: 10 } }, undefined, series(9, null))).toBe('ok')
  })

  test('a rule may have only one level', () => {
    expect(stands({ critical: { count: 5 } }, undefined, series(5))).toBe('critical')
    expect(stands({ critical: { count: 5 } }, open('critical'), series(3))).toBe('ok')
    expect(stands({}, undefined, series(99))).toBe('ok')
    expect(stands({}, open('warning'), series(99))).toBe('ok')
  })

  test('a critical level that can’t be known any more is not eased', () => {
    const rule = { critical: { percent: 95 }, warning: { count: 10 } }
    expect(evaluate({ name: 'r', on: '*', ...rule }, open('critical'), series(99, null), NOW, SETTINGS)).toEqual({
      state: open('critical'),
      stands: 'unknown',
      because: { is: 'unknown', missing: 'limit', stays: 'critical' },
    })
  })
})

describe('a level of the days that are left', () => {
  const rule: Rule = { name: 'r', on: '*', warning: { percent: 80, daysLeft: 14 }, critical: { daysLeft: 7 } }
  const foreseen = (daysLeft: number | null | undefined, usage = 50) => ({ ...series(usage), daysLeft })
  const decide = (before: SeriesState | undefined, one: ReturnType<typeof foreseen>, of = rule) =>
    evaluate(of, before, one, NOW, SETTINGS)

  test.each([
    [15, 'ok'],
    [14, 'warning'],
    [7.01, 'warning'],
    [7, 'critical'],
    [0, 'critical'],
    [null, 'ok'],
    [undefined, 'ok'],
  ] as const)('with %d days left is %s', (days, stands) => {
    expect(decide(undefined, foreseen(days)).stands).toBe(stands)
  })

  test('is left by a day more', () => {
    expect(brief(decide(open('critical'), foreseen(8)))).toEqual(['critical', undefined, undefined, undefined])
    expect(brief(decide(open('critical'), foreseen(8.1)))).toEqual(['warning', 'eased', 'warning', 'critical'])
    expect(brief(decide(open('warning'), foreseen(15.1)))).toEqual(['ok', 'recovered', 'warning', 'warning'])
  })

  test('with a margin of the rule’s own is left by that many days more', () => {
    const own: Rule = { name: 'r', on: '*', critical: { daysLeft: 7 }, recoverBelow: 3 }
    expect(decide(undefined, foreseen(8), own).stands).toBe('ok')
    expect(decide(open('critical'), foreseen(10), own).stands).toBe('critical')
    expect(decide(open('critical'), foreseen(10.1), own).stands).toBe('ok')
  })

  test('leaves the decision to the other conditions where nothing is foretold', () => {
    for (const days of [undefined, null]) {
      expect(decide(undefined, foreseen(days, 80)).stands).toBe('warning')
      expect(decide(undefined, foreseen(days, 79)).stands).toBe('ok')
      expect(decide(open('warning'), foreseen(days, 76)).stands).toBe('ok')
    }
  })

  test('is left when growth has ended, but not because nobody knows the pace for now', () => {
    const { state } = decide(undefined, foreseen(5))
    expect(state).toMatchObject({ level: 'critical', foreseen: true })
    expect(brief(decide(state, foreseen(null)))).toEqual(['ok', 'recovered', 'critical', 'critical'])
    const unknown = decide(state, foreseen(undefined))
    const because = { is: 'unknown', missing: 'forecast', stays: 'critical' }
    expect(unknown).toEqual({ state, stands: 'unknown', because })
    expect(brief(decide(unknown.state, foreseen(5)))).toEqual(['critical', undefined, undefined, undefined])
    expect(brief(decide(unknown.state, foreseen(null)))).toEqual(['ok', 'recovered', 'critical', 'critical'])
  })

  test('gets worse by what is known, while the pace is not', () => {
    const of: Rule = { name: 'r', on: '*', warning: { daysLeft: 14 }, critical: { percent: 95 } }
    const { state } = decide(undefined, foreseen(10), of)
    expect(brief(decide(state, foreseen(undefined, 96), of))).toEqual(['critical', 'escalated', 'critical', 'warning'])
  })

  test('that usage holds as well is left with the usage', () => {
    const { state } = decide(undefined, foreseen(10, 85))
    expect(state).not.toHaveProperty('foreseen')
    expect(decide(state, foreseen(undefined, 50)).stands).toBe('ok')
  })

  test('that usage held first, and only the pace holds now, waits for the next forecast too', () => {
    const entered = decide(undefined, foreseen(10, 85)).state
    const held = decide(entered, foreseen(10, 50))
    expect(held).toMatchObject({ stands: 'warning', state: { foreseen: true } })
    expect(decide(held.state, foreseen(undefined, 50)).stands).toBe('unknown')
  })

  test('that was entered at the limit itself is left once there is room, whatever is known of the pace', () => {
    const { state } = decide(undefined, foreseen(0, 100), { name: 'r', on: '*', critical: { daysLeft: 7 } })
    expect(state).not.toHaveProperty('foreseen')
    const room = decide(state, foreseen(undefined, 50), { name: 'r', on: '*', critical: { daysLeft: 7 } })
    expect(room.stands).toBe('ok')
  })

  test('must be confirmed like any other', () => {
    const first = evaluate(rule, undefined, foreseen(5), NOW, { ...SETTINGS, for: 2 })
    expect(first.stands).toBe('pending')
    expect(evaluate(rule, first.state, foreseen(5), NOW, { ...SETTINGS, for: 2 }).stands).toBe('critical')
    expect(evaluate(rule, first.state, foreseen(undefined), NOW, { ...SETTINGS, for: 2 }).stands).toBe('ok')
  })
})

describe('a level that must be confirmed by several polls', () => {
  /** What each poll in a row says. */
  function polls(needed: number, percents: (number | null)[], start?: SeriesState) {
    let state = start
    return percents.map((percent, n) => {
      const one = percent === null ? series(1, null) : series(percent)
      const evaluation = evaluate(RULE, state, one, NOW + n, { ...SETTINGS, for: needed })
      state = evaluation.state?.level === 'ok' && evaluation.state.pending === null ? undefined : evaluation.state
      return `${evaluation.stands}${evaluation.event === undefined ? '' : ` ${evaluation.event.reason}`}`
    })
  }

  test.each([0, 1])('is entered at once where %i is asked for', (needed) => {
    expect(polls(needed, [85, 96])).toEqual(['warning entered', 'critical escalated'])
  })

  test('is pending until the third poll in a row finds it', () => {
    expect(polls(3, [85, 85, 85, 85])).toEqual(['pending', 'pending', 'warning entered', 'warning'])
    expect(polls(3, [96, 96, 96])).toEqual(['pending', 'pending', 'critical entered'])
  })

  test('starts afresh after a poll that did not find it, or could not tell', () => {
    expect(polls(3, [85, 85, 10, 85, 85, 85])).toEqual([
      'pending',
      'pending',
      'ok',
      'pending',
      'pending',
      'warning entered',
    ])
    expect(polls(2, [85, null, 85, 85])).toEqual(['pending', 'unknown', 'pending', 'warning entered'])
  })

  test('is entered as warning when each poll found a level but not each found critical', () => {
    expect(polls(3, [85, 96, 96, 96])).toEqual(['pending', 'pending', 'warning entered', 'critical escalated'])
    expect(polls(3, [96, 85, 96])).toEqual(['pending', 'pending', 'warning entered'])
  })

  test('gets worse only when confirmed as often', () => {
    expect(polls(3, [96, 96, 96], open('warning'))).toEqual(['warning', 'warning', 'critical escalated'])
    expect(polls(3, [96, 90, 96, 96], open('warning'))).toEqual(['warning', 'warning', 'warning', 'warning'])
  })

  test('is left, and gets better, at once', () => {
    expect(polls(3, [50], open('warning'))).toEqual(['ok recovered'])
    expect(polls(3, [85], open('critical'))).toEqual(['warning eased'])
  })

  test('opens when it is entered, not when it was first seen', () => {
    const pending = evaluate(RULE, undefined, series(85), NOW, { ...SETTINGS, for: 2 })
    const entered = evaluate(RULE, pending.state, series(85), NOW + 900, { ...SETTINGS, for: 2 })
    expect(entered.state).toEqual({
      level: 'warning',
      rule: 'r',
      since: NOW + 900,
      transitions: 1,
      toldAt: NOW + 900,
      said: { level: 'warning', usage: 85, limit: 100, at: NOW + 900 },
      pending: null,
    })
  })
})

describe('what began with the first reading', () => {
  /** Of polls in a row, the first of which is the first reading: the event that each brought, and how it began. */
  function began(needed: number, percents: number[]) {
    let state: SeriesState | undefined
    return percents.map((percent, n) => {
      const evaluation = evaluate(RULE, state, series(percent), NOW + n, { ...SETTINGS, for: needed }, n === 0)
      state = evaluation.state?.level === 'ok' && evaluation.state.pending === null ? undefined : evaluation.state
      return evaluation.event === undefined
        ? undefined
        : [evaluation.event.reason, evaluation.event.beganWithFirstReading]
    })
  }

  test('is remembered until it is entered', () => {
    expect(began(0, [85])).toEqual([['entered', true]])
    expect(began(3, [96, 96, 96])).toEqual([undefined, undefined, ['entered', true]])
  })

  test('also by a critical level that was pending as long as the warning', () => {
    expect(began(3, [85, 96, 96, 96])).toEqual([undefined, undefined, ['entered', true], ['escalated', true]])
  })

  test('is forgotten with the count, and does not mark what came later', () => {
    expect(began(2, [85, 10, 85, 85])).toEqual([undefined, undefined, undefined, ['entered', false]])
    expect(began(0, [85, 96])).toEqual([
      ['entered', true],
      ['escalated', false],
    ])
    expect(began(0, [85, 10])).toEqual([
      ['entered', true],
      ['recovered', false],
    ])
  })
})

describe('an alert that stays', () => {
  test('is told again when it is time, and not before', () => {
    const stay = (ago: number) => evaluate(RULE, open('warning', { toldAt: NOW - ago }), series(85), NOW, SETTINGS)
    expect(stay(DAY - 1).event).toBeUndefined()
    expect(stay(DAY).event).toEqual({
      ...{ reason: 'repeat', level: 'warning', before: 'warning' },
      beganWithFirstReading: false,
    })
    expect(stay(DAY).state).toMatchObject({ transitions: 2, toldAt: NOW, since: NOW - 5_000 })
  })

  test('within its margin is told again too', () => {
    const state = open('critical', { toldAt: NOW - DAY })
    expect(brief(evaluate(RULE, state, series(93), NOW, SETTINGS))).toEqual([
      'critical',
      'repeat',
      'critical',
      'critical',
    ])
  })

  test('keeps when it opened, through escalating, easing and repeating', () => {
    let state: SeriesState | undefined = open('warning')
    for (const percent of [96, 85, 99]) state = evaluate(RULE, state, series(percent), NOW, SETTINGS).state
    expect(state).toMatchObject({ since: NOW - 5_000, transitions: 4, level: 'critical' })
  })
})

describe('whatever is read, poll after poll', () => {
  const RANK = { ok: 0, warning: 1, critical: 2 }
  const reading = fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: 700, max: 1_010 }).map((tenths) => tenths / 10) },
    { weight: 1, arbitrary: fc.constant(null) },
  )
  const run = fc.record({
    polls: fc.array(fc.record({ reading, passes: fc.integer({ min: 1, max: DAY / 2 }) }), { maxLength: 60 }),
    needed: fc.nat(4),
    margin: fc.integer({ min: 0, max: 10 }),
  })

  function walk({ polls, needed, margin }: typeof run extends fc.Arbitrary<infer T> ? T : never) {
    let state: SeriesState | undefined
    let now = NOW
    return polls.map(({ reading: percent, passes }) => {
      now += passes
      const before = state
      const one = percent === null ? series(1, null) : series(percent)
      const {
        event,
        stands,
        state: after,
      } = evaluate(RULE, before, one, now, { ...SETTINGS, for: needed, recoverBelow: margin })
      state = after === undefined || (after.level === 'ok' && after.pending === null) ? undefined : after
      return { before, after: state, event, stands, percent, now }
    })
  }

  test('a level is never entered, changed or left without a message, nor is there a message without that or a repeat', () => {
    fc.assert(
      fc.property(run, (all) => {
        let told: 'ok' | AlertLevel = 'ok'
        let toldAt = 0
        for (const { before, after, event, now } of walk(all)) {
          const was = before?.level ?? 'ok'
          const is = after?.level ?? 'ok'
          expect(told).toBe(was)
          if (event === undefined) {
            expect(is).toBe(was)
            if (before !== undefined && is !== 'ok') expect(after?.transitions).toBe(before.transitions)
            continue
          }
          const expected =
            is === 'ok'
              ? 'recovered'
              : was === 'ok'
                ? 'entered'
                : is === was
                  ? 'repeat'
                  : RANK[is] > RANK[was]
                    ? 'escalated'
                    : 'eased'
          expect(event.reason).toBe(expected)
          expect(event.before).toBe(was)
          if (event.reason === 'repeat') expect(now - toldAt).toBeGreaterThanOrEqual(DAY)
          if (is !== 'ok') expect(after).toMatchObject({ toldAt: now, said: { level: is, at: now } })
          told = is
          toldAt = now
        }
      }),
      { numRuns: 500 },
    )
  })

  test('a level is left only when its margin is behind, and entered only by as many polls in a row as are asked for', () => {
    fc.assert(
      fc.property(run, (all) => {
        const edge = { warning: 80, critical: 95 }
        let above = { warning: 0, critical: 0 }
        for (const { after, event, percent } of walk(all)) {
          above = {
            warning: percent !== null && percent >= 80 ? above.warning + 1 : 0,
            critical: percent !== null && percent >= 95 ? above.critical + 1 : 0,
          }
          if (event === undefined) continue
          expect(percent).not.toBeNull()
          if (event.reason === 'entered' || event.reason === 'escalated') {
            expect(above[event.level]).toBeGreaterThanOrEqual(Math.max(1, all.needed))
          }
          if (event.reason === 'eased') expect(percent).toBeLessThan(edge.critical - all.margin)
          if (event.reason === 'recovered') expect(percent).toBeLessThan(edge.warning - all.margin)
          if (after !== undefined) expect(after.level === 'ok' ? after.pending : after.said).not.toBeNull()
        }
      }),
      { numRuns: 500 },
    )
  })

  test('numbers that move within the margin are told once', () => {
    const near = fc.array(fc.integer({ min: 770, max: 949 }), { minLength: 1, maxLength: 50 })
    fc.assert(
      fc.property(near, (tenths) => {
        const polls = [800, ...tenths].map((one) => ({ reading: one / 10, passes: 60_000 }))
        const events = walk({ polls, needed: 0, margin: 3 }).flatMap(({ event }) =>
          event === undefined ? [] : [event.reason],
        )
        expect(events).toEqual(['entered'])
      }),
    )
  })

  test('a decision changes nothing it was given', () => {
    fc.assert(
      fc.property(fc.constantFrom('warning', 'critical'), reading, (level, percent) => {
        const state = Object.freeze(
          open(level, { pending: Object.freeze({ warning: 0, critical: 1, sinceFirstReading: true }) }),
        )
        const one = Object.freeze(percent === null ? series(1, null) : series(percent))
        expect(evaluate(RULE, state, one, NOW, SETTINGS)).toEqual(evaluate(RULE, state, one, NOW, SETTINGS))
      }),
    )
  })
})
