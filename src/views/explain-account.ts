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
import { iso } from '../text/format-time.ts'
import { type CurrentSeries, nextPollBecause } from './account-view.ts'
import { isLeaving, type PlannedAccount } from './judge-account.ts'
import { fieldOf } from './notifications.ts'
import type { AccountDetailsShape, VerdictLevel } from './shapes/account.ts'
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
  /** Verdict on it. */
  findings: AccountDetailsShape['verdict']['findings']
  series: readonly CurrentSeries[]
  /** States of its alerts as stored, by field. */
  states: Readonly<Record<string, string>>
  /** Transitions in the alert log, newest first. */
  log: readonly NotificationShape[]
}

/** Why every alert of an account is, or is not: a composition of what was read, nothing else. */
export function explainFacts(settings: RuleSet, facts: AccountFacts, now: number): ExplanationShape {
  const { account, findings, series } = facts
  const { hubId, hubDomain, state, polledAt, nextPollAt, nextRefreshAt } = account
  const grounds = { settings, facts, now }
  return {
    hubId,
    hubDomain,
    state,
    standing: findings.flatMap(({ about, level, says }) => (about === 'alerts' || level === 'ok' ? [] : [says])),
    polledAt: iso(polledAt),
    nextPollAt: iso(nextPollAt),
    nextPollBecause: nextPollBecause(account, new Map(series.map(({ shown }) => [shown.id, shown]))),
    nextRefreshAt: iso(nextRefreshAt),
    alerts: [explainTokens(grounds), explainPolls(grounds)],
    series: series.map((one) => explainSeries(grounds, one)),
  }
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
  const { refreshFailure, refusedSince } = grounds.facts.account
  return explainOwn(grounds, 'tokens', refusedSince !== null || refreshFailure !== null)
}

function explainPolls(grounds: Grounds): ExplainedAlertShape {
  const { pollFailure, pollBlocked } = grounds.facts.account
  return explainOwn(grounds, 'limits', pollFailure !== null || pollBlocked !== null)
}

/** An alert that is about the account and not about a number: the reason is what the verdict says. */
function explainOwn(grounds: Grounds, subject: 'tokens' | 'limits', isFailing: boolean): ExplainedAlertShape {
  const { facts } = grounds
  const field = subject === 'tokens' ? TOKEN_FIELD : POLL_FIELD
  const state = storedState(facts, field)
  const findings = facts.findings.filter(({ about }) => about === subject || about === 'uninstall')
  return explainAlert(grounds, {
    field,
    kind: kindOf(facts.account.hubId, field),
    subject: subject === 'tokens' ? 'its tokens' : 'reading its limits',
    state,
    shown: shownState(state, findings, isFailing),
    // Pages and commands end it as the reason of a number, which is no sentence.
    why: findings
      .map(({ says }) => says)
      .join(' ')
      .replace(/\.$/, ''),
  })
}

function shownState(
  state: SeriesState | undefined,
  findings: AccountFacts['findings'],
  isFailing: boolean,
): ExplainedAlertShape['state'] {
  if (state !== undefined && state.level !== 'ok') return state.level
  const has = (...levels: VerdictLevel[]) => findings.some(({ level }) => levels.includes(level))
  if (isFailing || has('critical', 'warning', 'handled')) return 'failing'
  return has('none') ? 'off' : has('unknown') ? 'unknown' : 'ok'
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
