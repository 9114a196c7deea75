import type { Value } from '../../../limits/history/change.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { formatCount, formatSpan } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import { type AccountView, driftText, nextPollBecause } from '../../../views/account-view.ts'
import type { AccountExplanation, ExplainedAlert } from '../../../views/explain-account.ts'
import { formTokenField } from '../../access/form-token.ts'
import { notificationTable } from '../parts/notifications.ts'
import { nothing, table } from '../parts/table.ts'
import { when } from '../parts/when.ts'
import { type AccountSeries, nearestFirst, rangeChoice, seriesChart, seriesLink } from './account-series.ts'
import { recordsPart, seriesPart } from './series-table.ts'
import { type FleetFacts, verdict } from './verdict.ts'

export interface AccountPageContent {
  view: AccountView
  explained: AccountExplanation
  all: AccountSeries
  fleet: FleetFacts
  /** For those who may change something, while the account is not leaving: the token of the forms, and the signed link. */
  may: { token: string; reconnect: string } | undefined
  /** The account's own page at the provider, where that is known. */
  crm: string | undefined
}

/** One account: how it is, what can be done, how its limits moved; then everything else, folded. */
export function accountPage({ view, explained, all, fleet, may, crm }: AccountPageContent): Html {
  return html`<div data-live="account">${verdict(view, fleet, may !== undefined, all.now)}
${facts(view, all.now)}</div>
${actions(all.hubId, may, crm)}
${charts(all)}
${seriesPart(view, all, may !== undefined)}
${recordsPart(all)}
${notifications([...explained.own, ...explained.series], all.now)}
${history(view, all)}
${connection(view, all.now)}`
}

type Facts = readonly (readonly [name: string, value: Html | undefined])[]

export function factList(rows: Facts): Html {
  const shown = rows.filter(([, value]) => value !== undefined)
  return html`<dl class="facts">${shown.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}

function facts(view: AccountView, now: number): Html {
  const { hubId, polledAt, nextPollAt, nextRefreshAt, token, state } = view.account
  const because = nextPollBecause(view)
  const at = (moment: number | null) => (moment === null ? undefined : when(moment, now))
  return factList([
    ['Hub id', html`${hubId}`],
    ['Token expires', state === 'uninstalled' ? undefined : at(token.expiresAt)],
    ['Next refresh', at(nextRefreshAt)],
    ['Last poll', when(polledAt, now)],
    [
      'Next poll',
      nextPollAt === null ? undefined : html`${when(nextPollAt, now)}${because === null ? '' : `, because ${because}`}`,
    ],
  ])
}

/** Each form works without a script, and the field with the link can be copied from. */
function actions(hubId: number, may: AccountPageContent['may'], crm: string | undefined): Html {
  const path = `/accounts/${hubId}`
  const site = crm === undefined ? undefined : html`<a class="button" href="${crm}" rel="noreferrer">Open in CRM</a>`
  if (may === undefined) return html`<div class="buttons">${site}</div>`
  const send = (what: string, text: string) =>
    html`<form method="post" action="${path}/${what}">${formTokenField(may.token)}<button class="second">${text}</button></form>`
  return html`<div class="buttons">
${send('poll', 'Poll now')}${send('refresh', 'Refresh now')}${site}
<a class="button grave" href="${path}/uninstall">Uninstall</a>
<label class="copy">Reconnect link <input id="reconnect" value="${may.reconnect}" readonly size="24"></label>
<button type="button" class="second" data-copy="reconnect" hidden>Copy reconnect link</button>
</div>`
}

/** Charts at once; every series has its own page with one. */
const MOST_CHARTS = 4
const HEIGHT = 120

function charts(all: AccountSeries): Html {
  const shown = nearestFirst(all.current)
    .filter(({ level, current }) => level !== undefined || (current?.percent ?? 0) > 0)
    .slice(0, MOST_CHARTS)
  return html`<section id="charts"><div class="head"><h2>Charts</h2>
${rangeChoice(all, (range) => `/accounts/${all.hubId}?range=${range}#charts`)}</div>
${shown.length === 0 ? nothing('There is nothing to draw yet: nothing is used, or nothing was read.') : undefined}
<div class="charts">${shown.map((series, n) =>
    seriesChart(all, series, { id: `chart-${n}`, height: HEIGHT, caption: html`<h3>${seriesLink(all, series)}</h3>` }),
  )}</div>
</section>`
}

const MOST_NOTIFIED = 20

/** What was sent about an account, or one series, newest first, with its outcome. */
export function notifications(explained: readonly ExplainedAlert[], now: number): Html {
  const all = explained.flatMap(({ subject, transitions }) => transitions.map((one) => ({ ...one, subject })))
  const newest = all.toSorted((a, b) => b.at - a.at).slice(0, MOST_NOTIFIED)
  return html`<details id="notifications"><summary>Notifications (${newest.length})</summary>
${notificationTable(newest, now)}</details>`
}

const MOST_CHANGES = 30
const WEEK_MS = 7 * 86_400_000

/** What happened to the account, and what its polls found changed in the last week, newest first. */
function history({ story }: AccountView, all: AccountSeries): Html {
  const rows = [
    ...story.map(({ at, event, detail }) => ({
      at,
      what: html`${event}`,
      detail: html`${cleanText(detail ?? '', 400)}`,
    })),
    ...changes(all),
  ].toSorted((a, b) => b.at - a.at)
  return html`<details id="history"><summary>History (${rows.length})</summary>
${table(
  'History',
  [{ title: 'When' }, { title: 'What' }, { title: 'Details' }],
  rows.map(({ at, what, detail }) => [when(at, all.now), what, detail]),
)}</details>`
}

/** What the very first poll found is no change. */
function changes(all: AccountSeries) {
  const { series, polls } = all.timeline
  const after = Math.max(polls[0]?.at ?? 0, all.now - WEEK_MS - 1)
  return [...series]
    .flatMap(([id, stretches]) =>
      stretches.flatMap(({ from, value }, n) =>
        from > after ? [{ at: from, id, before: stretches[n - 1]?.value, value }] : [],
      ),
    )
    .toSorted((a, b) => b.at - a.at)
    .slice(0, MOST_CHANGES)
    .map(({ at, id, before, value }) => {
      const found = all.find(id)
      const what = found === undefined ? html`${id}` : seriesLink(all, found)
      return { at, what, detail: html`${amount(before, 'appeared')} → ${amount(value, 'disappeared')}` }
    })
}

function amount(value: Value | undefined, absent: string): string {
  if (value === undefined) return absent
  return `${formatCount(value.usage)}${value.limit === null ? '' : ` of ${formatCount(value.limit)}`}`
}

/** Who connected the account, with which scopes, and the life of its tokens: never a token. */
function connection({ account, scopes }: AccountView, now: number): Html {
  const { token, tokenServedAt, tokenServedTo, user, connectedAt } = account
  const { obtainedAt, expiresAt, driftMs } = token
  return html`<details id="connection"><summary>Connection and tokens</summary>
${factList([
  ['Installed by', user === null || user === '' ? undefined : html`${cleanText(user, 120)}`],
  ['Connected', when(connectedAt, now)],
  [
    'Scopes',
    scopes.length === 0 ? undefined : html`${scopes.map((scope) => html`<code>${cleanText(scope, 80)}</code> `)}`,
  ],
  ['Token obtained', obtainedAt === null ? html`with its first refresh` : when(obtainedAt, now)],
  ['Life', obtainedAt === null || expiresAt === null ? undefined : html`${formatSpan(expiresAt - obtainedAt)}`],
  ["Provider's clock", driftMs === null ? undefined : html`${driftText(driftMs)}`],
  [
    'Token last served',
    tokenServedAt === null ? undefined : html`${when(tokenServedAt, now)}, to ${cleanText(tokenServedTo ?? '', 60)}`,
  ],
])}</details>`
}

/** What an uninstall does, before it is done. */
export function uninstallPage(hubId: number, token: string): Html {
  return html`<p>From then on nothing is refreshed or polled, and no alert is sent. A job deletes the refresh token at the provider; later everything that is kept of the account is deleted, its history too. To undo it, the account must be connected again.</p>
<form method="post" action="/accounts/${hubId}/uninstall" class="form panel">
${formTokenField(token)}
<label>Reason <input name="reason" maxlength="200" autocomplete="off" placeholder="for the log"></label>
<div class="buttons"><button class="grave">Uninstall</button> <a class="button" href="/accounts/${hubId}">Cancel</a></div>
</form>`
}
