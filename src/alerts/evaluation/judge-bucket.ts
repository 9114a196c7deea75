import type { MadePoll, PollToJudge } from '../../limits/poll.ts'
import { BUCKET_SERIES, bucketReadings } from '../../limits/reports/api.ts'
import { type Series, seriesId } from '../../limits/series.ts'
import { type AlertWrites, NO_ALERT_WRITES } from '../../redis/steps.ts'
import type { SeriesState } from '../alert-state.ts'
import { type AlertSettings, decideAlerts } from './decide.ts'
import { type Rule, type RuleSubject, ruleFor } from './rules.ts'
import { asReading } from './worse.ts'

const FIELD = seriesId(BUCKET_SERIES)

type States = Readonly<Record<string, string>>

/** True where a rule asks for the bucket of an account, or its alert is still open. */
export function isBucketWatched(rules: readonly Rule[], account: RuleSubject, states: States): boolean {
  if (states[FIELD] !== undefined) return true
  return rules.some(({ on }) => on === BUCKET_SERIES.metric) && isOn(ruleFor(rules, account, BUCKET_SERIES))
}

function isOn(rule: Rule | undefined): boolean {
  return rule !== undefined && rule.off !== true
}

/** Changes of the alert about the account's bucket. Where no rule asks, this costs nothing. */
export function judgeBucket(
  settings: AlertSettings,
  { account, at }: MadePoll,
  bucket: PollToJudge['bucket'],
): AlertWrites {
  const { hubId, hubDomain, alertStates, state } = account
  const after = bucketReadings(bucket)
  if (after === undefined || !isBucketWatched(settings.rules, account, alertStates)) return NO_ALERT_WRITES
  const own = alertStates[FIELD]
  const states = own === undefined ? {} : { [FIELD]: own }
  const before = bucketReadings(state.bucket)
  return decideAlerts(settings, { hubId, hubDomain, states, samples: {}, before, after }, at)
}

/** The bucket by the last message of its alert, since readings don't have it. Undefined for other alerts. */
export function sentBucket(field: string, { lastSent }: Pick<SeriesState, 'lastSent'>): Series | undefined {
  return field === FIELD && lastSent !== null ? { id: FIELD, ...BUCKET_SERIES, ...asReading(lastSent) } : undefined
}

/** The states without that of the bucket, which no report has. */
export function withoutBucket(states: Record<string, string>): Record<string, string> {
  if (states[FIELD] === undefined) return states
  const { [FIELD]: _, ...others } = states
  return others
}
