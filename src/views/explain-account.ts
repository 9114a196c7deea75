import type { AlertKind, Because } from '../alerts/alert.ts'
import {
  type Acknowledged,
  alertId,
  currentAcknowledgement,
  kindOf,
  POLL_FIELD,
  readableState,
  type SeriesState,
  TOKEN_FIELD,
} from '../alerts/alert-state.ts'
import { becauseText } from '../alerts/evaluation/because.ts'
import { type Evaluation, evaluate } from '../alerts/evaluation/evaluate.ts'
import { type Rule, ruleFor, ruleName } from '../alerts/evaluation/rules.ts'
import { seriesName } from '../alerts/series-name.ts'
import { countOf } from '../text/format-number.ts'
import { formatMoment } from '../text/format-time.ts'
import type { CurrentSeries } from './account-view.ts'
import { isLeaving, type PlannedAccount } from './judge-account.ts'
import type { AccountFacts, Notification } from './notifications.ts'
import { watchText } from './poll-texts.ts'
import { thresholdText } from './threshold-text.ts'
import type { RuleSet } from './view-deps.ts'

/** Facts that all explanations of an account rest on. */
interface Grounds {
  settings: RuleSet
  facts: AccountFacts
  now: number
}

export interface AccountExplanation {
  account: PlannedAccount
  /** Notes on what keeps the whole account from being read, judged or notified of, most urgent first. */
  standing: string[]
  /** Alerts about the account itself: its tokens, its polls. */
  own: ExplainedAlert[]
  series: ExplainedSeries[]
}

/** Why an alert was sent, or was not. */
export interface ExplainedAlert {
  field: string
  kind: AlertKind
  /** In people's words. */
  subject: string
  /** `failing`: a trouble whose alert has not opened yet. */
  state: 'ok' | 'pending' | 'warning' | 'critical' | 'unknown' | 'off' | 'failing'
  /** Id of the alert that is open. */
  alert: string | null
  /** Moment at which it opened, ms. */
  since: number | null
  why: string
  /** Acknowledgement, where the alert is open. */
  acknowledged: Acknowledged | null
  /** Soonest moment at which it repeats if nothing changes, ms; null where nothing is open, or it never repeats. */
  repeatFrom: number | null
  transitions: readonly Notification[]
}

export interface ExplainedSeries extends ExplainedAlert {
  series: CurrentSeries
  rule: RulePlace | null
  because: Because
}

export interface RulePlace {
  /** `thresholds[2]` */
  at: string
  /** Line in the file; null where it is of no file. */
  line: number | null
  /** Name, as in alerts. */
  name: string
  /** For people: its name, or what it watches where it was given none. */
  title: string
  /** Conditions, in a few words. */
  asks: string
}

/** Why every alert of an account is, or is not: a composition of what was read, nothing else. */
export function explainFacts(settings: RuleSet, facts: AccountFacts, now: number): AccountExplanation {
  const { account, series } = facts
  const grounds = { settings, facts, now }
  return {
    account,
    standing: accountNotes(account, series),
    own: [explainTokens(grounds), explainPolls(grounds)],
    series: series.map((one) => explainSeries(grounds, one)),
  }
}

function accountNotes(account: PlannedAccount, series: readonly CurrentSeries[]): string[] {
  const { state, uninstall, refreshFailure, polledAt, pollFailure, parkedUntil } = account
  if (isLeaving(account)) {
    return [`it is ${state} (${uninstall?.reason ?? 'no reason is known'}): nothing is read or judged of it any more`]
  }
  const watch = watchText(account)
  return [
    ...(state === 'reauthorize'
      ? [`it must reconnect, and is not read until then: ${refreshFailure?.reason ?? 'its refresh token is refused'}`]
      : []),
    ...(state === 'parked' ? [`paused by the provider until ${formatMoment(parkedUntil)}`] : []),
    ...(watch === undefined ? [] : [watch]),
    ...(pollFailure === null
      ? []
      : [
          `${countOf(pollFailure.count, 'poll')} in a row failed, the last ${formatMoment(pollFailure.at)}: ${pollFailure.reason}`,
        ]),
    ...(polledAt === null && series.length === 0 ? ['it was never read: there is nothing to judge yet'] : []),
  ]
}

function explainSeries(grounds: Grounds, series: CurrentSeries): ExplainedSeries {
  const { settings, facts } = grounds
  const { account } = facts
  const rule = ruleFor(settings.rules, account, series)
  const state = storedState(facts, series.id)
  const { verdict, because } = asCounted(grounds, rule, series, state)
  const level = state?.level ?? 'ok'
  const isBare = verdict === 'unknown' || verdict === 'off'
  // Also where its rule came after the last poll, by which no alert has opened yet.
  const isPending = state?.pending != null || verdict !== 'ok'
  const watched = isBare ? verdict : isPending ? 'pending' : 'ok'
  const shown = level !== 'ok' ? level : isLeaving(account) ? 'off' : watched
  const subject = seriesName(series)
  return {
    ...explainAlert(grounds, { field: series.id, kind: 'limit', subject, state, shown, why: becauseText(because) }),
    series,
    rule: rule === undefined ? null : placeOf(settings.rules, rule),
    because,
  }
}

/** The verdict as of the poll that was counted last: that poll must not count once more. */
function asCounted(
  { settings, now }: Grounds,
  rule: Rule | undefined,
  series: CurrentSeries,
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
  return evaluate({ rule, before, series, now: series.measuredAt ?? now, settings })
}

function storedState({ states }: AccountFacts, field: string): SeriesState | undefined {
  const stored = states[field]
  return stored === undefined ? undefined : readableState(stored)
}

function placeOf(rules: readonly Rule[], rule: Rule): RulePlace {
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
export function ruleLineText({ line }: Pick<RulePlace, 'line'>): string {
  return line === null ? '' : `thresholds line ${line}`
}

function explainTokens(grounds: Grounds): ExplainedAlert {
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

function explainPolls(grounds: Grounds): ExplainedAlert {
  const { account } = grounds.facts
  const { pollFailure, polledAt } = account
  const blocked = watchText(account)
  const why =
    pollFailure !== null
      ? `polls have failed since ${formatMoment(pollFailure.since)}`
      : (blocked ?? (polledAt === null ? 'it was never polled' : 'the last poll read everything'))
  return explainOwn(grounds, POLL_FIELD, { why, isFailing: pollFailure !== null || blocked !== undefined })
}

/** An alert that is about the account and not about a number. */
function explainOwn(
  grounds: Grounds,
  field: string,
  { why, isFailing }: { why: string; isFailing: boolean },
): ExplainedAlert {
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

interface AlertCase extends Pick<ExplainedAlert, 'field' | 'kind' | 'subject' | 'why'> {
  state: SeriesState | undefined
  shown: ExplainedAlert['state']
}

function explainAlert(
  { settings, facts, now }: Grounds,
  { field, kind, subject, state, shown, why }: AlertCase,
): ExplainedAlert {
  const open = state === undefined || state.level === 'ok' ? undefined : state
  return {
    field,
    kind,
    subject,
    state: shown,
    why,
    alert: open === undefined ? null : alertId(facts.account.hubId, field, open.since),
    since: open?.since ?? null,
    acknowledged: currentAcknowledgement(open, now) ?? null,
    repeatFrom: open === undefined ? null : repeatFrom(open, kind, settings.repeatEveryMs, now),
    transitions: facts.log.filter((one) => one.field === field),
  }
}

/** Neither lost tokens nor missing scopes repeat: a daily message about them helps no operator. */
function repeatFrom(state: SeriesState, kind: AlertKind, repeatEveryMs: number, now: number): number | null {
  if (kind === 'token' || state.cause === 'scopes') return null
  return Math.max(state.sentAt + repeatEveryMs, currentAcknowledgement(state, now)?.until ?? 0)
}
