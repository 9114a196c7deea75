import { cleanText } from '../../../text/clean-text.ts'
import { countOf, formatCount, formatPercent } from '../../../text/format-number.ts'
import { formatMoment } from '../../../text/format-time.ts'
import { type Html, html } from '../../../text/html.ts'
import type { ToldTransition } from '../../../views/account-facts.ts'
import type { AccountView } from '../../../views/account-view.ts'
import type { AccountExplanation, ExplainedAlert, ExplainedSeries, RulePlace } from '../../../views/explain-account.ts'
import { timedAlert } from '../../../views/open-alert-json.ts'
import { alertTable } from '../parts/alert-table.ts'
import { nothing, table } from '../parts/table.ts'
import { when } from '../parts/when.ts'
import type { AccountSeries } from './account-series.ts'
import { seriesLink } from './series-link.ts'

/** The rest is on the pages of the series, and in `alerts explain`. */
const MOST_REASONS = 6
const MOST_TOLD = 10

/** What is open, why everything stands where it stands, and what was told of it: the same as `alerts explain` says. */
export function alertsPart(
  view: AccountView,
  explained: AccountExplanation,
  all: AccountSeries,
  mayWrite: boolean,
): Html {
  const { now } = all
  const titles = new Map(explained.series.map(({ field, series }) => [field, series.label]))
  const open = view.alerts.map((alert) => {
    const label = titles.get(alert.field)
    const named = alert.series === undefined || label === undefined ? {} : { series: { ...alert.series, label } }
    return { ...timedAlert(alert), ...named }
  })
  const why = new Map(explained.series.map((one) => [one.field, whyOpen(one)]))
  return html`<section id="alerts"><h2>Open alerts</h2>
${open.length === 0 ? nothing('No alert is open.') : alertTable(open, now, 'of one account', { why, mayWrite })}
${othersPart(explained, all)}
${toldPart([...explained.own, ...explained.series], now)}
</section>`
}

const RANK: Readonly<Record<ExplainedAlert['state'], number>> = {
  ...{ critical: 0, warning: 1, pending: 2, unknown: 3, ok: 4, off: 5 },
}

/** Why it stands there, by which rule of the file, and what keeps it from people. */
function whyOpen({ why, held, rule }: ExplainedSeries): string {
  const by = rule === null ? '' : ` (${rule.at})`
  return cleanText([`${why}${by}`, ...held.map(({ text }) => text)].join('; '), 400)
}

function othersPart({ series }: AccountExplanation, all: AccountSeries): Html | undefined {
  const others = series
    .filter(({ state }) => RANK[state] > RANK.warning)
    .toSorted((a, b) => RANK[a.state] - RANK[b.state] || (b.series.percent ?? -1) - (a.series.percent ?? -1))
  if (others.length === 0) return undefined
  const more = others.length - MOST_REASONS
  return html`<details><summary>Why nothing else alerts</summary>
${table(
  'Why the other series do not alert',
  [{ title: 'State' }, { title: 'What' }, { title: 'Because' }, { title: 'Rule' }, { title: 'Would tell' }],
  others
    .slice(0, MOST_REASONS)
    .map((one) => [
      stateOf(one.state),
      seriesNamed(one, all),
      cleanText(one.why, 300),
      one.rule === null ? 'none' : ruleText(one.rule),
      toldText(one),
    ]),
)}
${more > 0 ? html`<p class="soft">${countOf(more, 'more series', 'more series')}, each with its page; <code>plimsoll alerts explain ${all.hubId} --all</code> says it of every one.</p>` : undefined}
</details>`
}

function seriesNamed({ field, subject }: ExplainedSeries, all: AccountSeries): Html | string {
  const series = all.find(field)
  return series === undefined ? subject : seriesLink(all, series)
}

const LOOK: Readonly<Record<ExplainedAlert['state'], string>> = {
  ...{ critical: 'critical', warning: 'warning', pending: 'warning', ok: 'good', unknown: 'off', off: 'off' },
}

export function stateOf(state: ExplainedAlert['state']): Html {
  return html`<span class="badge ${LOOK[state]}">${state}</span>`
}

/** A rule by its place in the file, its name and what it asks. */
export function ruleText({ at, name, asks }: RulePlace): Html {
  return html`<code>${at}</code> ${cleanText(name, 80)}: ${asks}`
}

/** What holds it back, or who is told. */
export function toldText({ held, route }: ExplainedAlert): string {
  if (held.length > 0) return cleanText(held.map(({ text }) => text).join('; '), 300)
  return route === null ? 'nobody: no route is for it' : `${route.at}: ${route.to.join(', ')}`
}

/** The last things that were told of an account, or of one series, with what became of them. */
export function toldPart(explained: readonly ExplainedAlert[], now: number): Html {
  const all = explained.flatMap(({ subject, transitions }) => transitions.map((one) => ({ ...one, subject })))
  const newest = all.toSorted((a, b) => b.at - a.at).slice(0, MOST_TOLD)
  if (newest.length === 0) return html`<p class="soft">Nothing was told of it, as far as is remembered.</p>`
  return html`<h2>Last told</h2>
${table(
  'What was told, and what became of it',
  [{ title: 'When' }, { title: 'What' }, { title: 'Told as' }, { title: 'Became' }, { title: 'Deliveries' }],
  newest.map((one) => [when(one.at, now), one.subject, toldAs(one), fateOf(one), deliveriesOf(one)]),
)}`
}

function toldAs({ alert: { kind, level, reason, percent, usage } }: ToldTransition): string {
  const what = kind === 'limit-changed' ? 'limit changed' : `${level} ${reason}`
  const at = percent !== undefined ? formatPercent(percent) : usage === undefined ? '' : formatCount(usage)
  return at === '' ? what : `${what} at ${at}`
}

function fateOf({ fate, why, waiting }: ToldTransition): string {
  const where = waiting.map(({ receiver, where, until, because }) =>
    [
      where,
      receiver === '' ? '' : `for ${receiver}`,
      until === null ? '' : `until ${formatMoment(until)}`,
      because ?? '',
    ]
      .filter((part) => part !== '')
      .join(' '),
  )
  return cleanText([`${fate}${why === '' ? '' : `: ${why}`}`, ...where].join('; '), 300)
}

function deliveriesOf({ attempts }: ToldTransition): Html {
  const lines = attempts.map(({ at, receiver, outcome, attempt, reason }) => {
    const text = `${receiver}: ${outcome} ${formatMoment(at)} (attempt ${attempt}${reason === '' ? '' : `: ${reason}`})`
    return html`${cleanText(text, 300)}<br>`
  })
  return html`${lines}`
}
