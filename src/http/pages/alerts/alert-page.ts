import type { FastifyRequest } from 'fastify'
import { type Alert, alertOfTransition } from '../../../alerts/alert.ts'
import { type OpenAlert, type OpenState, readOpenAlerts } from '../../../alerts/open-alerts.ts'
import { withHublets } from '../../../alerts/with-hublets.ts'
import { type DescribedAlert, describeAlert } from '../../../delivery/describe/describe-alert.ts'
import type { DescribedRecords } from '../../../delivery/describe/describe-records.ts'
import { wantsReconnect } from '../../../delivery/describe/mail-links.ts'
import { acknowledgeAlert, alertNamed, unacknowledgeAlert } from '../../../operations/alerts.ts'
import { NO_ACCOUNT } from '../../../redis/steps.ts'
import { capitalized } from '../../../text/format-number.ts'
import { formatTime } from '../../../text/format-time.ts'
import { type Html, html } from '../../../text/html.ts'
import { accountText } from '../../../views/alert-texts.ts'
import { readNotifications } from '../../../views/notifications.ts'
import type { AccountDetailsShape } from '../../../views/shapes/account.ts'
import type { ExplainedAlertShape, ExplainedSeriesShape } from '../../../views/shapes/explanation.ts'
import { withMarks } from '../../../views/silenced.ts'
import { formTokenField, tokenOfWriter } from '../../access/forms.ts'
import { Problem } from '../../problem.ts'
import { check, parseHubId } from '../../query.ts'
import type { WebDeps } from '../../web-deps.ts'
import { RANGE, readAccountPage } from '../account/account-page.ts'
import { type RangeName, rangeChoice, seriesChart } from '../account/account-series.ts'
import { ruleText } from '../account/series-table.ts'
import { operationForm } from '../operation-form.ts'
import type { OperatorPage } from '../page.ts'
import { alertPath, matchersFor, newSilencePath, reconnectPart } from '../parts/alert-links.ts'
import { acknowledgedText } from '../parts/alert-lists.ts'
import { accountLink, badge, levelBadge, when } from '../parts/cells.ts'
import type { Done } from '../parts/forms.ts'
import { notificationTable } from '../parts/notifications.ts'
import { factList, htmlTable } from '../parts/tables.ts'
import { alertNow } from './alert-now.ts'

/** The full story of one alert, with its actions. `?account=` names its account; without it all accounts are searched. */
export async function showAlertPage(deps: WebDeps, request: FastifyRequest): Promise<OperatorPage> {
  const now = deps.clock.now()
  const { range } = check(RANGE, request.query)
  const { account } = request.query as Record<string, unknown>
  const { id: given } = request.params as { id: string }
  const asked = await alertNamed(deps, {
    id: given,
    hubId: typeof account === 'string' ? parseHubId(account) : undefined,
  })
  const { id, hubId } = asked
  const [silences, notified, found] = await Promise.all([
    deps.silences.active(now),
    readNotifications(deps, hubId),
    readOpenAlerts(deps.store, deps.keys, [hubId]),
  ])
  const ofId = found.filter((one) => one.id === id)
  const [alert] = withMarks(ofId, silences, now)
  if (alert === undefined) throw notOpen(id)
  const transitions = notified.filter((one) => alertOfTransition(one.alert.id) === id)
  const about = await aboutAlert(deps, alert, range)
  const current = await alertNow(deps, asked, { last: transitions[0]?.alert, records: about.records }, now)
  if (current === undefined) throw notOpen(id)
  const [linked = current] = await withHublets(deps.store, deps.keys, [current])
  const described = describeAlert(linked, now, deps.links)
  const body = html`${await whatToDo(deps, request, { alert, described, about }, now)}
${acknowledgement(request, alert)}
${described.records === undefined ? undefined : recordTable(described.records)}
${about.chart}
<h2>Why it was sent <a href="/rules">Rules and routes</a></h2>
${about.explained === undefined ? undefined : html`<p>${capitalized(about.explained.why)}.</p>`}
${facts(alert, described, about, now)}
<h2>Notifications</h2>
${notificationTable(transitions, now)}`
  const title = hubId === null ? described.headline : `${described.headline}, ${accountText(alert)}`
  return { at: '/alerts', title, body }
}

function notOpen(id: string): Problem {
  return new Problem(404, `No alert ${id.slice(0, 40)} is open. If it was, it is resolved.`)
}

/** Known of an alert beside its own numbers. */
interface AboutAlert {
  /** The account that it is about. */
  account?: AccountDetailsShape
  /** Why it is where it is, and when it is sent again. */
  explained?: ExplainedAlertShape | ExplainedSeriesShape | undefined
  /** How its series moved, where it is about one. */
  chart?: Html
  /** Records behind the series, as last read. */
  records?: NonNullable<Alert['records']> | undefined
}

async function aboutAlert(
  deps: WebDeps,
  { hubId, field, series }: OpenAlert,
  range: RangeName | undefined,
): Promise<AboutAlert> {
  const read = hubId === null ? undefined : await readAccountPage(deps, hubId, range)
  if (read === undefined) return {}
  const { account, explained, all } = read
  const own = [...explained.alerts, ...explained.series].find((one) => one.field === field)
  const shown = series === undefined ? undefined : all.find(field)
  if (shown === undefined) return { account, explained: own }
  const choice = rangeChoice(all, (one) => `?account=${hubId}&range=${one}`)
  const records = shown.current?.records
  return { account, explained: own, records, chart: html`${choice}${seriesChart(all, shown, 160)}` }
}

interface ShownAlert {
  alert: OpenAlert
  described: DescribedAlert
  about: AboutAlert
}

/** First of all: what happened, and what to do about it. */
async function whatToDo(
  deps: WebDeps,
  request: FastifyRequest,
  { alert, described, about: { account } }: ShownAlert,
  now: number,
): Promise<Html> {
  const { level, since } = alert
  const isForCustomer = account !== undefined && wantsReconnect(alert)
  const toDo = described.facts.find(({ name }) => name === 'To do')?.value
  return html`<div class="verdict ${level}">
<p>${levelBadge(level)} ${accountLink(alert)}, open since ${formatTime(since)} (${when(since, now)})</p>
${described.details === '' ? undefined : html`<p>${described.details}</p>`}
${isForCustomer && request.mayWrite ? await reconnectPart(deps, account, request) : toDo && html`<p><b>What to do:</b> ${toDo}</p>`}
</div>`
}

/** The mail's own facts but for those above, then the rule, and what holds the alert back. */
function facts(alert: OpenAlert, { facts: all }: DescribedAlert, { explained }: AboutAlert, now: number): Html {
  const { acknowledged, silencedBy } = alert
  const rule = explained !== undefined && 'rule' in explained ? explained.rule : null
  const others = all.filter(({ name }) => !['Since', 'To do', 'Reason', 'Rule'].includes(name))
  return factList([
    ...others.map(({ name, value }) => [name, value] as const),
    ['Rule', rule === null ? undefined : html`${ruleText(rule)}: ${rule.asks}`],
    ['Acknowledged', acknowledged && acknowledgedText(alert, now)],
    ['Silenced', silencedBy && html`by <a href="/silences">${silencedBy}</a>`],
    ['Sent again', explained && repeats(alert, explained.repeatsAt, now)],
    ['Alert', html`<code>${alert.id.replace(/-\d+$/, '')}</code>`],
  ])
}

function recordTable({ note, rows, left }: DescribedRecords): Html {
  const cells = rows.map(({ label, id, usage, isNew, url }) => {
    const name = label === undefined ? `#${id}` : `${label} (#${id})`
    const link = url === undefined ? name : html`<a href="${url}" rel="noreferrer">${name}</a>`
    return [html`${link}${isNew ? html` ${badge('off', 'new')}` : undefined}`, usage]
  })
  return html`<h2>Records <span class="soft">${note}</span></h2>
${rows.length === 0 ? undefined : htmlTable('Records', ['Record', { title: 'Associations', number: true }], cells)}
${left === undefined ? undefined : html`<p class="soft">${left}</p>`}`
}

function repeats(alert: OpenAlert, at: string | null, now: number): Html | string {
  if (alert.silencedBy !== undefined) return 'not while it is silenced'
  return at === null ? 'when it gets worse, and when it is resolved' : html`${when(at, now)}, if it is still open`
}

/** For readers who may change something. */
function acknowledgement(request: FastifyRequest, alert: OpenAlert): Html | undefined {
  const token = tokenOfWriter(request)
  if (token === undefined) return undefined
  const isKnown = alert.acknowledged !== undefined
  const fields = html`<input type="hidden" name="level" value="${alert.level}">
<label class="row">Comment <input name="comment" maxlength="500" size="30" autocomplete="off" placeholder="who works on it, and where"></label>`
  return html`<form method="post" action="${actionPath(alert, isKnown ? 'unacknowledge' : 'acknowledge')}" class="row" id="acknowledge">
${formTokenField(token)}${isKnown ? undefined : fields}
<button${isKnown ? html` class="second"` : undefined}>${isKnown ? 'Remove acknowledgement' : 'Acknowledge'}</button>
<a class="button" href="${newSilencePath(matchersFor(alert))}">Silence</a>
</form>
<p class="soft">${isKnown ? 'Without the acknowledgement, notifications are sent as before.' : 'Once acknowledged, it is sent again only when it gets worse or the acknowledgement ends.'}</p>`
}

function actionPath(alert: OpenAlert, action: 'acknowledge' | 'unacknowledge'): string {
  const [path = '', query] = alertPath(alert).split('?')
  return `${path}/${action}${query === undefined ? '' : `?${query}`}`
}

export const acknowledgeByForm = operationForm(acknowledgeAlert, outcomePath)
export const unacknowledgeByForm = operationForm(unacknowledgeAlert, outcomePath)

function outcomePath({ alert: { id, hubId }, is }: { alert: OpenState; is: Done }): string {
  return `/alerts/${id}?${hubId === NO_ACCOUNT ? '' : `account=${hubId}&`}done=${is}`
}
