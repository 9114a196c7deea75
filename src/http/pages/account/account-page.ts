import type { FastifyRequest } from 'fastify'
import * as z from 'zod'
import { alertTitle } from '../../../alerts/alert-title.ts'
import type { Value } from '../../../limits/history/change.ts'
import { metricKind } from '../../../limits/reports/all-reports.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { capitalized, formatCount, keepUnits } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import { crmSite } from '../../../text/provider-site.ts'
import { readAccountView } from '../../../views/account-view.ts'
import { explainView } from '../../../views/explanation.ts'
import { isLeaving, isWorkedOn, needsReconnect } from '../../../views/judge-account.ts'
import { bucketText } from '../../../views/poll-texts.ts'
import type { AccountDetailsShape } from '../../../views/shapes/account.ts'
import type { ExplainedAlertShape } from '../../../views/shapes/explanation.ts'
import { formTokenField, tokenOfWriter } from '../../access/forms.ts'
import { unknownAccount } from '../../problem.ts'
import { check, hubIdOf, oneOf } from '../../query.ts'
import type { WebDeps } from '../../web-deps.ts'
import type { OperatorPage } from '../page.ts'
import { reconnectField, reconnectPart } from '../parts/alert-links.ts'
import { accountTitle, levelBadge, when } from '../parts/cells.ts'
import { notificationTable } from '../parts/notifications.ts'
import { factList, htmlTable, longTable, nothing } from '../parts/tables.ts'
import {
  type AccountSeries,
  accountSeries,
  nearestFirst,
  RANGE_NAMES,
  type RangeName,
  rangeChoice,
  seriesChart,
  seriesLink,
} from './account-series.ts'
import { recordsPart, seriesPart } from './series-table.ts'
import { verdictPart } from './verdict.ts'

export const RANGE = z.object({ range: oneOf(RANGE_NAMES as [RangeName, ...RangeName[]]).optional() })

/** The page shows the newest notifications; `alerts explain` has all of them. */
const MOST_TOLD = { transitions: 30, attempts: 1_000 }

/** An account with its series in a range, or in the usual one. Undefined: there is no such account. */
export async function readAccountPage(deps: WebDeps, hubId: number, range?: RangeName) {
  const view = await readAccountView(deps, hubId)
  if (view === undefined) return undefined
  const history = await deps.history.readable(hubId)
  const explained = await explainView(deps, view, MOST_TOLD)
  const { freshnessMs } = deps.coverage.settings
  const asked = { history, range, freshnessMs }
  const all = accountSeries(deps.explain, view.account, explained.series, asked, deps.clock.now())
  return { account: view.details, hublet: view.account.hublet, explained, all }
}

/** The same of the account that a request is about. */
export async function readAskedAccount(deps: WebDeps, request: FastifyRequest, range: RangeName | undefined) {
  const hubId = hubIdOf(request)
  const read = await readAccountPage(deps, hubId, range)
  if (read === undefined) throw unknownAccount(hubId)
  return read
}

/** One account but for its tokens: its level and what to do, how its limits moved, then all that is known of it. */
export async function showAccountPage(deps: WebDeps, request: FastifyRequest): Promise<OperatorPage> {
  const { range } = check(RANGE, request.query)
  const { account, hublet, explained, all } = await readAskedAccount(deps, request, range)
  const token = isLeaving(account) ? undefined : tokenOfWriter(request)
  const { freshnessMs } = deps.coverage.settings
  const connectAgain =
    token === undefined
      ? html`<a class="button" href="/install">Connect it again</a>`
      : await reconnectPart(deps, account, request)
  const body = html`<div data-live="account">${verdictPart(account, connectAgain)}
<p class="soft">Hub id ${account.hubId}${account.nextPollBecause === null ? undefined : ` · Next poll: ${keepUnits(account.nextPollBecause)}`}</p></div>
${actions(deps, { ...account, hublet }, token, request)}
${seriesPart(account, all, { mayWrite: token !== undefined, freshnessMs })}
${charts(all)}
<div class="beside">${recordsPart(all)}${history(account, all)}</div>
${notifications([...explained.alerts, ...explained.series], all.now)}
<div class="beside">${isLeaving(account) ? undefined : notified(account, token)}${connection(account, all.now)}</div>`
  return { at: '/accounts', title: accountTitle(account), body }
}

/**
 * Each form works without a script, and the field with the link can be copied from. `token`: of a reader who may change
 * something.
 */
function actions(
  deps: WebDeps,
  account: AccountDetailsShape & { hublet: string | undefined },
  token: string | undefined,
  request: FastifyRequest,
): Html {
  const { hubId } = account
  const path = `/accounts/${hubId}`
  const site = crmSite(deps.install.installUrl, account.hublet)
  const crm = site && html`<a class="button" href="${site}/contacts/${hubId}" rel="noreferrer">Open in CRM</a>`
  if (token === undefined) return html`<div class="row">${crm}</div>`
  const send = (what: string, text: string) =>
    html`<form method="post" action="${path}/${what}">${formTokenField(token)}<button class="second">${text}</button></form>`
  return html`<div class="row">
${isWorkedOn(account) ? html`${send('poll', 'Poll now')}${send('refresh', 'Refresh now')}` : undefined}${crm}
<details><summary>More actions</summary><div class="row">
${needsReconnect(account) ? undefined : reconnectField(deps, hubId, request)}
<a class="button grave" href="${path}/uninstall">Uninstall</a></div></details>
</div>`
}

/** Every series has its own page with a chart. */
const MOST_CHARTS = 2
const HEIGHT = 120

function charts(all: AccountSeries): Html | undefined {
  if (all.current.length === 0) return undefined
  const shown = nearestFirst(all.current)
    .filter(({ name, level, current }) => {
      // A sample has no history to draw.
      return metricKind(name.metric)?.isSample !== true && (level !== undefined || (current?.percent ?? 0) > 0)
    })
    .slice(0, MOST_CHARTS)
  return html`<section id="charts"><h2>Charts</h2>
${rangeChoice(all, (range) => `/accounts/${all.hubId}?range=${range}#charts`)}
${shown.length === 0 ? nothing('There is nothing to draw: nothing is used.') : undefined}
<div class="charts">${shown.map((series) => seriesChart(all, series, HEIGHT, html`<h3>${seriesLink(all, series)}</h3>`))}</div>
</section>`
}

const MOST_NOTIFIED = 20

/** Notifications about an account, or one series, newest first, with their outcomes. */
export function notifications(explained: readonly ExplainedAlertShape[], now: number): Html {
  const all = explained.flatMap(({ transitions }) =>
    transitions.map((one) => ({ ...one, subject: capitalized(alertTitle(one.alert)) })),
  )
  const newest = all.toSorted((a, b) => b.at.localeCompare(a.at)).slice(0, MOST_NOTIFIED)
  return html`<section id="notifications"><h2>Notifications</h2>
${notificationTable(newest, now, 2)}</section>`
}

const MOST_CHANGES = 30
const WEEK_MS = 7 * 86_400_000

/** Events of the account, and changes that its polls found in the last week, newest first. */
function history({ story }: AccountDetailsShape, all: AccountSeries): Html {
  const rows = [
    ...story.map(({ at, event, detail }) => ({
      at: Date.parse(at),
      what: html`${capitalized(event)}`,
      detail: html`${cleanText(detail ?? '', 400)}`,
    })),
    ...changes(all),
  ].toSorted((a, b) => b.at - a.at)
  return html`<section id="history"><h2>History</h2>
${longTable(
  'History',
  ['When', 'What', 'Details'],
  rows.map(({ at, what, detail }) => [when(at, all.now), what, detail]),
  5,
)}</section>`
}

/** Values of the very first poll are no change. */
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
      return { at, what, detail: html`${moved(before, value)}` }
    })
}

/** `883 → 891 of 1,000`. */
function moved(before: Value | undefined, value: Value | undefined): string {
  const of = (limit: Value['limit'] | undefined) => (limit == null ? '' : ` of ${formatCount(limit)}`)
  const from = before === undefined ? 'new' : formatCount(before.usage)
  const to = value === undefined ? 'no longer reported' : `${formatCount(value.usage)}${of(value.limit)}`
  return `${from}${before?.limit === value?.limit ? '' : of(before?.limit)} → ${to}`
}

/** The receivers of its alerts, and the customer's address among them. */
function notified(account: AccountDetailsShape, token: string | undefined): Html {
  const rows = account.notified.map(({ level, about, receivers }) => [
    levelBadge(level),
    about.join(', '),
    receivers.join(', ') || html`<span class="is-warning">no receiver: no route is for these</span>`,
  ])
  return html`<section id="contact"><h2>Who is notified <a href="/rules">Rules and routes</a></h2>
${htmlTable('Who is notified', ['Level', 'Alerts about', 'Receivers'], rows)}
${token === undefined ? html`<p>Contact: ${account.contact ?? 'none'}</p>` : contactForm(account, token)}</section>`
}

/** The person who connected the account, the scopes, and when its token was got: never a token. */
function connection(account: AccountDetailsShape, now: number): Html {
  const { token, scopes, tokenServedAt, tokenServedTo, user, connectedAt } = account
  const { obtainedAt } = token
  return html`<section id="connection"><h2>Connection and tokens</h2>
${factList([
  ['Installed by', user === null || user === '' ? undefined : cleanText(user, 120)],
  ['Connected', when(connectedAt, now)],
  [
    'Scopes',
    scopes.length === 0 ? undefined : html`${scopes.map((scope) => html`<code>${cleanText(scope, 80)}</code> `)}`,
  ],
  ['API calls', bucketText(account)],
  ['Token obtained', obtainedAt === null ? 'with its first refresh' : when(obtainedAt, now)],
  [
    'Token last served',
    tokenServedAt === null ? undefined : html`${when(tokenServedAt, now)}, to ${cleanText(tokenServedTo ?? '', 60)}`,
  ],
])}</section>`
}

/** The address for messages of a receiver with `to: account`; an empty field removes it. */
function contactForm({ hubId, contact }: AccountDetailsShape, token: string): Html {
  return html`<form method="post" action="/accounts/${hubId}/contact" class="search">${formTokenField(token)}
<label>Contact <input type="email" name="contact" maxlength="254" autocomplete="off" value="${contact ?? ''}" placeholder="ada@example.com"></label> <button class="second">Save contact</button></form>`
}
