import { countsRecords } from '../../../alerts/series-name.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { countOf, formatCount, formatDaysLeft } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import { noForecastText } from '../../../views/account-view.ts'
import { ruleLineText } from '../../../views/explain-account.ts'
import { isLeaving } from '../../../views/judge-account.ts'
import type { AccountDetailsShape } from '../../../views/shapes/account.ts'
import type { ExplainedAlertShape, RulePlaceShape } from '../../../views/shapes/explanation.ts'
import { isHandled } from '../../../views/silenced.ts'
import { alertPath } from '../parts/alert-links.ts'
import { alertActions, alertTable } from '../parts/alert-lists.ts'
import { badge, fullness, NONE, when } from '../parts/cells.ts'
import { htmlTable, longTable, nothing } from '../parts/tables.ts'
import {
  type AccountSeries,
  nearestFirst,
  type ShownSeries,
  seriesLink,
  sparklineOf,
  unitOf,
} from './account-series.ts'

/** Rows at once of series with an alert, filled up with the nearest limits; all others are folded. */
const AT_ONCE = 6
const LEAST = 3
/** Most rows of the page: the API has the others. */
const MOST = 300

type Open = AccountDetailsShape['alerts'][number]

/** A series with the content of its row. */
interface Row extends ShownSeries {
  open: Open | undefined
  state: ExplainedAlertShape['state'] | undefined
  /** Read too long ago to be relied on. */
  isOld: boolean
}

/** Every series, those that are well folded; alerts that are about the account itself are no limits, and come before. */
export function seriesPart(
  { alerts, state }: AccountDetailsShape,
  all: AccountSeries,
  { mayWrite, freshnessMs }: { mayWrite: boolean; freshnessMs: number },
): Html {
  const own = alerts.filter(({ series }) => series === undefined)
  const open = new Map(alerts.map((alert) => [alert.field, alert]))
  const found = nearestFirst(all.current).map((one): Row => {
    const { id, current } = one
    const isOld = state === 'reauthorize' || !(all.now - Date.parse(current?.measuredAt ?? '') <= freshnessMs)
    return { ...one, open: open.get(id), state: current?.state, isOld }
  })
  const [notable, others] = [found.filter(isNotable), found.filter((one) => !isNotable(one))]
  const noForecast = noForecastText(found.flatMap(({ current }) => current ?? []))
  const isKnown = ({ open: alert }: Row) => Number(alert !== undefined && isHandled(alert))
  const rows = [...notable.toSorted((a, b) => isKnown(a) - isKnown(b)), ...others]
  const count = Math.max(LEAST, Math.min(notable.length, AT_ONCE))
  const [first, folded] = [rows.slice(0, count), rows.slice(count, MOST)]
  return html`<div id="alerts">${own.length === 0 ? undefined : html`<section><h2>Alerts about tokens and polls</h2>${alertTable(own, all.now, { mayWrite })}</section>`}
<section><h2>Limits</h2>
${found.length === 0 ? nothing('Not read yet.') : html`${noForecast === undefined || isLeaving({ state }) ? undefined : html`<p class="soft">${noForecast}</p>`}${seriesTable(first, all, mayWrite)}`}
${folded.length === 0 ? undefined : html`<details><summary>${foldedText(folded)}</summary>${seriesTable(folded, all, mayWrite)}</details>`}
${found.length > MOST ? html`<p class="soft">${countOf(found.length - MOST, 'more limit')} in the API.</p>` : undefined}
</section></div>`
}

function isNotable({ state }: Row): boolean {
  return state === 'critical' || state === 'warning' || state === 'pending'
}

/** `36 more limits, all OK`; `32 more limits: 28 OK, 4 without a threshold`. */
function foldedText(rows: readonly Row[]): string {
  const counts = Map.groupBy(rows, ({ state = 'off', isOld }) => (isOld ? 'last known' : STATE_WORDS[state]))
  const more = countOf(rows.length, 'more limit')
  const [[only] = []] = counts
  if (counts.size === 1) return `${more}, all ${only}`
  return `${more}: ${[...counts].map(([word, some]) => `${formatCount(some.length)} ${word}`).join(', ')}`
}

function seriesTable(some: readonly Row[], all: AccountSeries, mayWrite: boolean): Html {
  const hasActions = mayWrite && some.some(({ open }) => open !== undefined)
  return html`<div class="limits">${htmlTable(
    'Limits',
    ['What', `Last ${all.range}`, 'Used', 'Days left', 'Alert', hasActions && 'To do'],
    some.map((one) => [
      seriesLink(all, one),
      sparklineOf(all, one),
      used(one),
      daysLeft(one.current),
      alertOf(one, all.now),
      hasActions && (one.open === undefined ? '' : alertActions(one.open)),
    ]),
  )}</div>`
}

function used({ current, level, name }: ShownSeries): Html {
  if (current === undefined) return NONE
  if (current.percent === null) return html`${formatCount(current.usage)} ${unitOf(name)}`
  return fullness(current, level)
}

/** When it reaches its limit. */
function daysLeft(current: ShownSeries['current']): Html {
  const { forecast } = current ?? {}
  return forecast == null ? NONE : html`${formatDaysLeft(forecast.days, forecast)}`
}

/**
 * State of the alert, with a link where one is open, and since when or why it is not sent; and the reading's age where it is
 * old.
 */
function alertOf({ state, open, isOld, current }: Row, now: number): Html {
  if (state === undefined) return NONE
  const age = isOld ? html` <span class="is-warning">read ${when(current?.measuredAt ?? null, now)}</span>` : undefined
  if (open === undefined) return html`${stateOf(state, isOld)}${age}`
  const { silencedBy, since } = open
  const held = silencedBy === undefined ? html`acknowledged` : html`<a href="/silences">silenced</a>`
  const isHeld = isHandled(open)
  return html`<a href="${alertPath(open)}">${isHeld ? badge('off', STATE_WORDS[state]) : stateOf(state)}</a> ${isHeld ? held : when(since, now)}${age}`
}

const LOOK: Partial<Record<ExplainedAlertShape['state'], string>> = {
  critical: 'critical',
  warning: 'warning',
  pending: 'warning',
  failing: 'warning',
  ok: 'good',
}
const STATE_WORDS: Readonly<Record<ExplainedAlertShape['state'], string>> = {
  critical: 'critical',
  warning: 'warning',
  pending: 'pending',
  failing: 'failing',
  ok: 'OK',
  unknown: 'unknown',
  off: 'without a threshold',
}

/** Nothing that is old or not watched is called well. */
export function stateOf(state: ExplainedAlertShape['state'], isPast = false): Html {
  if (state === 'off') return html`<span class="soft">${STATE_WORDS.off}</span>`
  return isPast && state === 'ok' ? badge('off', 'last known') : badge(LOOK[state] ?? 'off', STATE_WORDS[state])
}

/** A rule by its name, and where it is in the config. */
export function ruleText(rule: RulePlaceShape | null): Html {
  return rule === null
    ? html`<span class="soft">none</span>`
    : html`${rule.title} <span class="soft">${ruleLineText(rule)}</span>`
}

/** The records behind the associations, per direction of a pair; it shows where the provider gives only samples. */
export function recordsPart(all: AccountSeries): Html {
  const pairs = all.current.filter(
    ({ name, current }) => countsRecords(name) === undefined && (current?.records?.total ?? 0) > 0,
  )
  if (pairs.length === 0) return html``
  const rows = pairs.flatMap(({ title, current }) => {
    const { shown = 0, total = 0, items = [] } = current?.records ?? {}
    const note = html`${title} <span class="soft">${shown < total ? `${formatCount(shown)} of ${formatCount(total)} shown` : ''}</span>`
    return items.length === 0
      ? [[note, '', '', '']]
      : items.map(({ label, objectId, usage }, n) => [
          n === 0 ? note : '',
          cleanText(label ?? '', 80) || '(no name)',
          String(objectId),
          formatCount(usage ?? current?.limit ?? 0),
        ])
  })
  const columns = ['Of', 'Record', 'Id', { title: 'Associations', number: true }]
  return html`<section id="records"><h2>Records at or near their limit</h2>
${longTable('Records', columns, rows.slice(0, MOST), 3)}</section>`
}
