import type { FastifyRequest } from 'fastify'
import * as z from 'zod'
import type { AlertLevel } from '../../../alerts/alert.ts'
import { alertText } from '../../../alerts/alert-title.ts'
import { countOf, formatSpan } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import { readResolved } from '../../../views/alert-log.ts'
import { handledText } from '../../../views/alert-texts.ts'
import {
  ALERT_PLACE,
  ALERT_SORTS,
  type AlertCounts,
  alertPlaceText,
  findAlerts,
  MARKS,
  OPEN_KINDS,
  readPlace,
} from '../../../views/find-alerts.ts'
import type { AccountAlertsShape } from '../../../views/shapes/alert.ts'
import { formTokenField, tokenOfWriter } from '../../access/forms.ts'
import { check, oneOf, optional } from '../../query.ts'
import type { WebDeps } from '../../web-deps.ts'
import type { OperatorPage } from '../page.ts'
import { reconnectUrl } from '../parts/alert-links.ts'
import { accountAlerts } from '../parts/alert-lists.ts'
import { levelBadge, nameLink, when } from '../parts/cells.ts'
import { choice, type FilterValues, filters, hidden, select, withQuery } from '../parts/forms.ts'
import { htmlTable, nothing, sortLink } from '../parts/tables.ts'
import { SILENCE_LENGTHS } from './silence-form.ts'

const ACCOUNTS_A_PAGE = 50
const ALERTS_A_PAGE = 500

/** Filter of the open alerts on the page. */
const ALERT_QUERY = z.object({
  level: optional(oneOf(['warning', 'critical'])),
  kind: optional(oneOf(OPEN_KINDS)),
  account: optional(z.string('must be given once').trim().max(120, 'is longer than 120 characters')),
  mark: optional(oneOf([...MARKS, 'resolved'])),
  sort: optional(oneOf(ALERT_SORTS)),
  order: optional(oneOf(['asc', 'desc'])),
  after: optional(z.string('must be given once').regex(ALERT_PLACE, 'is not a place in this list')),
})
type AlertQuery = z.output<typeof ALERT_QUERY>

/** Open alerts. */
export async function showAlerts(deps: WebDeps, request: FastifyRequest): Promise<OperatorPage> {
  const { mark, ...query } = check(ALERT_QUERY, request.query)
  const now = deps.clock.now()
  if (mark === 'resolved') return resolvedAlerts(deps, query, now)
  const silences = await deps.silences.active(now)
  const after = query.after === undefined ? undefined : readPlace(query.after)
  const order = { sort: query.sort, descending: query.order === 'desc' }
  const page = { ...order, after, accounts: ACCOUNTS_A_PAGE, alerts: ALERTS_A_PAGE, ofAccount: ALERTS_A_PAGE }
  const { counts, accounts, next } = await findAlerts(deps, { ...query, mark, silences }, page, now)
  const body = alertsPage({
    counts,
    query: { ...query, mark },
    accounts,
    next: next === undefined ? undefined : alertPlaceText(next),
    token: tokenOfWriter(request),
    reconnect: (hubId) => reconnectUrl(deps, hubId, request),
    now,
  })
  return { at: '/alerts', title: 'Open alerts', body }
}

const RESOLVED_DAYS = 7
const MOST_RESOLVED = 200

/** Alerts that ended in the last days, from their log. */
async function resolvedAlerts(
  deps: WebDeps,
  { account = '', kind, level }: AlertQuery,
  now: number,
): Promise<OperatorPage> {
  const asked = account.toLowerCase()
  const found = await readResolved(deps, now - RESOLVED_DAYS * 86_400_000)
  const fitting = found.filter(
    (alert) =>
      (kind === undefined || alert.kind === kind) &&
      (level === undefined || alert.level === level) &&
      `${alert.account?.hubDomain ?? ''} ${alert.account?.hubId ?? ''}`.toLowerCase().includes(asked),
  )
  const rows = fitting
    .slice(0, MOST_RESOLVED)
    .map((alert) => [
      nameLink({ hubId: null, ...alert.account }),
      levelBadge(alert.level),
      html`<span title="${alertText(alert)}">${alertText(alert)}</span>`,
      when(alert.measuredAt, now),
      formatSpan(Date.parse(alert.measuredAt) - Date.parse(alert.since)),
    ])
  const list = htmlTable('Resolved alerts', ['Account', 'Was', 'What', 'Resolved', 'Lasted'], rows)
  const body = html`<p class="chips"><a href="/alerts">open</a>${resolvedLink(true)}</p>
${filterForm({ account: asked || undefined, kind, level, mark: 'resolved' })}
<div data-live="alerts" class="one-line">${rows.length === 0 ? nothing(`No matching alert ended in the last ${RESOLVED_DAYS} days.`) : list}</div>
${fitting.length > MOST_RESOLVED ? html`<p class="soft">${countOf(fitting.length - MOST_RESOLVED, 'more')} not shown.</p>` : undefined}
<p class="row"><a href="/alerts/log">Alert log</a></p>`
  return { at: '/alerts', title: 'Resolved alerts', body }
}

function resolvedLink(isShown = false): Html {
  return html`<a href="/alerts?mark=resolved"${isShown ? html` aria-current="true"` : undefined}>resolved (${RESOLVED_DAYS} days)</a>`
}

const HEADS = { account: 'Account', worst: 'Level', limit: 'Limit', age: 'Age' }

/** Heads of the list: each orders it, and the chosen one turns the order round. */
function sortHeads(filter: AlertQuery): Html {
  const heads = ALERT_SORTS.map((sort) => {
    const { href, is } = sortLink(filter, sort, (order) => withQuery('/alerts', { ...filter, ...order }))
    const current = is && html` aria-current="true"`
    return html`<a href="${href}"${current}>${HEADS[sort]}${is && (is === 'ascending' ? ' ↑' : ' ↓')}</a>`
  })
  return html`<p class="chips">Sort by ${heads}</p>`
}

interface AlertsPage {
  accounts: readonly AccountAlertsShape[]
  /** Counts of all alerts that match all but the level. */
  counts: AlertCounts
  query: AlertQuery
  /** Place at which the next page begins. */
  next: string | undefined
  /** Token of the forms, for a reader who may change something. */
  token: string | undefined
  reconnect: (hubId: number) => string
  now: number
}

function alertsPage({ accounts, counts, query, next, token, reconnect, now }: AlertsPage): Html {
  const { after, ...filter } = query
  const isNarrowed = Object.values(query).some((value) => value !== undefined)
  const heads = accounts.length > 1 ? sortHeads(filter) : undefined
  const list = html`${heads}${accountAlerts(accounts, now, { mayWrite: token !== undefined, reconnect })}`
  return html`<p class="chips" data-live="levels">${levelLink(undefined, counts.critical + counts.warning + counts.handled, filter)}${levelLink('critical', counts.critical, filter)}${levelLink('warning', counts.warning, filter)}${handledLink(counts, filter)}${resolvedLink()}</p>
${filterForm(filter)}
<div data-live="alerts">
${accounts.length === 0 ? nothing(isNarrowed ? 'No matching alerts.' : 'No alert is open.') : token === undefined ? list : selectionForm(list, filter, token)}
${pager(filter, after, next)}
</div>
<p class="row"><a href="/silences">Silences</a> <a href="/alerts/log">Alert log</a>${token === undefined ? undefined : html` <a class="button" href="/silences/new">New silence</a>`}</p>`
}

const FOR = { name: 'for', label: 'Silence for', of: Object.entries(SILENCE_LENGTHS) }

/** Above the list, also while it is scrolled: chosen alerts are acknowledged or silenced at once. */
function selectionForm(list: Html, { level, kind }: FilterValues, token: string): Html {
  return html`<form method="post" action="/alerts/selected">${formTokenField(token)}${hidden('level', level)}${hidden('kind', kind)}
<p class="search above"><label>Comment <input name="comment" maxlength="500" autocomplete="off"></label>
<button name="do" value="acknowledge">Acknowledge selected</button>
<button name="do" value="silence" class="second">Silence selected</button> ${select(FOR, '4h')}
<span class="soft">A silence of an account covers its later alerts, too.</span></p>
${list}
</form>`
}

function levelLink(level: AlertLevel | undefined, count: number, filter: FilterValues): Html {
  const current = level === filter.level ? html` aria-current="true"` : undefined
  return html`<a href="${withQuery('/alerts', { ...filter, level })}"${current}>${level ?? 'all'} ${count}</a>`
}

function handledLink(counts: AlertCounts, filter: FilterValues): Html | undefined {
  if (counts.handled === 0) return undefined
  return html`<a href="${withQuery('/alerts', { ...filter, mark: 'handled' })}"${filter.mark === 'handled' ? html` aria-current="true"` : undefined}>${handledText(counts)}</a>`
}

const KIND = choice('kind', 'Kind', 'every kind', ['limit', 'token', 'poll', 'fleet', 'delivery'])
const MARK = choice('mark', 'State', 'every state', ['active', 'acknowledged', 'silenced', 'resolved'])

function filterForm({ level, kind, account, mark, sort, order }: AlertQuery): Html {
  const isNarrowed = [kind, account, mark].some((value) => value !== undefined)
  return filters(
    isNarrowed,
    html`<form action="/alerts" class="search" role="search">
${hidden('level', level)}${hidden('sort', sort)}${hidden('order', order)}
<label>Account <input name="account" value="${account ?? ''}" placeholder="domain or number" autocomplete="off"></label>
${select(KIND, kind)}
${select(MARK, mark)}
<button>Show</button>
${isNarrowed ? html`<a href="${withQuery('/alerts', { level })}">Show all</a>` : undefined}
</form>`,
  )
}

function pager(filter: FilterValues, after: string | undefined, next: string | undefined): Html | undefined {
  if (after === undefined && next === undefined) return undefined
  const first = html`<a href="${withQuery('/alerts', filter)}">First page</a>`
  const following = html`<a href="${withQuery('/alerts', { ...filter, after: next })}" rel="next">Next page</a>`
  return html`<nav class="row" aria-label="Pages">${after === undefined ? undefined : first}${next === undefined ? undefined : following}</nav>`
}
