import type { Config } from '../../config/schema.ts'
import { withTags } from '../accounts/match-account.ts'
import { groupSettings } from '../app/group-settings.ts'
import type { RuleSet } from '../views/plan/rule-set.ts'

/** What a config says about what is told, to whom, in which messages. */
export function ruleSetOf(config: Config): RuleSet {
  const { thresholds, alerts, routes, tags } = config
  return {
    rules: withTags(thresholds, tags),
    recoverBelow: alerts.recoverBelow,
    for: alerts.for,
    repeatEveryMs: alerts.repeatEvery,
    firstRun: alerts.firstRun,
    routes: withTags(routes, tags),
    group: groupSettings(config),
  }
}
