import type { AlertLevel, AlertReason } from '../alert.ts'
import { toldState, transitionId } from '../alert-state.ts'
import type { SeriesState } from '../series-state.ts'
import type { Because } from './because.ts'
import { type EvaluationSettings, evaluate, type ForeseenSeries, remembered } from './evaluate.ts'
import { type Rule, type RuleSubject, ruleFor } from './rules.ts'

export interface ReplaySettings extends EvaluationSettings {
  rules: readonly Rule[]
}

export interface ReplayedSeries extends ForeseenSeries {
  /** Nobody could have known before how it stands. */
  isFirstReading?: boolean
}

/** What one poll read. What it did not read says nothing. */
export interface ReplayedPoll {
  /** ms */
  at: number
  series: readonly ReplayedSeries[]
  /** Ids of series that the reports no longer have. */
  gone?: readonly string[]
}

/** What would have been told. */
export interface ReplayedTransition {
  id: string
  at: number
  /** The series' id. */
  series: string
  rule: string
  level: AlertLevel
  reason: AlertReason
  because: Because
  beganWithFirstReading: boolean
}

/**
 * Polls in their order, decided again from the beginning: the same transitions, under the same ids, as they brought when
 * they were made - or what they would bring by other rules. `states` is what was remembered before the first of them.
 */
export function* replay(
  settings: ReplaySettings,
  account: RuleSubject,
  polls: Iterable<ReplayedPoll>,
  states: ReadonlyMap<string, SeriesState> = new Map(),
): Generator<ReplayedTransition> {
  const standing = new Map(states)
  for (const { at, series, gone = [] } of polls) {
    for (const one of series) {
      const rule = ruleFor(settings.rules, account, one)
      const evaluation = evaluate(rule, standing.get(one.id), one, at, settings, one.isFirstReading)
      const { state, event, because } = evaluation
      if (event !== undefined && state !== undefined) {
        const { level, reason, beganWithFirstReading } = event
        const id = transitionId(account.hubId, one.id, state)
        yield { id, at, series: one.id, rule: state.rule, level, reason, because, beganWithFirstReading }
      }
      keep(standing, one.id, remembered(state))
    }
    for (const id of gone) {
      const state = standing.get(id)
      standing.delete(id)
      if (state !== undefined && state.level !== 'ok') yield closed(account, id, state, state.level, at)
    }
  }
}

function keep(standing: Map<string, SeriesState>, id: string, state: SeriesState | undefined): void {
  if (state === undefined) standing.delete(id)
  else standing.set(id, state)
}

function closed(
  { hubId }: RuleSubject,
  series: string,
  state: SeriesState,
  level: AlertLevel,
  at: number,
): ReplayedTransition {
  const id = transitionId(hubId, series, toldState(state, at))
  const because = { is: 'gone' as const }
  return { id, at, series, rule: state.rule, level, reason: 'recovered', because, beganWithFirstReading: false }
}
