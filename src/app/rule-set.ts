import type { Config } from '../../config/schema.ts'
import { withTags } from '../accounts/match-account.ts'

/** What a config says about what is told, to whom, in which messages. */
export function ruleSetOf({ thresholds, alerts, routes, tags }: Config) {
  const { by, wait: waitMs, interval: intervalMs, max } = alerts.group
  return {
    rules: withTags(thresholds, tags),
    recoverBelow: alerts.recoverBelow,
    for: alerts.for,
    repeatEveryMs: alerts.repeatEvery,
    firstRun: alerts.firstRun,
    routes: withTags(routes, tags),
    group: { by, waitMs, intervalMs, max },
  }
}
