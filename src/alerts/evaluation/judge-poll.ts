import { digestsOf } from '../../limits/digest.ts'
import type { MadePoll, PollJudge, PollJudgement, PollToJudge } from '../../limits/poll.ts'
import { isOfOnePair, keyOf } from '../../limits/readings.ts'
import { type AlertWrites, bothWrites, NO_ALERT_WRITES } from '../../redis/steps.ts'
import { LAST_MOMENT } from '../../runtime/moment.ts'
import { decodeState, POLL_FIELD, TOKEN_FIELD } from '../alert-state.ts'
import type { PollAnnouncer } from '../kinds/poll-alert.ts'
import type { TokenAlerts } from '../kinds/token-alert.ts'
import { boundariesOf, statesAfter } from './boundaries.ts'
import { type AlertSettings, decideAlerts, type PolledAccount } from './decide.ts'
import { judgeBucket, withoutBucket } from './judge-bucket.ts'

export interface JudgeDeps {
  alerts: AlertSettings
  announcePoll: PollAnnouncer
  announce: Pick<TokenAlerts, 'failing'>
}

/** Judges polls by these rules: their series, their bucket, whether they work, and how long the judgement lasts. */
export function pollJudge(deps: JudgeDeps): PollJudge {
  const { alerts } = deps
  return {
    settings: settingsDigest(alerts),
    judgeBucket: (poll, bucket) => judgeBucket(alerts, poll, bucket),
    judge: (poll, read) => {
      const writes = [
        judgeSeries(alerts, poll, read),
        judgeBucket(alerts, poll, read.bucket),
        announcePoll(deps, poll, read),
        announceParked(deps, poll, read),
      ].reduce(bothWrites)
      const states = statesAfter(poll.account.alertStates, writes)
      return {
        alerts: writes,
        states,
        boundaries: (series) => boundariesOf(alerts, { ...poll.account, states }, series),
        restUntil: restUntil(alerts, states, poll.at),
      }
    },
  }
}

/**
 * Counted up by a developer who changes how numbers are read from answers, or how they are judged: then each account is
 * judged once more, though its answers stay the same.
 */
const JUDGING_VERSION = 3

function settingsDigest(settings: AlertSettings): string {
  const { rules, recoverBelow, for: polls, repeatEveryMs, worseAfterMs, firstRun } = settings
  const judging = [JUDGING_VERSION, rules, recoverBelow, polls, repeatEveryMs, worseAfterMs, firstRun]
  // A rule that moves to another line is the same rule.
  return digestsOf([JSON.stringify(judging, (key, value) => (key === 'line' ? undefined : value))])
}

function judgeSeries(
  settings: AlertSettings,
  { account, settings: { pairs }, answers, at }: MadePoll,
  { found, samples, forecasts }: PollToJudge,
): AlertWrites {
  if (found === undefined) return NO_ALERT_WRITES
  const { hubId, hubDomain, state, alertStates } = account
  const allPairsRead = pairs === 'auto' && state.allPairsRead
  const states = withoutBucket(alertStates)
  const inTurns = pairs === 'auto' && !answers.allPairsRead
  const mayCome: PolledAccount['mayCome'] = (series) =>
    answers.reports.has(keyOf(series)) || answers.pausedUntil !== undefined || (inTurns && isOfOnePair(series))
  return decideAlerts(settings, { hubId, hubDomain, allPairsRead, mayCome, samples, forecasts, states, ...found }, at)
}

function announcePoll({ announcePoll }: JudgeDeps, { account, facts }: MadePoll, read: PollToJudge): AlertWrites {
  const { hubId, hubDomain, state, alertStates } = account
  return announcePoll({
    hubId,
    hubDomain,
    outcome: read.outcome,
    now: read.now,
    failing: state.failing,
    blocked: state.blocked,
    pollAlert: alertStates[POLL_FIELD] ?? '',
    failsForLong: read.failsForLong,
    ...(facts && { refreshes: facts.refreshes }),
    isFleetTrouble: facts?.isFleetTrouble ?? false,
  })
}

/** A token that ends before its account may be asked again. */
function announceParked({ announce }: JudgeDeps, { account }: MadePoll, read: PollToJudge): AlertWrites {
  const { hubId, hubDomain, access, alertStates } = account
  const { obtainedAt = 0, expiresAt = 0 } = access?.times ?? {}
  const failure = read.outcome.failures.find(({ class: kind }) => kind === 'parked')
  if (failure === undefined || read.parkedUntil === undefined || read.parkedUntil <= expiresAt) return NO_ALERT_WRITES
  const tokenAlert = alertStates[TOKEN_FIELD] ?? ''
  const subject = { hubId, hubDomain, expiresAt, refreshedAt: obtainedAt, tokenAlert, now: read.now }
  return announce.failing(subject, failure.message)
}

/**
 * The same numbers are judged alike until then: nothing counts polls, or waits for its time. An alert about polls is over
 * once one works: the next poll finds it.
 */
function restUntil(
  { repeatEveryMs, worseAfterMs }: AlertSettings,
  states: PollJudgement['states'],
  now: number,
): number {
  let until = LAST_MOMENT
  for (const [field, stored] of Object.entries(states)) {
    if (field === TOKEN_FIELD) continue
    if (field === POLL_FIELD) return 0
    const state = decodeState(stored)
    if (state === undefined || state.pending !== null || state.acknowledged !== undefined) return 0
    const { sentAt } = state
    until = Math.min(until, sentAt + repeatEveryMs)
    // A series that got worse too soon after the last message is sent by the first poll after that time.
    const worseAt = worseAfterMs === undefined ? 0 : sentAt + worseAfterMs
    if (worseAt > now) until = Math.min(until, worseAt)
  }
  return until
}
