import type { Account } from '../../../accounts/account.ts'
import type { AlertLevel } from '../../../alerts/alert.ts'
import type { OpenAlert } from '../../../alerts/open-alerts.ts'
import { seriesName } from '../../../alerts/series-name.ts'
import type { SeriesName } from '../../../limits/series.ts'
import { opensLimits } from '../../../provider/scopes.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { countOf, formatCount } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import { type AccountView, type CurrentSeries, driftText, nextPollBecause } from '../../../views/account-view.ts'
import { timedAlert } from '../../../views/fleet-status.ts'
import { watchText } from '../../../views/watch.ts'
import { alertTable } from '../parts/alert-table.ts'
import { stateBadge } from '../parts/badges.ts'
import { fullness } from '../parts/bar.ts'
import { daysLeftNote, noDaysLeft } from '../parts/days-left-note.ts'
import { nothing, table } from '../parts/table.ts'
import { when } from '../parts/when.ts'
import { recordsPart } from './records-part.ts'
import type { SeriesChange } from './series-changes.ts'

/** Rows of one table: an account may watch hundreds of pairs, and the full list is the API's. */
const MOST_ROWS = 100

export interface AccountPage extends AccountView {
  changes: readonly SeriesChange[]
  /** Why series with an open alert stand where they stand, by their ids. */
  why: ReadonlyMap<string, string>
  now: number
}

export function accountPage(page: AccountPage): Html {
  const labels = labelsOf(page.series)
  return html`${standing(page.account, page.now)}
${facts(page)}
${storyPart(page)}
${alertsPart(page, labels)}
${customPropertiesPart(page)}
${associationsPart(page, labels)}
${recordsPart(page.series, (id) => typeName(id, labels))}
${changesPart(page, labels)}`
}

/** What the state means, in a sentence or two. */
function standing({ state, refreshFailure, parkedUntil, uninstall, pollBlocked }: Account, now: number): Html {
  const reason = html`${cleanText(refreshFailure?.reason ?? '', 300)}`
  switch (state) {
    case 'active':
      if (pollBlocked?.what === 'all')
        return html`<p>${stateBadge(state)} Its tokens are kept fresh, but its limits cannot be watched.</p>`
      return html`<p>${stateBadge(state)} Its tokens are kept fresh and its limits are polled.</p>`
    case 'failing':
      return html`<p>${stateBadge(state)} Refreshing its tokens fails for now and is tried again and again. ${reason}</p>`
    case 'parked':
      return html`<p>${stateBadge(state)} The provider told us to stay away from this account; we try again ${when(parkedUntil, now)}. ${reason}</p>`
    case 'reauthorize':
      if (refreshFailure?.class === 'foreign')
        return html`<p>${stateBadge(state)} The token that was imported for it belongs to another account: nothing is read or refreshed under this name. Import it with its own token, or connect it again: <a href="/install">the install page</a>. ${reason}</p>`
      return html`<p>${stateBadge(state)} The provider no longer accepts its refresh token. Somebody with access to the account must connect it again: <a href="/install">the install page</a>. ${reason}</p>`
    case 'uninstalling':
      return html`<p>${stateBadge(state)} Nothing is refreshed or polled any more; its refresh token is being deleted at the provider. Reason: ${cleanText(uninstall?.reason ?? '', 200)}. ${uninstall?.failure == null ? undefined : html`It could not be deleted yet, and is tried again: ${cleanText(uninstall.failure, 300)}`}</p>`
    case 'uninstalled':
      return html`<p>${stateBadge(state)} Uninstalled ${when(uninstall?.at ?? null, now)}, its refresh token deleted. Record and readings are forgotten ${when(uninstall?.purgeAt ?? null, now)}. Reason: ${cleanText(uninstall?.reason ?? '', 200)}.</p>`
  }
}

function facts({ account, scopes, series, now }: AccountPage): Html {
  const { token, refreshFailure, pollFailure } = account
  const rows: [string, Html | undefined][] = [
    ['Hub id', html`${account.hubId}`],
    ['Installed by', account.user === null || account.user === '' ? undefined : html`${cleanText(account.user, 120)}`],
    ['Connected', when(account.connectedAt, now)],
    ['Token obtained', token.obtainedAt === null ? html`with its first refresh` : when(token.obtainedAt, now)],
    [
      'Token expires',
      account.state === 'uninstalled' || token.expiresAt === null ? undefined : when(token.expiresAt, now),
    ],
    ["Provider's clock", token.driftMs === null ? undefined : html`${driftText(token.driftMs)}`],
    ['Next refresh', account.nextRefreshAt === null ? undefined : when(account.nextRefreshAt, now)],
    ['Failed refreshes', refreshFailure === null ? undefined : failure(refreshFailure, now)],
    ['Token last served', account.tokenServedAt === null ? undefined : served(account, now)],
    ['Last poll', when(account.polledAt, now)],
    ['Next poll', nextPoll(account, series, now)],
    ['Failed polls', pollFailure === null ? undefined : failure(pollFailure, now)],
    ['Limits', watched(account, now)],
    ['Scopes', scopes.length === 0 ? undefined : scopeList(scopes)],
  ]
  const shown = rows.map(([name, value]) =>
    value === undefined
      ? undefined
      : html`<div${name === 'Scopes' ? html` class="across"` : undefined}><dt>${name}</dt><dd>${value}</dd></div>`,
  )
  return html`<dl class="facts">${shown.filter((row) => row !== undefined)}</dl>`
}

function nextPoll(account: AccountView['account'], series: readonly CurrentSeries[], now: number): Html | undefined {
  if (account.nextPollAt === null) return undefined
  const because = nextPollBecause({ account, series })
  return html`${when(account.nextPollAt, now)}${because === null ? undefined : `, because ${because}`}`
}

function served({ tokenServedAt, tokenServedTo }: Account, now: number): Html {
  return html`${when(tokenServedAt, now)}, to ${cleanText(tokenServedTo ?? '', 60)}`
}

function watched(account: Account, now: number): Html | undefined {
  const text = watchText(account)
  return text === undefined
    ? undefined
    : html`<span class="is-warning">${cleanText(text, 300)}</span> (since ${when(account.pollBlocked?.since ?? null, now)}). Connect it again with any <code>crm.objects.*.read</code> scope: <a href="/install">the install page</a>.`
}

function failure({ count, reason, at }: { count: number; reason: string; at: number }, now: number): Html {
  return html`${formatCount(count)}, the last ${when(at, now)}: ${cleanText(reason, 300)}`
}

function scopeList(scopes: readonly string[]): Html {
  const warning = html` <span class="badge warning">none of them lets limits be read</span>`
  return html`${scopes.map((scope) => html`<code>${cleanText(scope, 80)}</code> `)}${opensLimits(scopes) ? undefined : warning}`
}

function storyPart({ story, now }: AccountPage): Html {
  return html`<h2>Story</h2>
${table(
  'Story',
  [{ title: 'When' }, { title: 'What' }, { title: 'Details' }],
  story.map(({ at, event, detail }) => [when(at, now), event, cleanText(detail ?? '', 400)]),
)}`
}

function alertsPart({ alerts, why, now }: AccountPage, labels: Labels): Html {
  const shown = alerts.map((alert) => ({
    ...timedAlert(alert),
    ...(alert.series === undefined ? {} : { series: labelled(alert.series, labels) }),
  }))
  return html`<h2>Open alerts</h2>
${shown.length === 0 ? nothing('No alert is open.') : alertTable(shown, now, 'of one account', { why })}`
}

function customPropertiesPart({ series, alerts, now }: AccountPage): Html {
  const rows = series
    .filter(({ from }) => from === undefined)
    .toSorted((a, b) => rank(b) - rank(a))
    .slice(0, MOST_ROWS)
  const measured = rows[0]?.measuredAt ?? null
  return html`<h2>Custom properties</h2>
${
  rows.length === 0
    ? nothing('Not read yet.')
    : html`<p class="soft">As read ${when(measured, now)}.${noDaysLeft(rows)}</p>
${table(
  'Custom properties',
  [{ title: 'What' }, { title: 'How full' }],
  rows.map((one) => [seriesName(one), html`${fullness(one, levelOf(one, alerts))}${daysLeftNote(one)}`]),
)}`
}`
}

/** The account's own sum first, then the fullest. */
function rank({ metric, percent }: CurrentSeries): number {
  return metric === 'customProperties.overall' ? Number.MAX_VALUE : (percent ?? -1)
}

/** One row per pair: its three series side by side. */
function associationsPart({ series, alerts, now }: AccountPage, labels: Labels): Html {
  const pairs = Map.groupBy(
    series.filter(({ from }) => from !== undefined),
    ({ from, to }) => `${from}/${to}`,
  )
  const rows = [...pairs.values()].toSorted((a, b) => fullest(b) - fullest(a))
  if (rows.length === 0) return html``
  const more = rows.length - MOST_ROWS
  return html`<h2>Associations</h2>
<p class="soft">Records at or near their limit of associations, per direction of a pair of object types. As read ${when(rows[0]?.[0]?.measuredAt ?? null, now)}.</p>
${table(
  'Associations',
  [
    { title: 'From' },
    { title: 'To' },
    { title: 'At limit', number: true },
    { title: 'Near limit', number: true },
    { title: 'Fullest record' },
  ],
  rows.slice(0, MOST_ROWS).map((pair) => pairRow(pair, alerts, labels)),
)}
${more > 0 ? html`<p class="soft">${countOf(more, 'more pair')} in the API.</p>` : undefined}`
}

function pairRow(pair: readonly CurrentSeries[], alerts: readonly OpenAlert[], labels: Labels): Html[] {
  const cell = (metric: string) => {
    const series = pair.find((one) => one.metric === metric)
    if (series === undefined) return html`–`
    const level = levelOf(series, alerts)
    if (series.limit !== null) return html`${fullness(series, level)}${daysLeftNote(series)}`
    return html`<span class="${level === undefined ? '' : `is-${level}`}">${formatCount(series.usage)}</span>`
  }
  const [first] = pair
  return [
    html`${typeName(first?.from ?? '', labels)}`,
    html`${typeName(first?.to ?? '', labels)}`,
    cell('associations.atLimit'),
    cell('associations.nearLimit'),
    cell('associations.fullest'),
  ]
}

function fullest(pair: readonly CurrentSeries[]): number {
  return Math.max(
    ...pair.map(({ metric, usage, percent }) => (metric === 'associations.atLimit' ? usage * 1e6 : (percent ?? 0))),
  )
}

function changesPart({ changes, now }: AccountPage, labels: Labels): Html {
  return html`<h2>Last changes</h2>
${
  changes.length === 0
    ? nothing('Nothing has changed in the last seven days.')
    : table(
        'Last changes',
        [{ title: 'When' }, { title: 'What' }, { title: 'Before', number: true }, { title: 'After', number: true }],
        changes.map((change) => [
          when(change.at, now),
          seriesName(labelled(change.series, labels)),
          amount(change.before, 'appeared'),
          amount(change.after, 'disappeared'),
        ]),
      )
}`
}

function amount(value: SeriesChange['before'], absent: string): Html {
  if (value === undefined) return html`<span class="soft">${absent}</span>`
  const { usage, limit } = value
  return html`${formatCount(usage)}${limit === null ? undefined : html` <span class="soft">of ${formatCount(limit)}</span>`}`
}

/** objectTypeId -> the name that the account gives it */
type Labels = ReadonlyMap<string, string>

function labelsOf(series: readonly CurrentSeries[]): Labels {
  return new Map(
    series.flatMap(({ objectTypeId, label }) => (objectTypeId === undefined ? [] : [[objectTypeId, label ?? '']])),
  )
}

function labelled<T extends SeriesName>(series: T, labels: Labels): T & { label?: string } {
  const label = labels.get(series.objectTypeId ?? '')
  return label === undefined ? series : { ...series, label }
}

function typeName(id: string, labels: Labels): Html {
  const label = cleanText(labels.get(id) ?? '', 60)
  return label === '' ? html`${cleanText(id, 40)}` : html`${label} <span class="soft">${cleanText(id, 40)}</span>`
}

function levelOf(series: SeriesName, alerts: readonly OpenAlert[]): AlertLevel | undefined {
  return alerts.find((alert) => alert.series !== undefined && nameOf(alert.series) === nameOf(series))?.level
}

function nameOf({ metric, objectTypeId, from, to }: SeriesName): string {
  return JSON.stringify([metric, objectTypeId, from, to])
}
