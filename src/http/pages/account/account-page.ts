import type { FastifyRequest } from 'fastify'
import * as z from 'zod'
import type { Value } from '../../../limits/history/change.ts'
import { unlessUnreadable } from '../../../limits/history/packed-bytes.ts'
import { metricKind } from '../../../limits/reports/all-reports.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { countOf, formatCount, formatSpan, keepUnits } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import { crmSite } from '../../../text/provider-site.ts'
import { driftText, readAccountView } from '../../../views/account-view.ts'
import { explainView } from '../../../views/explanation.ts'
import { isLeaving, needsReconnect } from '../../../views/judge-account.ts'
import { bucketText } from '../../../views/poll-texts.ts'
import type { AccountDetailsShape } from '../../../views/shapes/account.ts'
import type { ExplainedAlertShape } from '../../../views/shapes/explanation.ts'
import { formTokenField, tokenOfWriter } from '../../access/forms.ts'
import { unknownAccount } from '../../problem.ts'
import { check, hubIdOf, oneOf } from '../../query.ts'
import type { WebDeps } from '../../web-deps.ts'
import type { OperatorPage } from '../page.ts'
import { reconnectField } from '../parts/alert-links.ts'
import { accountTitle, when } from '../parts/cells.ts'
import { notificationTable } from '../parts/notifications.ts'
import { factList, htmlTable, nothing } from '../parts/tables.ts'
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
  const found = await unlessUnreadable(() => deps.history.changes(hubId))
  const view = await readAccountView(deps, hubId, found === 'unreadable' ? ['history'] : [])
  if (view === undefined) return undefined
  const history = found === 'unreadable' ? undefined : found
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

/** One account but for its tokens: its state, its actions, how its limits moved; then everything else, folded. */
export async function showAccountPage(deps: WebDeps, request: FastifyRequest): Promise<OperatorPage> {
  const { range } = check(RANGE, request.query)
  const { account, hublet, explained, all } = await readAskedAccount(deps, request, range)
  const token = isLeaving(account) ? undefined : tokenOfWriter(request)
  const { freshnessMs } = deps.coverage.settings
  const connectAgain =
    token === undefined
      ? html`<a class="button" href="/install">Connect it again</a>`
      : reconnectField(deps, account.hubId, request)
  const body = html`<div data-live="account">${verdictPart(account, connectAgain)}
${facts(account, all.now)}</div>
${actions(deps, { ...account, hublet }, token, request)}
${seriesPart(account, all, { mayWrite: token !== undefined, freshnessMs })}
${charts(all)}
${recordsPart(all)}
${notifications([...explained.alerts, ...explained.series], all.now)}
${history(account, all)}
${connection(account, token, all.now)}`
  return { at: '/accounts', title: accountTitle(account), body }
}

function facts({ hubId, nextPollAt, nextPollBecause }: AccountDetailsShape, now: number): Html {
  const why = nextPollBecause === null ? '' : `: ${keepUnits(nextPollBecause)}`
  const next = nextPollAt === null ? undefined : html` · Next poll ${when(nextPollAt, now)}${why}`
  return html`<p class="soft">Hub id ${hubId}${next}</p>`
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
${send('poll', 'Poll now')}${send('refresh', 'Refresh now')}${crm}
<a class="button grave" href="${path}/uninstall">Uninstall</a>
${needsReconnect(account) ? undefined : reconnectField(deps, hubId, request)}
</div>`
}

/** Charts at once, and those that are folded; every series has its own page with one. */
const FIRST_CHARTS = 2
const MOST_CHARTS = 4
const HEIGHT = 120

function charts(all: AccountSeries): Html | undefined {
  if (all.current.length === 0) return undefined
  const shown = nearestFirst(all.current)
    .filter(({ name, level, current }) => {
      // A sample has no history to draw.
      return metricKind(name.metric)?.isSample !== true && (level !== undefined || (current?.percent ?? 0) > 0)
    })
    .slice(0, MOST_CHARTS)
  const drawn = shown.map((series) => seriesChart(all, series, HEIGHT, html`<h3>${seriesLink(all, series)}</h3>`))
  return html`<section id="charts"><h2>Charts</h2>
${rangeChoice(all, (range) => `/accounts/${all.hubId}?range=${range}#charts`)}
${shown.length === 0 ? nothing('There is nothing to draw: nothing is used.') : undefined}
<div class="charts">${drawn.slice(0, FIRST_CHARTS)}</div>
${drawn.length <= FIRST_CHARTS ? undefined : html`<details><summary>${countOf(drawn.length - FIRST_CHARTS, 'more chart')}</summary><div class="charts">${drawn.slice(FIRST_CHARTS)}</div></details>`}
</section>`
}

const MOST_NOTIFIED = 20

/** Notifications about an account, or one series, newest first, with their outcomes. */
export function notifications(explained: readonly ExplainedAlertShape[], now: number): Html {
  const all = explained.flatMap(({ subject, transitions }) => transitions.map((one) => ({ ...one, subject })))
  const newest = all.toSorted((a, b) => b.at.localeCompare(a.at)).slice(0, MOST_NOTIFIED)
  return html`<details id="notifications"><summary>Notifications (${newest.length})</summary>
${notificationTable(newest, now)}</details>`
}

const MOST_CHANGES = 30
const WEEK_MS = 7 * 86_400_000

/** Events of the account, and changes that its polls found in the last week, newest first. */
function history({ story }: AccountDetailsShape, all: AccountSeries): Html {
  const rows = [
    ...story.map(({ at, event, detail }) => ({
      at: Date.parse(at),
      what: html`${event}`,
      detail: html`${cleanText(detail ?? '', 400)}`,
    })),
    ...changes(all),
  ].toSorted((a, b) => b.at - a.at)
  return html`<details id="history"><summary>History (${rows.length})</summary>
${htmlTable(
  'History',
  ['When', 'What', 'Details'],
  rows.map(({ at, what, detail }) => [when(at, all.now), what, detail]),
)}</details>`
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
      return { at, what, detail: html`${amount(before, 'appeared')} → ${amount(value, 'disappeared')}` }
    })
}

function amount(value: Value | undefined, absent: string): string {
  if (value === undefined) return absent
  return `${formatCount(value.usage)}${value.limit === null ? '' : ` of ${formatCount(value.limit)}`}`
}

/** The person who connected the account, the scopes, and the life of its tokens: never a token. */
function connection(account: AccountDetailsShape, formToken: string | undefined, now: number): Html {
  const { token, scopes, tokenServedAt, tokenServedTo, user, connectedAt, polledAt, state } = account
  const { obtainedAt, expiresAt, nextRefreshAt, driftMs } = token
  const apiCalls = bucketText(account)
  const lives = obtainedAt === null || expiresAt === null ? undefined : Date.parse(expiresAt) - Date.parse(obtainedAt)
  return html`<details id="connection"><summary>Connection and tokens</summary>
${factList([
  ['Installed by', user === null || user === '' ? undefined : html`${cleanText(user, 120)}`],
  ['Contact', account.contact === null ? undefined : html`${account.contact}`],
  ['Connected', when(connectedAt, now)],
  [
    'Scopes',
    scopes.length === 0 ? undefined : html`${scopes.map((scope) => html`<code>${cleanText(scope, 80)}</code> `)}`,
  ],
  ['Limits read', when(polledAt, now)],
  ['API calls', apiCalls === undefined ? undefined : html`${apiCalls}`],
  ['Token expires', expiresAt === null || state === 'uninstalled' ? undefined : when(expiresAt, now)],
  ['Next refresh', nextRefreshAt === null ? undefined : when(nextRefreshAt, now)],
  ['Token obtained', obtainedAt === null ? html`with its first refresh` : when(obtainedAt, now)],
  ['Life', lives === undefined ? undefined : formatSpan(lives)],
  ["Provider's clock", driftMs === null ? undefined : html`${driftText(driftMs)}`],
  [
    'Token last served',
    tokenServedAt === null ? undefined : html`${when(tokenServedAt, now)}, to ${cleanText(tokenServedTo ?? '', 60)}`,
  ],
])}
${formToken === undefined ? undefined : contactForm(account, formToken)}</details>`
}

/** The address for messages of a receiver with `to: account`; an empty field removes it. */
function contactForm({ hubId, contact }: AccountDetailsShape, token: string): Html {
  return html`<form method="post" action="/accounts/${hubId}/contact" class="search">${formTokenField(token)}
<label>Contact <input type="email" name="contact" maxlength="254" autocomplete="off" value="${contact ?? ''}" placeholder="ada@example.com"></label> <button class="second">Save contact</button></form>`
}
