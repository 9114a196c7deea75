import type { FastifyRequest } from 'fastify'
import * as z from 'zod'
import type { AlertLevel } from '../../../alerts/alert.ts'
import { formatCount } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import {
  ALERT_PLACE,
  type AlertCounts,
  alertPlaceText,
  findAlerts,
  MARKS,
  OPEN_KINDS,
  readPlace,
} from '../../../views/find-alerts.ts'
import type { AccountAlertsShape } from '../../../views/shapes/alert.ts'
import { formTokenField, tokenOfWriter } from '../../access/forms.ts'
import { check, oneOf } from '../../query.ts'
import type { WebDeps } from '../../web-deps.ts'
import type { OperatorPage } from '../page.ts'
import { reconnectUrl } from '../parts/alert-links.ts'
import { accountAlerts } from '../parts/alert-lists.ts'
import { choice, type FilterValues, hidden, select, withQuery } from '../parts/forms.ts'
import { nothing } from '../parts/tables.ts'
import { SILENCE_LENGTHS } from './silence-form.ts'

const ACCOUNTS_A_PAGE = 50
const ALERTS_A_PAGE = 500

/** A field that a form sent empty is one that was not filled in. */
function optional<T extends z.ZodType>(schema: T) {
  return z.preprocess((given) => (given === '' ? undefined : given), schema.optional())
}

/** Filter of the open alerts on the page. */
const ALERT_QUERY = z.object({
  level: optional(oneOf(['warning', 'critical'])),
  kind: optional(oneOf(OPEN_KINDS)),
  account: optional(z.string('must be given once').trim().max(120, 'is longer than 120 characters')),
  mark: optional(oneOf(MARKS)),
  after: optional(z.string('must be given once').regex(ALERT_PLACE, 'is not a place in this list')),
})
type AlertQuery = z.output<typeof ALERT_QUERY>

/** Open alerts. */
export async function showAlerts(deps: WebDeps, request: FastifyRequest): Promise<OperatorPage> {
  const query = check(ALERT_QUERY, request.query)
  const now = deps.clock.now()
  const silences = await deps.silences.active(now)
  const after = query.after === undefined ? undefined : readPlace(query.after)
  const page = { after, accounts: ACCOUNTS_A_PAGE, alerts: ALERTS_A_PAGE, ofAccount: ALERTS_A_PAGE }
  const { counts, accounts, next } = await findAlerts(deps, { ...query, silences }, page, now)
  const body = alertsPage({
    counts,
    query,
    accounts,
    next: next === undefined ? undefined : alertPlaceText(next),
    token: tokenOfWriter(request),
    reconnect: (hubId) => reconnectUrl(deps, hubId, request),
    now,
  })
  return { at: '/alerts', title: 'Open alerts', body }
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
  const mayWrite = token !== undefined
  const list = accountAlerts(accounts, now, { mayWrite, choose: mayWrite, reconnect: mayWrite ? reconnect : undefined })
  return html`<p class="chips" data-live="levels">${levelLink(undefined, counts.critical + counts.warning + counts.handled, filter)}${levelLink('critical', counts.critical, filter)}${levelLink('warning', counts.warning, filter)}${handledLink(counts, filter)}</p>
${filterForm(filter)}
<div data-live="alerts">
${accounts.length === 0 ? nothing(isNarrowed ? 'No matching alerts.' : 'No alert is open.') : token === undefined ? list : selectionForm(list, filter, token)}
${pager(filter, after, next)}
</div>
<p class="row"><a href="/silences">Silences</a> <a href="/alerts/log">Alert log</a>${token === undefined ? undefined : html` <a class="button" href="/silences/new">New silence</a>`}</p>`
}

const FOR = {
  name: 'for',
  label: 'for',
  of: Object.entries(SILENCE_LENGTHS),
}

/** Around the list: chosen alerts are acknowledged or silenced at once. */
function selectionForm(list: Html, { level, kind }: FilterValues, token: string): Html {
  return html`<form method="post" action="/alerts/selected">${formTokenField(token)}${hidden('level', level)}${hidden('kind', kind)}
${list}
<p class="search"><label>Comment <input name="comment" maxlength="500" autocomplete="off"></label>
<button name="do" value="acknowledge">Acknowledge selected</button>
<button name="do" value="silence" class="second">Silence selected</button> ${select(FOR, '4h')}
<span class="soft">A silence of an account covers its later alerts, too.</span></p>
</form>`
}

function levelLink(level: AlertLevel | undefined, count: number, filter: FilterValues): Html {
  const current = level === filter.level ? html` aria-current="true"` : undefined
  return html`<a href="${withQuery('/alerts', { ...filter, level })}"${current}>${level ?? 'all'} ${count}</a>`
}

function handledLink({ handled }: AlertCounts, filter: FilterValues): Html | undefined {
  if (handled === 0) return undefined
  return html`<a href="${withQuery('/alerts', { ...filter, mark: 'handled' })}">+ ${formatCount(handled)} handled</a>`
}

const KIND = choice('kind', 'Kind', 'every kind', ['limit', 'token', 'poll', 'fleet', 'delivery'])
const MARK = choice('mark', 'State', 'every state', MARKS)

function filterForm({ level, kind, account, mark }: Omit<AlertQuery, 'after'>): Html {
  return html`<form action="/alerts" class="search" role="search">
${hidden('level', level)}
<label>Account <input name="account" value="${account ?? ''}" placeholder="domain or number" autocomplete="off"></label>
${select(KIND, kind)}
${select(MARK, mark)}
<button>Show</button>
${[kind, account, mark].some((value) => value !== undefined) ? html`<a href="${withQuery('/alerts', { level })}">Show all</a>` : undefined}
</form>`
}

function pager(filter: FilterValues, after: string | undefined, next: string | undefined): Html | undefined {
  if (after === undefined && next === undefined) return undefined
  const first = html`<a href="${withQuery('/alerts', filter)}">First page</a>`
  const following = html`<a href="${withQuery('/alerts', { ...filter, after: next })}" rel="next">Next page</a>`
  return html`<nav class="row" aria-label="Pages">${after === undefined ? undefined : first}${next === undefined ? undefined : following}</nav>`
}
