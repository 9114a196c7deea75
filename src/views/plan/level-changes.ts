import type { AccountName } from '../../accounts/match-account.ts'
import { decodeState } from '../../alerts/alert-state.ts'
import type { ForecastSeries } from '../../alerts/evaluation/conditions.ts'
import { type Evaluation, evaluate } from '../../alerts/evaluation/evaluate.ts'
import { type Level, levelOf, type Rule, ruleFor } from '../../alerts/evaluation/rules.ts'
import type { CurrentSeries } from '../account-view.ts'
import type { PlannedAccountShape } from '../shapes/thresholds.ts'
import type { RuleSet } from '../view-deps.ts'

/** A series that would stand at another level by the new rules. */
export type LevelChange = PlannedAccountShape['changes'][number]
/** Change of a series at its next poll. */
export type PlannedMove = LevelChange['move']
type PlannedLevel = LevelChange['after']['level']

export interface AccountChanges {
  changes: LevelChange[]
  /** Series that a rule watches: now, and by the new rules. */
  watched: { before: number; after: number }
}

/** The stored values that decide an account's alerts. */
export interface StoredSeries extends AccountName {
  series: readonly CurrentSeries[]
  /** States of its alerts as stored, by series. */
  states: Readonly<Record<string, string>>
}

/**
 * Series that would change their level if the next poll read the same numbers, judged by the new rules. Old and new
 * rules begin with the stored states, so a level in force is left no sooner than it would be; and both ignore `for`:
 * the level is the one after enough polls agree.
 */
export function levelChanges(old: RuleSet, planned: RuleSet, account: StoredSeries, now: number): AccountChanges {
  const found: AccountChanges = { changes: [], watched: { before: 0, after: 0 } }
  for (const { shown, judged } of account.series) {
    const before = levelBy(old, account, judged, now)
    const after = levelBy(planned, account, judged, now)
    if (before.level !== 'off') found.watched.before++
    if (after.level !== 'off') found.watched.after++
    const move = moveBetween(before.level, after.level)
    if (move !== undefined) found.changes.push({ ...shown, move, before: withoutThreshold(before), after })
  }
  return found
}

function levelBy(rules: RuleSet, account: StoredSeries, series: ForecastSeries, now: number): LevelChange['after'] {
  const rule = ruleFor(rules.rules, account, series)
  const stored = account.states[series.id]
  const before = decodeState(stored)
  const evaluation = evaluate({ rule, before, series, now, settings: { ...rules, for: 1 } })
  const level = plannedLevel(evaluation)
  if (rule === undefined || level === 'off') return { level, rule: null, threshold: null }
  return { level, rule: rule.name, threshold: conditionsOf(rule, level, series) }
}

/** A series that can't be judged keeps its level. */
function plannedLevel({ verdict, state }: Evaluation): PlannedLevel {
  if (verdict === 'unknown' && state !== undefined && state.level !== 'ok') return state.level
  return verdict === 'pending' ? 'ok' : verdict
}

function conditionsOf(rule: Rule, level: PlannedLevel, series: ForecastSeries): Level | null {
  return level === 'warning' || level === 'critical' ? (levelOf(rule, level, series) ?? null) : null
}

function withoutThreshold({ level, rule }: LevelChange['after']): LevelChange['before'] {
  return { level, rule }
}

const RANK: Readonly<Record<PlannedLevel, number>> = { off: 0, ok: 0, unknown: 0, warning: 1, critical: 2 }

function moveBetween(before: PlannedLevel, after: PlannedLevel): PlannedMove | undefined {
  if (RANK[before] === RANK[after]) return undefined
  if (after === 'critical' || after === 'warning') return RANK[after] > RANK[before] ? after : 'eases'
  if (after === 'off') return 'unwatched'
  return after === 'unknown' ? 'unknown' : 'recovers'
}
