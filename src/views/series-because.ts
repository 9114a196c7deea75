import type { AccountName } from '../accounts/match-account.ts'
import type { SeriesState } from '../alerts/alert-state.ts'
import { type Evaluation, type EvaluationSettings, evaluate } from '../alerts/evaluation/evaluate.ts'
import { type Rule, ruleFor } from '../alerts/evaluation/rules.ts'
import type { CurrentSeries } from './account-view.ts'

export interface Judging extends EvaluationSettings {
  rules: readonly Rule[]
}

/** How a series stands, and why, as of the poll that was counted last: it must not count once more. */
export function standingOfSeries(
  settings: Judging,
  account: AccountName,
  series: CurrentSeries,
  state: SeriesState | undefined,
  now: number,
): Evaluation {
  return evaluate(
    ruleFor(settings.rules, account, series),
    uncounted(state),
    series,
    series.measuredAt ?? now,
    settings,
  )
}

function uncounted(state: SeriesState | undefined): SeriesState | undefined {
  if (state?.pending == null) return state
  const { warning, critical, ...pending } = state.pending
  return { ...state, pending: { ...pending, warning: Math.max(0, warning - 1), critical: Math.max(0, critical - 1) } }
}
