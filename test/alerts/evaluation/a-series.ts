import type { AlertLevel } from '../../../src/alerts/alert.ts'
import type { SeriesState } from '../../../src/alerts/alert-state.ts'
import type { ForecastSeries } from '../../../src/alerts/evaluation/conditions.ts'
import {
  type Evaluation,
  type EvaluationSettings,
  evaluate,
  type SeriesToJudge,
} from '../../../src/alerts/evaluation/evaluate.ts'
import type { Rule } from '../../../src/alerts/evaluation/rules.ts'

export const NOW = 1_763_719_200_000
export const HOUR = 3_600_000
export const DAY = 24 * HOUR
export const SETTINGS: EvaluationSettings = { recoverBelow: 3, for: 0, repeatEveryMs: DAY }

export function aRule(levels: Partial<Rule>): Rule {
  return { name: 'r', on: '*', ...levels }
}

export const PERCENT = aRule({ warning: { percent: 80 }, critical: { percent: 95 } })

export function aSeries(usage: number, limit: number | null = 100, daysLeft?: number | null): ForecastSeries {
  const percent = limit === null ? null : (usage * 100) / limit
  return { id: 'overall', metric: 'customProperties.overall', usage, limit, percent, daysLeft }
}

/** An alert that is open since five seconds, and was sent a second ago. */
export function open(level: AlertLevel, more: Partial<SeriesState> = {}): SeriesState {
  const said = { level, usage: 90, at: NOW - 1_000 }
  return {
    level,
    rule: 'r',
    since: NOW - 5_000,
    transitions: 1,
    sentAt: NOW - 1_000,
    lastSent: said,
    pending: null,
    ...more,
  }
}

/** By the rule of percents, unless another is given. */
export function judge(
  series: ForecastSeries,
  more: Partial<Omit<SeriesToJudge, 'settings'>> & { settings?: Partial<EvaluationSettings> } = {},
): Evaluation {
  const { settings, ...given } = more
  return evaluate({
    rule: PERCENT,
    before: undefined,
    series,
    now: NOW,
    ...given,
    settings: { ...SETTINGS, ...settings },
  })
}
