import type { Registry } from '../accounts/registry.ts'
import type { AlertLevel } from '../alerts/alert.ts'
import { decodeState } from '../alerts/alert-state.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { NOBODY } from '../redis/steps.ts'

export interface AlertSurvey {
  counts: Record<AlertLevel, number>
  /** Accounts with an alert open (`NOBODY`: the whole fleet), each with how many of which level. */
  accounts: ({ hubId: number } & Record<AlertLevel, number>)[]
}

export interface SurveyDeps {
  store: Store
  keys: Keys
  registry: Registry
}

/** Accounts read at once: the answers of a fleet that is on fire must not all be in memory together. */
const AT_ONCE = 500

/** Counts what is open over the whole fleet, from the states alone: much cheaper than the alerts with their numbers. */
export async function surveyAlerts({ store, keys, registry }: SurveyDeps): Promise<AlertSurvey> {
  const hubIds = await registry.alerting()
  const survey: AlertSurvey = { counts: { warning: 0, critical: 0 }, accounts: [] }
  for (let from = 0; from < hubIds.length; from += AT_ONCE) {
    const some = hubIds.slice(from, from + AT_ONCE)
    const states = await Promise.all(some.map((hubId) => store.hvals(keys.account(hubId).alerts)))
    for (const [n, hubId] of some.entries()) {
      const { warning, critical } = countLevels(states[n] ?? [])
      survey.counts.warning += warning
      survey.counts.critical += critical
      if (warning + critical > 0) survey.accounts.push({ hubId, warning, critical })
    }
  }
  return survey
}

function countLevels(states: readonly string[]): Record<AlertLevel, number> {
  const levels = states.map((state) => decodeState(state).level)
  return {
    warning: levels.filter((level) => level === 'warning').length,
    critical: levels.filter((level) => level === 'critical').length,
  }
}

/** Up to `count` accounts to look at first: the whole fleet, those with most critical alerts, those with most warnings. */
export function worstAccounts(survey: AlertSurvey, count: number, level?: AlertLevel): number[] {
  const wanted = survey.accounts.filter((account) => level === undefined || account[level] > 0)
  return wanted
    .toSorted((a, b) => fleetFirst(a, b) || b.critical - a.critical || b.warning - a.warning || a.hubId - b.hubId)
    .slice(0, count)
    .map(({ hubId }) => hubId)
}

function fleetFirst(a: { hubId: number }, b: { hubId: number }): number {
  return Number(b.hubId === NOBODY) - Number(a.hubId === NOBODY)
}
