import type { Alert } from '../alerts/alert.ts'
import { ruleSetOf } from '../app/settings.ts'
import { METRICS } from '../limits/reports/all-reports.ts'
import { named, prose, spare, state } from '../text/columns.ts'
import { daysLeftText, formatCount, formatPercent } from '../text/format-number.ts'
import { formatMoment } from '../text/format-time.ts'
import type { Fact } from '../text/shown.ts'
import { suggest } from '../text/suggest.ts'
import { STATE_NAMES } from '../views/account-verdict.ts'
import { nextPollBecause } from '../views/account-view.ts'
import {
  type AccountExplanation,
  type ExplainedAlert,
  type ExplainedSeries,
  type RulePlace,
  ruleLineText,
} from '../views/explain-account.ts'
import { explanationJson, readExplanation } from '../views/explanation.ts'
import type { Notification } from '../views/notifications.ts'
import type { AccountArgument, CommonOptions } from './arguments.ts'
import { CommandError, type Io, printJson } from './io.ts'
import { fact, printFacts } from './say.ts'
import { printTable } from './table.ts'
import { hubIdNamed, noSuchAccount, withStore } from './with-parts.ts'

interface ExplainOptions extends CommonOptions {
  series?: string
  all?: boolean
}

/** `plimsoll alerts explain`. */
export async function explainAlerts(io: Io, name: AccountArgument, options: ExplainOptions): Promise<void> {
  const found = await withStore(io, options, async (parts) => {
    const hubId = await hubIdNamed(parts, name)
    const { receivers, limits } = parts.config
    const explain = { ...ruleSetOf(parts.config), alertAfter: limits.alertAfter }
    const explanation = await readExplanation({ ...parts, receivers: Object.keys(receivers), explain }, hubId)
    if (explanation === undefined) throw noSuchAccount(hubId)
    return explanation
  })
  const shown = options.series === undefined ? found : { ...found, own: [], series: chosen(found, options.series) }
  if (options.json === true) printJson(io, 'alerts explain', explanationJson(shown))
  else printExplanation(io, shown, options.all === true || options.series !== undefined)
}

/** By id, or by metric. */
function chosen({ series }: AccountExplanation, wanted: string): ExplainedSeries[] {
  const some = series.filter((one) => one.field === wanted || one.series.metric === wanted)
  if (some.length > 0) return some
  const known = [...new Set([...series.map(({ field }) => field), ...METRICS])]
  const near = suggest(wanted, known)
  const hint = near === undefined ? `there are ${shortList(known)}` : `did you mean ${near}?`
  throw new CommandError(`the account has no series ${wanted}: ${hint}`)
}

function shortList(names: readonly string[]): string {
  return names.length <= 12 ? names.join(', ') : `${names.slice(0, 12).join(', ')} and ${names.length - 12} more`
}

function printExplanation(io: Io, explained: AccountExplanation, inFull: boolean): void {
  printAccount(io, explained)
  const { own, series } = explained
  const all = [...own, ...series.toSorted(byUrgency)]
  const full = all.filter((one) => inFull || isNotable(one))
  for (const one of full) {
    io.out('\n')
    printFacts(io, alertFacts(one))
  }
  const rest = all.filter((one) => !full.includes(one))
  if (rest.length === 0) return
  io.out('\n')
  printTable(
    io,
    [state('STATE'), named('WHAT'), prose('WHY'), spare('RULE')],
    rest.map((one) => [one.state, one.subject, one.why, isSeries(one) ? (one.rule?.title ?? '') : '']),
  )
}

const RANK: Readonly<Record<ExplainedAlert['state'], number>> = {
  ...{ critical: 0, warning: 1, failing: 2, pending: 2, unknown: 3, ok: 4, off: 5 },
}

function byUrgency(a: ExplainedSeries, b: ExplainedSeries): number {
  return RANK[a.state] - RANK[b.state] || (b.series.percent ?? -1) - (a.series.percent ?? -1)
}

/** What stands at a level, is on its way to one, or to somebody. */
function isNotable(one: ExplainedAlert): boolean {
  return RANK[one.state] <= RANK.pending || one.held.length > 0
}

function isSeries(one: ExplainedAlert | ExplainedSeries): one is ExplainedSeries {
  return 'series' in one
}

function printAccount(io: Io, { account, standing, series }: AccountExplanation): void {
  const { hubId, hubDomain, state, polledAt, nextPollAt, nextRefreshAt } = account
  const because = nextPollBecause({ account, series: series.map((one) => one.series) })
  const moved = because === null ? '' : `: ${because}`
  printFacts(io, [
    ['account', `${hubId} ${hubDomain} (${STATE_NAMES[state]})`],
    ...standing.map(fact('note')),
    ['last poll', polledAt === null ? 'never' : formatMoment(polledAt)],
    ['next poll', nextPollAt === null ? 'none' : formatMoment(nextPollAt) + moved],
    ['next refresh', nextRefreshAt === null ? 'none' : formatMoment(nextRefreshAt)],
  ])
}

function alertFacts(one: ExplainedAlert | ExplainedSeries): Fact[] {
  const { subject, field, state, alert, since, why, held, route, repeatFrom, transitions } = one
  return [
    ['what', field === one.kind ? subject : `${subject} [${field}]`],
    ...(isSeries(one) ? readingFacts(one) : []),
    ['state', since === null ? state : `${state}, the alert has been open since ${formatMoment(since)}`],
    ['alert', alert ?? ''],
    ['because', why],
    ...held.filter((one) => !isSaid(one, held)).map(({ text }): Fact => ['held back', text]),
    ['sent to', route === null ? 'no receiver: no route is for it' : `${route.at}: ${route.to.join(', ')}`],
    ['repeats', repeatFrom === null ? '' : `from ${formatMoment(repeatFrom)} on, if it still holds`],
    ...transitions.slice(0, MOST_TRANSITIONS).flatMap(transitionFacts),
  ]
}

function readingFacts(one: ExplainedSeries): Fact[] {
  return [
    ['reading', readingText(one)],
    ['rule', one.rule === null ? '' : `${ruleText(one.rule)}: ${one.rule.asks}`],
    ...one.passedOver.map((place): Fact => ['passed over', `${ruleText(place)}: ${place.because}`]),
  ]
}

/** Where it waits need not be said beside what makes it wait there for as long. */
function isSaid({ is, until }: ExplainedAlert['held'][number], held: ExplainedAlert['held']): boolean {
  return is === 'waiting' && until !== null && held.some((other) => other.is !== 'waiting' && other.until === until)
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
        `${receiver}: ${outcome} ${formatMoment(tried)} (attempt ${attempt}${reason === '' ? '' : `: ${reason}`})`,
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
