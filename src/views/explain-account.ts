import type { AlertKind } from '../alerts/alert.ts'
import {
  alertId,
  currentAcknowledgement,
  decodeState,
  kindOf,
  POLL_FIELD,
  type SeriesState,
  TOKEN_FIELD,
} from '../alerts/alert-state.ts'
import { becauseText } from '../alerts/evaluation/because.ts'
import { type Evaluation, evaluate } from '../alerts/evaluation/evaluate.ts'
import { type Rule, ruleFor, ruleName } from '../alerts/evaluation/rules.ts'
import { acknowledgementOf } from '../alerts/open-alerts.ts'
import { seriesName } from '../alerts/series-name.ts'
import { unreadText } from '../alerts/unread-text.ts'
import { countOf } from '../text/format-number.ts'
import { formatMoment, iso } from '../text/format-time.ts'
import { type CurrentSeries, nextPollBecause } from './account-view.ts'
import { isLeaving, type PlannedAccount } from './judge-account.ts'
import { fieldOf } from './notifications.ts'
import { watchText } from './poll-texts.ts'
import type {
  ExplainedAlertShape,
  ExplainedSeriesShape,
  ExplanationShape,
  NotificationShape,
  RulePlaceShape,
} from './shapes/explanation.ts'
import { thresholdText } from './threshold-text.ts'
import type { RuleSet } from './view-deps.ts'

/** Facts that all explanations of an account rest on. */
interface Grounds {
  settings: RuleSet
  facts: AccountFacts
  now: number
}

/** Everything that is read of an account to explain its alerts. */
export interface AccountFacts {
  account: PlannedAccount
  series: readonly CurrentSeries[]
  /** States of its alerts as stored, by field. */
  states: Readonly<Record<string, string>>
  /** Transitions in the alert log, newest first. */
  log: readonly NotificationShape[]
}

/** Why every alert of an account is, or is not: a composition of what was read, nothing else. */
export function explainFacts(settings: RuleSet, facts: AccountFacts, now: number): ExplanationShape {
  const { account, series } = facts
  const { hubId, hubDomain, state, polledAt, nextPollAt, nextRefreshAt } = account
  const grounds = { settings, facts, now }
  return {
    hubId,
    hubDomain,
    state,
    standing: accountNotes(account, series, now),
    polledAt: iso(polledAt),
    nextPollAt: iso(nextPollAt),
    nextPollBecause: nextPollBecause(account, new Map(series.map(({ shown }) => [shown.id, shown]))),
    nextRefreshAt: iso(nextRefreshAt),
    alerts: [explainTokens(grounds), explainPolls(grounds)],
    series: series.map((one) => explainSeries(grounds, one)),
  }
}

function accountNotes(account: PlannedAccount, series: readonly CurrentSeries[], now: number): string[] {
  const { state, uninstall, refreshFailure, polledAt, pollFailure, parkedUntil } = account
  if (isLeaving(account)) {
    return [`it is ${state} (${uninstall?.reason ?? 'no reason is known'}): nothing is read or judged of it any more`]
  }
  const watch = watchText(account)
  return [
    ...(state === 'reauthorize'
      ? [`it must reconnect, and is not read until then: ${refreshFailure?.reason ?? 'its refresh token is refused'}`]
      : []),
    ...(state === 'parked' ? [`paused by HubSpot until ${formatMoment(parkedUntil)}`] : []),
    ...(watch === undefined ? [] : [watch]),
    ...(pollFailure === null ? [] : [unreadText(pollFailure, now)]),
    ...(polledAt === null && series.length === 0 ? ['it was never read: there is nothing to judge yet'] : []),
  ]
}

function explainSeries(grounds: Grounds, read: CurrentSeries): ExplainedSeriesShape {
  const series = read.judged
  const { settings, facts } = grounds
  const { account } = facts
  const rule = ruleFor(settings.rules, account, series)
  const state = storedState(facts, series.id)
  const { verdict, because } = asCounted(grounds, rule, read, state)
  const level = state?.level ?? 'ok'
  const isBare = verdict === 'unknown' || verdict === 'off'
  // Also where its rule came after the last poll, by which no alert has opened yet.
  const isPending = state?.pending != null || verdict !== 'ok'
  const watched = isBare ? verdict : isPending ? 'pending' : 'ok'
  const shown = level !== 'ok' ? level : isLeaving(account) ? 'off' : watched
  const subject = seriesName(series)
  return {
    ...read.shown,
    ...explainAlert(grounds, { field: series.id, kind: 'limit', subject, state, shown, why: becauseText(because) }),
    rule: rule === undefined ? null : placeOf(settings.rules, rule),
    because,
  }
}

/** The verdict as of the poll that was counted last: that poll must not count once more. */
function asCounted(
  { settings, now }: Grounds,
  rule: Rule | undefined,
  { shown, judged: series }: CurrentSeries,
  state: SeriesState | undefined,
): Evaluation {
  const counted = (polls: number) => Math.max(0, polls - 1)
  const before =
    state?.pending == null
      ? state
      : {
          ...state,
          pending: {
            ...state.pending,
            warning: counted(state.pending.warning),
            critical: counted(state.pending.critical),
          },
        }
  return evaluate({ rule, before, series, now: Date.parse(shown.measuredAt ?? '') || now, settings })
}

function storedState({ states }: AccountFacts, field: string): SeriesState | undefined {
  const stored = states[field]
  return decodeState(stored)
}

export function placeOf(rules: readonly Rule[], rule: Rule): RulePlaceShape {
  const levels = (['warning', 'critical'] as const).flatMap((level) =>
    rule[level] === undefined ? [] : [`${level} ${thresholdText(rule[level])}`],
  )
  return {
    at: `thresholds[${rules.indexOf(rule)}]`,
    line: rule.line ?? null,
    name: rule.name,
    title: ruleName(rule),
    asks: rule.off === true ? 'off' : levels.join(', '),
  }
}

/** `thresholds line 31`: where people find a rule; nothing where it is of no file. */
export function ruleLineText({ line }: Pick<RulePlaceShape, 'line'>): string {
  return line === null ? '' : `thresholds line ${line}`
}

function explainTokens(grounds: Grounds): ExplainedAlertShape {
  const { refreshFailure, refusedSince, token, uninstall } = grounds.facts.account
  const why =
    uninstall?.failure != null
      ? `its refresh token could not be deleted yet: ${uninstall.failure}`
      : refusedSince !== null
        ? `its refresh token has been refused since ${formatMoment(refusedSince)}: ${refreshFailure?.reason ?? ''}`
        : refreshFailure !== null
          ? `refreshes have failed since ${formatMoment(refreshFailure.since)} (${refreshFailure.count} in a row): ${refreshFailure.reason}`
          : token.expiresAt !== null && token.expiresAt > grounds.now
            ? `its access token is good until ${formatMoment(token.expiresAt)}`
            : 'nothing failed'
  const isFailing = refusedSince !== null || refreshFailure !== null || uninstall?.failure != null
  return explainOwn(grounds, TOKEN_FIELD, { why, isFailing })
}

function explainPolls(grounds: Grounds): ExplainedAlertShape {
  const { account } = grounds.facts
  const { pollFailure, polledAt } = account
  const blocked = watchText(account)
  const why =
    pollFailure !== null
      ? `${countOf(pollFailure.count, 'poll')} failed in a row since ${formatMoment(pollFailure.since)}`
      : (blocked ?? (polledAt === null ? 'it was never polled' : 'the last poll read everything'))
  return explainOwn(grounds, POLL_FIELD, { why, isFailing: pollFailure !== null || blocked !== undefined })
}

/** An alert that is about the account and not about a number. */
function explainOwn(
  grounds: Grounds,
  field: string,
  { why, isFailing }: { why: string; isFailing: boolean },
): ExplainedAlertShape {
  const { facts } = grounds
  const state = storedState(facts, field)
  const kind = kindOf(facts.account.hubId, field)
  const level = state?.level ?? 'ok'
  return explainAlert(grounds, {
    field,
    kind,
    subject: kind === 'token' ? 'its tokens' : 'reading its limits',
    state,
    shown: level !== 'ok' ? level : isFailing ? 'failing' : isLeaving(facts.account) ? 'off' : 'ok',
    why,
  })
}

interface AlertCase extends Pick<ExplainedAlertShape, 'field' | 'kind' | 'subject' | 'why'> {
  state: SeriesState | undefined
  shown: ExplainedAlertShape['state']
}

function explainAlert(
  { settings, facts, now }: Grounds,
  { field, kind, subject, state, shown, why }: AlertCase,
): ExplainedAlertShape {
  const open = state === undefined || state.level === 'ok' ? undefined : state
  const acknowledged = currentAcknowledgement(open, now)
  return {
    field,
    kind,
    subject,
    state: shown,
    why,
    alert: open === undefined ? null : alertId(facts.account.hubId, field, open.since),
    since: iso(open?.since ?? null),
    acknowledged: acknowledged === undefined ? null : acknowledgementOf(acknowledged),
    repeatsAt: open === undefined ? null : iso(repeatFrom(open, kind, settings.repeatEveryMs, now)),
    transitions: facts.log.filter(({ alert }) => fieldOf(alert) === field),
  }
}

/** Neither lost tokens nor missing scopes repeat: a daily message about them helps no operator. */
function repeatFrom(state: SeriesState, kind: AlertKind, repeatEveryMs: number, now: number): number | null {
  if (kind === 'token' || state.cause === 'scopes') return null
  return Math.max(state.sentAt + repeatEveryMs, currentAcknowledgement(state, now)?.until ?? 0)
}
