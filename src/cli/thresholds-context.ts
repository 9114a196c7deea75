import type { Zones } from '../limits/history/thin-out.ts'
import type { PlannedAccount, PlanSummary } from '../views/plan/plan-thresholds.ts'

/** What a plan writes: accounts as they are found, and what there is to say of all. */
export interface PlanOutput {
  account(planned: PlannedAccount): void
  end(summary: PlanSummary): void
}

export interface PlanContext {
  at: number
  /** The config in force, and the one that may come. */
  config: string
  file: string
  /** Most rows of the table of changes. */
  max: number
  json: boolean
  /** From when on the history has every change, one an hour, one a day. */
  zones: Zones
  /** Whether a rule of either config asks for daysLeft. */
  asksForecasts: boolean
}
