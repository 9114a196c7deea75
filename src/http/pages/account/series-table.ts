import { cleanText } from '../../../text/clean-text.ts'
import { countOf, formatCount, formatDaysLeft } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import type { AccountView, CurrentSeries } from '../../../views/account-view.ts'
import { type ExplainedAlert, type RulePlace, ruleLineText } from '../../../views/explain-account.ts'
import { timedAlert } from '../../../views/find-alerts.ts'
import { alertPath } from '../parts/alert-links.ts'
import { alertTable } from '../parts/alert-lists.ts'
import { badge, fullness, NONE, when } from '../parts/cells.ts'
import { htmlTable, nothing } from '../parts/tables.ts'
import {
  type AccountSeries,
  nearestFirst,
  type ShownSeries,
  seriesLink,
  sparklineOf,
  unitOf,
} from './account-series.ts'

/** Rows at once; the next ones are folded, and what an account may have beyond those is the API's. */
const AT_ONCE = 40
const MOST = 300

type Open = AccountView['alerts'][number]

/** Every series in one table, with the alerts that are about the account itself above it. */
export function seriesPart({ alerts }: AccountView, all: AccountSeries, mayWrite: boolean): Html {
  const own = alerts.filter(({ series }) => series === undefined).map(timedAlert)
  const open = new Map(alerts.map((alert) => [alert.field, alert]))
  const found = nearestFirst(all.current)
  const [first, folded] = [found.slice(0, AT_ONCE), found.slice(AT_ONCE, MOST)]
  const rows = (some: readonly ShownSeries[]) => seriesTable(some, open, all)
  return html`<section id="alerts"><h2>Limits</h2>
${own.length === 0 ? undefined : alertTable(own, all.now, { mayWrite })}
${found.length === 0 ? nothing('Not read yet.') : html`${noDaysLeft(found)}${rows(first)}`}
${folded.length === 0 ? undefined : html`<details><summary>${countOf(folded.length, 'more series', 'more series')}</summary>${rows(folded)}</details>`}
${found.length > MOST ? html`<p class="soft">${countOf(found.length - MOST, 'more series', 'more series')} in the API.</p>` : undefined}
</section>`
}

function seriesTable(some: readonly ShownSeries[], open: ReadonlyMap<string, Open>, all: AccountSeries): Html {
  return html`<div class="series limits">${htmlTable(
    'Limits',
    ['What', `Last ${all.range}`, 'Used', 'Days left', 'Alert', 'Rule'],
    some.map((one) => [
      seriesLink(all, one, shortName(one)),
      sparklineOf(all, one),
      used(one),
      daysLeft(one.current),
      alertOf(one, open.get(one.id), all.now),
      ruleText(one.explained?.rule ?? null),
    ]),
  )}</div>`
}

/** In one line, what tells it from the others first. */
function shortName({ title }: ShownSeries): string {
  return title
    .replace(/^custom properties of (.*)$/, '$1: properties')
    .replace(/records (at|near) the association limit$/, '$1 limit')
}

function used({ current, level, name }: ShownSeries): Html {
  if (current === undefined) return NONE
  if (current.percent === null) return html`${formatCount(current.usage)} ${unitOf(name)}`
  return fullness(current, level)
}

/** When it reaches its limit, or how much more must be read before that can be known. */
function daysLeft(current: CurrentSeries | undefined): Html {
  if (current?.daysRead !== undefined) return html`<span class="soft">${current.daysRead}</span>`
  const { forecast } = current ?? {}
  return forecast == null ? NONE : html`${formatDaysLeft(forecast.days, forecast)}`
}

/** Why there are no days left in the whole table, said once, of its first series with a limit. */
function noDaysLeft(rows: readonly ShownSeries[]): Html | undefined {
  if (rows.some(({ current }) => current?.forecast != null)) return undefined
  const reason = rows.find(({ current }) => current?.limit != null)?.current?.forecastReason
  return reason == null ? undefined : html`<p class="soft">No days left are shown: ${reason}.</p>`
}

/** Its state, on the way to the alert where one is open, since when or what keeps it from being sent. */
function alertOf({ explained }: ShownSeries, open: Open | undefined, now: number): Html {
  if (explained === undefined) return NONE
  if (open === undefined) return stateOf(explained.state)
  const { silencedBy, acknowledged, since } = open
  const held = silencedBy === undefined ? html`acknowledged` : html`<a href="/alerts#${silencedBy}">silenced</a>`
  const isHeld = silencedBy !== undefined || acknowledged !== undefined
  return html`<a href="${alertPath(open)}">${stateOf(explained.state)}</a> ${isHeld ? held : when(since, now)}`
}

const LOOK: Readonly<Record<ExplainedAlert['state'], string>> = {
  ...{ critical: 'critical', warning: 'warning', pending: 'warning', ok: 'good', unknown: 'off', off: 'off' },
}

export function stateOf(state: ExplainedAlert['state']): Html {
  return badge(LOOK[state], state)
}

/** A rule by its name, and where it is in the config. */
export function ruleText(rule: RulePlace | null): Html {
  return rule === null
    ? html`<span class="soft">none</span>`
    : html`<span class="rule"><span>${rule.title}</span> <span class="soft">${ruleLineText(rule)}</span></span>`
}

/** Records shown at once. */
const MOST_RECORDS = 6

/** The records behind the associations, per direction of a pair; it says where the provider shows only samples. */
export function recordsPart(all: AccountSeries): Html {
  const pairs = all.current.filter(
    ({ name, current }) => name.metric === 'associations.fullest' && (current?.records?.total ?? 0) > 0,
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
          usage === undefined ? 'at its limit' : formatCount(usage),
        ])
  })
  const columns = ['Of', 'Record', 'Id', { title: 'Associations', number: true }]
  const some = (from: number, to: number) =>
    html`<div class="series">${htmlTable('Records', columns, rows.slice(from, to))}</div>`
  return html`<section id="records"><h2>Records at or near their limit</h2>
${some(0, MOST_RECORDS)}
${rows.length > MOST_RECORDS ? html`<details><summary>${countOf(rows.length - MOST_RECORDS, 'more record')}</summary>${some(MOST_RECORDS, MOST)}</details>` : undefined}
</section>`
}
