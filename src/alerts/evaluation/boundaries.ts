import type { Boundaries, Boundary } from '../../limits/polling/plan-poll.ts'
import type { Series } from '../../limits/series.ts'
import type { AlertWrites } from '../../redis/steps.ts'
import type { AlertLevel } from '../alert.ts'
import { decodeState } from '../alert-state.ts'
import { type JudgedCondition, judgeConditions, risesTo } from './conditions.ts'
import type { EvaluationSettings } from './evaluate.ts'
import { levelOf, type Rule, type RuleSubject, ruleFor } from './rules.ts'

type Settings = Pick<EvaluationSettings, 'recoverBelow'> & { rules: readonly Rule[] }

/**
 * Boundaries: the usage at which each series of an account enters and leaves the levels of its rule. A series that no
 * rule watches has none.
 *
 * @param states as stored after the poll, by series
 */
export function boundariesOf(
  settings: Settings,
  account: RuleSubject & { states: Readonly<Record<string, string>> },
  all: readonly Series[],
): Boundaries {
  const boundaries = new Map<string, Boundary[]>()
  for (const series of all) {
    const rule = ruleFor(settings.rules, account, series)
    if (rule === undefined || rule.off === true) continue
    const { level: current = 'ok' } = decodeState(account.states[series.id]) ?? {}
    const found = (['warning', 'critical'] as const).flatMap((level) => {
      const inForce = isInForce(level, current)
      const how = { inForce, isByForecast: false, ownMargin: rule.recoverBelow, percentMargin: settings.recoverBelow }
      const move = inForce ? 'leave' : 'enter'
      const all = judgeConditions(level, levelOf(rule, level, series), series, how).flatMap((condition) =>
        boundaryOf(condition, move, series.limit),
      )
      return firstMet(all).filter((boundary) => move === 'enter' || isMet(boundary, series))
    })
    boundaries.set(series.id, found)
  }
  return boundaries
}

/** An account's states as a poll's writes leave them. */
export function statesAfter(
  states: Readonly<Record<string, string>>,
  { changes }: AlertWrites,
): Readonly<Record<string, string>> {
  if (changes.length === 0) return states
  const after = { ...states }
  for (const [field, , state] of changes) {
    if (state === '') delete after[field]
    else after[field] = state
  }
  return after
}

/** A level in force that is below all of these is held by its forecast: there is nothing near to leave. */
function isMet({ at }: Boundary, { usage }: Series): boolean {
  return usage > at - HAIR
}

/** Usage is whole, and what a share of the limit comes to is not quite exact. */
const HAIR = 1e-6

function isInForce(level: AlertLevel, current: AlertLevel | 'ok'): boolean {
  return current === 'critical' || current === level
}

/** A condition as the usage it is met at; a level that is in force is left that much later than it was entered. */
function boundaryOf(
  { level, asks, threshold, margin }: JudgedCondition,
  move: Boundary['move'],
  limit: number | null,
): Boundary[] {
  const of = risesTo(asks) ? threshold - margin : threshold + margin
  if (asks === 'count') return [{ level, move, asks, of, at: of }]
  if (asks === 'daysLeft' || limit === null) return []
  return [{ level, move, asks, of, at: asks === 'percent' ? (of * limit) / 100 : limit - of }]
}

/** Any condition is enough for a level: it is entered at the first that is met, and left below all of them. */
function firstMet(conditions: readonly Boundary[]): Boundary[] {
  const [first, ...rest] = conditions
  return first === undefined ? [] : [rest.reduce((lowest, one) => (one.at < lowest.at ? one : lowest), first)]
}
