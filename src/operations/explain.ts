import * as z from 'zod'
import { METRICS } from '../limits/reports/all-reports.ts'
import { momentCell } from '../text/cells.ts'
import { named, prose, spare, state } from '../text/columns.ts'
import { daysLeftText, formatCount, formatPercent } from '../text/format-number.ts'
import { formatTime } from '../text/format-time.ts'
import type { Fact, Shown } from '../text/shown.ts'
import { suggest } from '../text/suggest.ts'
import { readAccountView } from '../views/account-view.ts'
import { ruleLineText } from '../views/explain-account.ts'
import { explainView } from '../views/explanation.ts'
import { STATE_NAMES } from '../views/judge-account.ts'
import type { AcknowledgementShape } from '../views/shapes/alert.ts'
import {
  type ExplainedAlertShape,
  type ExplainedSeriesShape,
  ExplanationShape,
  type NotificationShape,
  type RulePlaceShape,
} from '../views/shapes/explanation.ts'
import { accountField, flagField, textField } from './input.ts'
import { operation } from './operation.ts'
import { noAccount, Refusal } from './refusal.ts'

export const explainAccount = operation({
  id: 'explainAccount',
  method: 'GET',
  path: '/accounts/{hubId}/explanation',
  summary: "show why an account's alerts were sent, or why not",
  input: z.strictObject({
    hubId: accountField('the account'),
    series: textField('only this series: its id, such as type/0-1, or all of a metric').optional(),
    all: flagField('show also what is ok in full'),
  }),
  output: ExplanationShape,
  problems: [404],
  example: { params: { hubId: '1234567' } },
  command: { name: 'alerts explain', args: '<hubId>', examples: ['1234567', `1234567 --series ${METRICS[0]}`] },
  run: async (deps, { input: { hubId, series } }) => {
    const view = await readAccountView(deps, hubId)
    if (view === undefined) throw noAccount(hubId)
    const found = await explainView(deps, view)
    return series === undefined ? found : { ...found, alerts: [], series: chosen(found, series) }
  },
  table: (explained, { input: { all, series } }) => explanationParts(explained, all || series !== undefined),
})

/** By id, or by metric. */
function chosen({ series }: ExplanationShape, wanted: string): ExplainedSeriesShape[] {
  const some = series.filter((one) => one.field === wanted || one.metric === wanted)
  if (some.length > 0) return some
  const known = [...new Set([...series.map(({ field }) => field), ...METRICS])]
  const near = suggest(wanted, known)
  const hint = near === undefined ? `there are ${shortList(known)}` : `did you mean ${near}?`
  throw new Refusal('unknown', `the account has no series ${wanted}`, { hint })
}

function shortList(names: readonly string[]): string {
  return names.length <= 12 ? names.join(', ') : `${names.slice(0, 12).join(', ')} and ${names.length - 12} more`
}

function explanationParts(explained: ExplanationShape, inFull: boolean): Shown[] {
  const { alerts, series } = explained
  const all = [...alerts, ...series.toSorted(byUrgency)]
  const full = all.filter((one) => inFull || isNotable(one))
  const rest = all.filter((one) => !full.includes(one))
  const rows = rest.map((one) => [one.state, one.subject, one.why, isSeries(one) ? (one.rule?.title ?? '') : ''])
  const columns = [state('STATE'), named('WHAT'), prose('WHY'), spare('RULE')]
  return [
    { facts: accountFacts(explained) },
    ...full.flatMap((one): Shown[] => ['', { facts: alertFacts(one) }]),
    ...(rest.length === 0 ? [] : ['', { columns, rows }]),
  ]
}

const RANK: Readonly<Record<ExplainedAlertShape['state'], number>> = {
  critical: 0,
  warning: 1,
  failing: 2,
  pending: 2,
  unknown: 3,
  ok: 4,
  off: 5,
}

function byUrgency(a: ExplainedSeriesShape, b: ExplainedSeriesShape): number {
  return RANK[a.state] - RANK[b.state] || (b.percent ?? -1) - (a.percent ?? -1)
}

/** True for an alert at a level or on its way to one, and for one whose notifications are held back. */
function isNotable(one: ExplainedAlertShape): boolean {
  return RANK[one.state] <= RANK.pending || one.transitions.some(({ waiting }) => waiting.length > 0)
}

function isSeries(one: ExplainedAlertShape | ExplainedSeriesShape): one is ExplainedSeriesShape {
  return 'metric' in one
}

function accountFacts(explained: ExplanationShape): Fact[] {
  const { hubId, hubDomain, state, standing, polledAt, nextPollAt, nextPollBecause, nextRefreshAt } = explained
  const moved = nextPollBecause === null ? '' : `: ${nextPollBecause}`
  return [
    ['account', `${hubId} ${hubDomain} (${STATE_NAMES[state]})`],
    ...standing.map((note): Fact => ['note', note]),
    ['limits read', momentCell(polledAt) || 'never'],
    ['next poll', nextPollAt === null ? 'none' : formatTime(nextPollAt) + moved],
    ['next refresh', momentCell(nextRefreshAt) || 'none'],
  ]
}

function alertFacts(one: ExplainedAlertShape | ExplainedSeriesShape): Fact[] {
  const { subject, field, state, alert, since, why, acknowledged, transitions } = one
  return [
    ['what', field === one.kind ? subject : `${subject} [${field}]`],
    ...(isSeries(one) ? readingFacts(one) : []),
    ['state', since === null ? state : `${state}, the alert has been open since ${formatTime(since)}`],
    ['alert', alert ?? ''],
    ['because', why],
    ['acknowledged', acknowledged === null ? '' : acknowledgedText(acknowledged)],
    ...waitingFacts(transitions),
    ...transitions.slice(0, MOST_TRANSITIONS).flatMap(transitionFacts),
  ]
}

function readingFacts(one: ExplainedSeriesShape): Fact[] {
  return [
    ['reading', readingText(one)],
    ['rule', one.rule === null ? '' : `${ruleText(one.rule)}: ${one.rule.asks}`],
  ]
}

function acknowledgedText({ by, at, until, comment }: AcknowledgementShape): string {
  return `by ${by} ${formatTime(at)}, until ${formatTime(until)}${comment === undefined ? '' : ` (${comment})`}`
}

/** Also of an alert that is over: its end is sent too. Several transitions may be in one message. */
function waitingFacts(transitions: readonly NotificationShape[]): Fact[] {
  const texts = new Set(transitions.flatMap(({ waiting }) => waiting.map(waitingText)))
  return [...texts].map((text): Fact => ['held back', text])
}

type WaitingFor = NotificationShape['waiting'][number]

const WHERE: Readonly<Record<WaitingFor['where'], string>> = {
  outbox: 'waits in the outbox to be collected',
  group: 'waits in its group for more of its kind',
  digest: 'waits for the digest of new accounts (alerts.firstRun)',
  held: 'is held back',
  delivery: 'on its way',
}

function waitingText({ receiver, where, until, because }: WaitingFor): string {
  const why = because === undefined ? '' : ` by ${because}`
  const time = where === 'delivery' ? ', next attempt' : ' until'
  return `${receiver === '' ? '' : `for ${receiver}: `}${WHERE[where]}${why}${until === null ? '' : `${time} ${formatTime(until)}`}`
}

const MOST_TRANSITIONS = 5

function transitionFacts({ at, alert, fate, why, attempts }: NotificationShape): Fact[] {
  const { percent, usage } = alert
  const reading = percent === undefined ? usage && formatCount(usage) : formatPercent(percent)
  const number = reading === undefined ? '' : ` at ${reading}`
  const ending = fate === 'unknown' ? '' : `, ${fate}${why === '' ? '' : `: ${why}`}`
  return [
    ['transition', `${formatTime(at)} ${whatOf(alert)}${number}${ending}`],
    ...attempts.map(
      ({ at: tried, receiver, attempt, outcome, reason }): Fact => [
        '',
        `${receiver}: ${outcome} ${formatTime(tried)} (attempt ${attempt}${reason === '' ? '' : `: ${reason}`})`,
      ],
    ),
  ]
}

function whatOf({ kind, level, reason }: NotificationShape['alert']): string {
  return kind === 'limit-changed' ? 'limit changed' : `${level} ${reason}`
}

function readingText(series: ExplainedSeriesShape): string {
  const { usage, limit, percent, measuredAt, daysLeft, forecast } = series
  const of = limit === null ? formatCount(usage) : `${formatCount(usage)} of ${formatCount(limit)}`
  const share = percent === null ? '' : ` (${formatPercent(percent)})`
  const days = daysLeft === null ? '' : `, ${daysLeftText(daysLeft, forecast)}`
  return `${of}${share}${days}, read ${momentCell(measuredAt)}`
}

function ruleText(rule: RulePlaceShape): string {
  return rule.line === null ? rule.title : `${rule.title} (${ruleLineText(rule)})`
}
