import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import { findAlert, findAlertOf } from '../../../alerts/acknowledge.ts'
import { alertOfTransition } from '../../../alerts/alert.ts'
import { type OpenAlert, type OpenState, readOpenAlerts } from '../../../alerts/open-alerts.ts'
import { NOBODY } from '../../../redis/steps.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { html } from '../../../text/html.ts'
import { timedAlert } from '../../../views/find-alerts.ts'
import { withMarks } from '../../../views/silenced.ts'
import { type ToldTransition, toldOfAccount } from '../../../views/told-of-account.ts'
import { goTo } from '../../access/accept-forms.ts'
import { formToken } from '../../access/form-token.ts'
import type { Actions } from '../../actions.ts'
import { Problem } from '../../problem.ts'
import { check, oneOf, parseHubId } from '../../query.ts'
import { type RangeName, rangeChoice, seriesChart } from '../account/account-series.ts'
import { ruleText } from '../account/series-table.ts'
import { RANGE, readAccount } from '../account/serve-account-page.ts'
import { showOperatorPage } from '../page.ts'
import type { PagesDeps } from '../pages-deps.ts'
import { matchersFor } from '../parts/alert-links.ts'
import { type Done, flash } from '../parts/flash.ts'
import { alertPage, alertTitle } from './alert-page.ts'
import { coveredBy } from './serve-silence-forms.ts'
import { readSilenceForm } from './silence-fields.ts'

/** One alert. `?account=` says whose it is; without it all are looked through. */
export function serveAlertPage(app: FastifyInstance, deps: PagesDeps): void {
  app.get('/alerts/:id', (request, reply) => showAlert(deps, request, reply))
}

export function serveAcknowledgeForm(
  app: FastifyInstance,
  deps: PagesDeps & { actions: Pick<Actions, 'acknowledge' | 'unacknowledge'> },
): void {
  app.post('/alerts/:id/acknowledge', (request, reply) => acknowledge(deps, request, reply))
  app.post('/alerts/:id/unacknowledge', (request, reply) => unacknowledge(deps, request, reply))
}

async function showAlert(deps: PagesDeps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const now = deps.clock.now()
  const { id, hubId } = await askedFor(deps, request)
  const [silences, told, found] = await Promise.all([
    deps.silences.active(now),
    toldOfAccount({ ...deps, group: deps.explain.group }, hubId),
    readOpenAlerts(deps.store, deps.keys, [hubId]),
  ])
  const [open] = withMarks(
    found.filter((one) => one.id === id),
    silences,
    now,
  )
  if (open === undefined) throw notOpen(id)
  const alert = timedAlert(open)
  const transitions = told.filter((one) => alertOfTransition(one.alert.id) === id)
  const { range } = check(RANGE, request.query)
  const about = await aboutAlert(deps, open, range)
  const why = about.why ?? lastMessage(transitions)
  const token = request.mayWrite ? formToken(request) : undefined
  const covers = token === undefined ? undefined : await coveredBy(deps, readSilenceForm(matchersFor(alert)))
  const body = html`${flash(request.query)}${alertPage({ alert, why, chart: about.chart, rule: about.rule, repeatFrom: about.repeatFrom, transitions, covers, token, now, tags: deps.silences.tagNames })}`
  return showOperatorPage(request, reply, { at: '/alerts', title: alertTitle(alert), body })
}

/** The open alert of a request: by its whole id, or how it begins. */
async function askedFor(deps: PagesDeps, request: FastifyRequest): Promise<OpenState> {
  const { id } = request.params as { id: string }
  const { account } = request.query as Record<string, unknown>
  const hubId = typeof account === 'string' ? parseHubId(account) : undefined
  const ofAccount = hubId === undefined ? undefined : await findAlertOf(deps, hubId, alertOfTransition(id))
  if (ofAccount !== undefined) return ofAccount
  const found = await findAlert(deps, id)
  if (found.is === 'several') throw new Problem(409, `Several open alerts begin so: ${found.ids.join(', ')}.`)
  if (found.is !== 'found') throw notOpen(id)
  return found.alert
}

function notOpen(id: string): Problem {
  return new Problem(404, `No alert ${id.slice(0, 40)} is open. If it was, it is resolved.`)
}

/** Why an alert of an account is open and when it repeats; where it is about a series, how that moved. */
async function aboutAlert(deps: PagesDeps, { hubId, field, series }: OpenAlert, range: RangeName | undefined) {
  const read = hubId === null ? undefined : await readAccount(deps, hubId, range)
  const repeatFrom = read?.explained.own.concat(read.explained.series).find((one) => one.field === field)?.repeatFrom
  const shown = series === undefined ? undefined : read?.all.find(field)
  if (read === undefined || shown === undefined)
    return { repeatFrom, why: undefined, chart: undefined, rule: undefined }
  const choice = rangeChoice(read.all, (one) => `?account=${hubId}&range=${one}`)
  const rule = shown.explained?.rule
  return {
    repeatFrom,
    why: shown.explained?.why,
    rule: rule == null ? undefined : ruleText(rule),
    chart: html`${choice}${seriesChart(read.all, shown, { height: 160 })}`,
  }
}

/** Kinds that are not about a number say in words what happened, and what to do. */
function lastMessage(transitions: readonly ToldTransition[]): string | undefined {
  const message = transitions.find(({ alert }) => alert.message !== undefined)?.alert.message
  return message === undefined ? undefined : cleanText(message, 500)
}

const FORM = z.object({
  level: oneOf(['warning', 'critical']),
  comment: z
    .string()
    .max(2_000)
    .default('')
    .transform((given) => cleanText(given, 500) || undefined),
})

async function acknowledge(
  deps: PagesDeps & { actions: Pick<Actions, 'acknowledge'> },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { level, comment } = check(FORM, request.body ?? {})
  const { id, hubId } = await askedFor(deps, request)
  const outcome = await deps.actions.acknowledge({ id, hubId, level }, { by: request.caller, comment })
  if (outcome.is === 'not-open') throw notOpen(id)
  if (outcome.is === 'gone-worse') {
    throw new Problem(
      409,
      'It was not acknowledged: it is at a higher level than the one you were shown. Check it again.',
    )
  }
  return goBack(reply, { id, hubId }, outcome.is)
}

async function unacknowledge(
  deps: PagesDeps & { actions: Pick<Actions, 'unacknowledge'> },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { id, hubId } = await askedFor(deps, request)
  const { is } = await deps.actions.unacknowledge({ id, hubId })
  if (is === 'not-open') throw notOpen(id)
  return goBack(reply, { id, hubId }, is)
}

function goBack(reply: FastifyReply, { id, hubId }: Pick<OpenState, 'id' | 'hubId'>, done: Done): FastifyReply {
  const whose = hubId === NOBODY ? '' : `account=${hubId}&`
  return goTo(reply, `/alerts/${id}?${whose}done=${done}`)
}
