import type { Config } from '../../config/schema.ts'
import { lineOf } from '../../config/thresholds.ts'
import { withTags } from '../accounts/match-account.ts'
import { groupSettings } from './group-settings.ts'

/** The part of a config that decides alerts, receivers and messages: a rule set, as views take one. */
export function ruleSetOf(config: Config) {
  const { thresholds, alerts, routes, tags } = config
  return {
    rules: withTags(thresholds, tags).map((rule, n) => ({ ...rule, line: thresholds[n] && lineOf(thresholds[n]) })),
    recoverBelow: alerts.recoverBelow,
    for: alerts.for,
    repeatEveryMs: alerts.repeatEvery,
    worseAfterMs: alerts.worse === 'on' ? alerts.group.interval : undefined,
    firstRun: alerts.firstRun,
    routes: withTags(routes, tags),
    group: groupSettings(config),
  }
}
