import * as z from 'zod'
import type { Alert } from '../alerts/alert.ts'
import type { Acknowledged } from '../alerts/alert-state.ts'
import { METRICS } from '../limits/reports/all-reports.ts'
import { named, prose, spare, state } from '../text/columns.ts'
import { daysLeftText, formatCount, formatPercent } from '../text/format-number.ts'
import { formatMoment, formatTime } from '../text/format-time.ts'
import type { Fact, Shown } from '../text/shown.ts'
import { suggest } from '../text/suggest.ts'
import { nextPollBecause } from '../views/account-view.ts'
import {
  type AccountExplanation,
  type ExplainedAlert,
  type ExplainedSeries,
  type RulePlace,
  ruleLineText,
} from '../views/explain-account.ts'
import { explanationJson, readExplanation } from '../views/explanation.ts'
import { STATE_NAMES } from '../views/judge-account.ts'
import type { Notification, WaitingFor } from '../views/notifications.ts'
import { ExplanationShape } from '../views/shapes/explanation.ts'
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
    const found = await readExplanation(deps, hubId)
    if (found === undefined) throw noAccount(hubId)
    return series === undefined ? found : { ...found, own: [], series: chosen(found, series) }
  },
  json: explanationJson,
  table: (explained, { input: { all, series } }) => explanationParts(explained, all || series !== undefined),
})

/** By id, or by metric. */
function chosen({ series }: AccountExplanation, wanted: string): ExplainedSeries[] {
  const some = series.filter((one) => one.field === wanted || one.series.metric === wanted)
  if (some.length > 0) return some
  const known = [...new Set([...series.map(({ field }) => field), ...METRICS])]
  const near = suggest(wanted, known)
  const hint = near === undefined ? `there are ${shortList(known)}` : `did you mean ${near}?`
  throw new Refusal('unknown', `the account has no series ${wanted}`, { hint })
}

function shortList(names: readonly string[]): string {
  return names.length <= 12 ? names.join(', ') : `${names.slice(0, 12).join(', ')} and ${names.length - 12} more`
}

function explanationParts(explained: AccountExplanation, inFull: boolean): Shown[] {
  const { own, series } = explained
  const all = [...own, ...series.toSorted(byUrgency)]
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

const RANK: Readonly<Record<ExplainedAlert['state'], number>> = {
  critical: 0,
  warning: 1,
  failing: 2,
  pending: 2,
  unknown: 3,
  ok: 4,
  off: 5,
}

function byUrgency(a: ExplainedSeries, b: ExplainedSeries): number {
  return RANK[a.state] - RANK[b.state] || (b.series.percent ?? -1) - (a.series.percent ?? -1)
}

/** True for an alert at a level or on its way to one, and for one whose notifications are held back. */
function isNotable(one: ExplainedAlert): boolean {
  return RANK[one.state] <= RANK.pending || one.transitions.some(({ waiting }) => waiting.length > 0)
}

function isSeries(one: ExplainedAlert | ExplainedSeries): one is ExplainedSeries {
  return 'series' in one
}

function accountFacts({ account, standing, series }: AccountExplanation): Fact[] {
  const { hubId, hubDomain, state, polledAt, nextPollAt, nextRefreshAt } = account
  const because = nextPollBecause({ account, series: series.map((one) => one.series) })
  const moved = because === null ? '' : `: ${because}`
  return [
    ['account', `${hubId} ${hubDomain} (${STATE_NAMES[state]})`],
    ...standing.map((note): Fact => ['note', note]),
    ['limits read', polledAt === null ? 'never' : formatMoment(polledAt)],
    ['next poll', nextPollAt === null ? 'none' : formatMoment(nextPollAt) + moved],
    ['next refresh', nextRefreshAt === null ? 'none' : formatMoment(nextRefreshAt)],
  ]
}

function alertFacts(one: ExplainedAlert | ExplainedSeries): Fact[] {
  const { subject, field, state, alert, since, why, acknowledged, transitions } = one
  return [
    ['what', field === one.kind ? subject : `${subject} [${field}]`],
    ...(isSeries(one) ? readingFacts(one) : []),
    ['state', since === null ? state : `${state}, the alert has been open since ${formatMoment(since)}`],
    ['alert', alert ?? ''],
    ['because', why],
    ['acknowledged', acknowledged === null ? '' : acknowledgedText(acknowledged)],
    ...waitingFacts(transitions),
    ...transitions.slice(0, MOST_TRANSITIONS).flatMap(transitionFacts),
  ]
}

function readingFacts(one: ExplainedSeries): Fact[] {
  return [
    ['reading', readingText(one)],
    ['rule', one.rule === null ? '' : `${ruleText(one.rule)}: ${one.rule.asks}`],
  ]
}

function acknowledgedText({ by, at, until, comment }: Acknowledged): string {
  return `by ${by} ${formatMoment(at)}, until ${formatMoment(until)}${comment === undefined ? '' : ` (${comment})`}`
}

/** Also of an alert that is over: its end is sent too. Several transitions may be in one message. */
function waitingFacts(transitions: readonly Notification[]): Fact[] {
  const texts = new Set(transitions.flatMap(({ waiting }) => waiting.map(waitingText)))
  return [...texts].map((text): Fact => ['held back', text])
}

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
  return `${receiver === '' ? '' : `for ${receiver}: `}${WHERE[where]}${why}${until === null ? '' : `${time} ${formatMoment(until)}`}`
}

const MOST_TRANSITIONS = 5

function transitionFacts({ at, alert, fate, why, attempts }: Notification): Fact[] {
  const { percent, usage } = alert
  const reading = percent === undefined ? usage && formatCount(usage) : formatPercent(percent)
  const number = reading === undefined ? '' : ` at ${reading}`
  const ending = fate === 'unknown' ? '' : `, ${fate}${why === '' ? '' : `: ${why}`}`
  return [
    ['transition', `${formatMoment(at)} ${whatOf(alert)}${number}${ending}`],
    ...attempts.map(
      ({ at: tried, receiver, attempt, outcome, reason }): Fact => [
        '',
        `${receiver}: ${outcome} ${formatTime(tried)} (attempt ${attempt}${reason === '' ? '' : `: ${reason}`})`,
      ],
    ),
  ]
}

function whatOf({ kind, level, reason }: Alert): string {
  return kind === 'limit-changed' ? 'limit changed' : `${level} ${reason}`
}

function readingText({ series }: ExplainedSeries): string {
  const { usage, limit, percent, measuredAt, daysLeft, forecast, daysRead } = series
  const of = limit === null ? formatCount(usage) : `${formatCount(usage)} of ${formatCount(limit)}`
  const share = percent === null ? '' : ` (${formatPercent(percent)})`
  const unknown = daysRead === undefined ? '' : `, no forecast yet: ${daysRead}`
  const days = daysLeft == null ? unknown : `, ${daysLeftText(daysLeft, forecast)}`
  return `${of}${share}${days}, read ${formatMoment(measuredAt)}`
}

function ruleText(rule: RulePlace): string {
  return rule.line === null ? rule.title : `${rule.title} (${ruleLineText(rule)})`
}
