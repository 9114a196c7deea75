import type { FastifyRequest } from 'fastify'
import { type Alert, alertOfTransition } from '../../../alerts/alert.ts'
import { alertTitle } from '../../../alerts/alert-title.ts'
import { type OpenAlert, type OpenState, readOpenAlerts } from '../../../alerts/open-alerts.ts'
import { withHublets } from '../../../alerts/with-hublets.ts'
import { type DescribedAlert, describeAlert } from '../../../delivery/describe/describe-alert.ts'
import type { DescribedRecords } from '../../../delivery/describe/describe-records.ts'
import { type MailLinks, RECONNECT } from '../../../delivery/describe/mail-links.ts'
import { acknowledgeAlert, alertNamed, unacknowledgeAlert } from '../../../operations/alerts.ts'
import { NO_ACCOUNT } from '../../../redis/steps.ts'
import { defined } from '../../../runtime/defined.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { type Html, html } from '../../../text/html.ts'
import { accountText } from '../../../views/alert-texts.ts'
import { readNotifications } from '../../../views/notifications.ts'
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
import { alertPath, reconnectField } from '../parts/alert-links.ts'
import { acknowledgedText } from '../parts/alert-lists.ts'
import { accountLink, badge, levelBadge, when } from '../parts/cells.ts'
import type { Done } from '../parts/forms.ts'
import { notificationTable } from '../parts/notifications.ts'
import { htmlTable } from '../parts/tables.ts'
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
  const described = describeAlert(linked, now, linksFor(deps, request))
  const body = html`<p class="verdict ${alert.level}">${described.happened}</p>
${buttons(deps, request, described, alert)}
${acknowledgement(request, alert)}
${facts(alert, described, about, now)}
${described.records === undefined ? undefined : recordTable(described.records)}
${about.chart}
<h2>Notifications</h2>
${notificationTable(transitions, now)}`
  return { at: '/alerts', title: titleOf(alert), body }
}

function notOpen(id: string): Problem {
  return new Problem(404, `No alert ${id.slice(0, 40)} is open. If it was, it is resolved.`)
}

/** Known of an alert beside its own numbers. */
interface AboutAlert {
  /** Why it is where it is, in a sentence; undefined where nothing more is known. */
  why?: string | undefined
  /** The rule that decides now, with its place in the config. */
  rule?: Html | undefined
  /** When it is sent again if it still holds; null: it is sent once; undefined where that is unknown. */
  repeatFrom: string | null | undefined
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
  const repeatFrom = [...(read?.explained.alerts ?? []), ...(read?.explained.series ?? [])].find(
    (one) => one.field === field,
  )?.repeatsAt
  const shown = series === undefined ? undefined : read?.all.find(field)
  if (read === undefined || shown === undefined) return { repeatFrom }
  const choice = rangeChoice(read.all, (one) => `?account=${hubId}&range=${one}`)
  const rule = shown.current?.rule
  return {
    repeatFrom,
    why: shown.current?.why,
    rule: rule == null ? undefined : ruleText(rule),
    records: shown.current?.records ?? undefined,
    chart: html`${choice}${seriesChart(read.all, shown, 160)}`,
  }
}

/**
 * The mail's own facts, but for the rule, which has a row of its own on the page; below them the reasons that hold the alert
 * back.
 */
function facts(alert: OpenAlert, described: DescribedAlert, { why, rule, repeatFrom }: AboutAlert, now: number): Html {
  const { level, silencedBy } = alert
  const rows = described.facts.filter(({ name }) => name !== 'Reason' && name !== 'Rule')
  return html`<dl class="facts">
<div><dt>Level</dt><dd>${levelBadge(level)}</dd></div>
<div><dt>Account</dt><dd>${accountLink(alert)}</dd></div>
${rows.map(({ name, value }) => html`<div${name === 'To do' ? html` class="across"` : undefined}><dt>${name}</dt><dd>${value}</dd></div>\n`)}
<div><dt>Rule</dt><dd>${rule ?? cleanText(alert.rule)}</dd></div>
<div><dt>Acknowledged</dt><dd>${acknowledgedText(alert, now)}</dd></div>
<div><dt>Silenced</dt><dd>${silencedBy === undefined ? 'no' : html`by <a href="/silences">${silencedBy}</a>`}</dd></div>
${repeats(alert, repeatFrom, now)}<div><dt>Alert</dt><dd><code>${alert.id.replace(/-\d+$/, '')}</code></dd></div>
${why === undefined ? undefined : html`<div class="across"><dt>Why</dt><dd>${why}</dd></div>`}
</dl>`
}

/** A reader who may change nothing gets no link that permits anything. */
function linksFor({ links }: WebDeps, { mayWrite }: FastifyRequest): MailLinks {
  const { acknowledge: _, open: __, reconnect, silence, ...others } = links
  return mayWrite ? { ...others, ...defined({ reconnect, silence }) } : others
}

/** The mail's own, with the link for the customer as a field to copy from. */
function buttons(deps: WebDeps, request: FastifyRequest, { actions }: DescribedAlert, { hubId }: OpenAlert): Html {
  return html`<div class="row">${actions.map(({ name, url }) =>
    name === RECONNECT && hubId !== null
      ? reconnectField(deps, hubId, request)
      : html`<a class="button" href="${url.startsWith(`${deps.publicUrl}/`) ? url.slice(deps.publicUrl.length) : url}">${name}</a>\n`,
  )}</div>`
}

function recordTable({ note, rows, left }: DescribedRecords): Html {
  const columns = ['Record', 'Id', { title: 'Associations', number: true }]
  const cells = rows.map(({ label, id, usage, isNew, url }) => [
    html`${label ?? '(no name)'}${isNew ? html` ${badge('off', 'new')}` : undefined}`,
    url === undefined ? id : html`<a href="${url}" rel="noreferrer">${id}</a>`,
    usage,
  ])
  return html`<h2>Records <span class="soft">${note}</span></h2>
${rows.length === 0 ? undefined : htmlTable('Records', columns, cells)}
${left === undefined ? undefined : html`<p class="soft">${left}</p>`}`
}

function repeats(alert: OpenAlert, from: string | null | undefined, now: number): Html | undefined {
  if (from === undefined) return undefined
  const text =
    from === null
      ? 'never: it is sent once, and when it gets worse or is resolved'
      : alert.silencedBy === undefined
        ? html`${when(from, now)}, if it still holds`
        : 'not while it is silenced'
  return html`<div><dt>Repeats</dt><dd>${text}</dd></div>
`
}

/** Title of an alert: its subject, and its account. */
function titleOf(alert: OpenAlert): string {
  const subject = alertTitle(alert)
  return alert.hubId === null ? subject : `${subject}, ${accountText(alert)}`
}

/** For readers who may change something. */
function acknowledgement(request: FastifyRequest, alert: OpenAlert): Html | undefined {
  const token = tokenOfWriter(request)
  if (token === undefined) return undefined
  return alert.acknowledged === undefined ? acknowledgeForm(alert, token) : unacknowledgeForm(alert, token)
}

function acknowledgeForm(alert: OpenAlert, token: string): Html {
  return html`<form method="post" action="${actionPath(alert, 'acknowledge')}" class="form panel" id="acknowledge">
${formTokenField(token)}
<input type="hidden" name="level" value="${alert.level}">
<label>Comment <input name="comment" maxlength="500" autocomplete="off" placeholder="who works on it, and where"></label>
<div class="row"><button>Acknowledge</button> <span class="soft">It is then not sent again until it gets worse or the acknowledgement ends.</span></div>
</form>`
}

function unacknowledgeForm(alert: OpenAlert, token: string): Html {
  return html`<form method="post" action="${actionPath(alert, 'unacknowledge')}" class="form panel" id="acknowledge">
${formTokenField(token)}
<div class="row"><button class="second">Remove acknowledgement</button> <span class="soft">Notifications are then sent as before.</span></div>
</form>`
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
