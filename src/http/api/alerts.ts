import * as z from 'zod'
import { findAlert } from '../../alerts/acknowledge/acknowledge-alert.ts'
import { type OpenState, readOpenAlerts } from '../../alerts/open-alerts.ts'
import { NOBODY } from '../../redis/steps.ts'
import { timedAcknowledgement, timedAlert } from '../../views/open-alert-json.ts'
import { AcknowledgedShape, OpenAlertShape, UnacknowledgedShape } from '../../views/shapes/alert.ts'
import { withMarks } from '../../views/silenced.ts'
import { ACKNOWLEDGED_BY } from '../acknowledged-by.ts'
import { Problem } from '../problem.ts'
import { atMost, cursor, oneOf, wholeNumber } from '../query.ts'
import type { ApiDeps } from './api-deps.ts'
import { nextOf } from './next-of.ts'
import { ok, pageOf, route, TAKES_NOTHING } from './route.ts'

/** Accounts whose alerts are read at once. */
const AT_ONCE = 100

const QUERY = z.strictObject({
  level: oneOf(['warning', 'critical']).optional().describe('Only alerts at this level.'),
  hubId: wholeNumber(1, Number.MAX_SAFE_INTEGER).optional().describe('Only those of this account.'),
  limit: atMost(500, 100),
  // Not 0 by default: what concerns the whole fleet comes first, under that id.
  after: cursor(wholeNumber(0, Number.MAX_SAFE_INTEGER)).default(-1),
})

export const listAlerts = route({
  ...TAKES_NOTHING,
  ...{ id: 'listAlerts', method: 'GET', path: '/alerts', scope: 'read' },
  summary: 'Alerts that are open',
  description: 'The alerts of an account stay together, so a page may have a few more items than `limit`.',
  query: QUERY,
  answers: {
    200: {
      description: 'A page of open alerts.',
      json: pageOf(OpenAlertShape, 'The fleet first, then by hub id; those of one account worst first.'),
    },
  },
  ...{ problems: [400], example: { query: { level: 'critical' } } },
  answer: async (deps, { query }) => ok(await readPage(deps, query)),
})

async function readPage(deps: ApiDeps, { limit, after, level, hubId }: z.output<typeof QUERY>) {
  const { store, keys, registry, silences, clock } = deps
  const now = clock.now()
  const inForce = await silences.active(now)
  const hubIds = (await registry.alerting()).filter((id) => id > after && (hubId === undefined || id === hubId))
  const items: OpenAlertShape[] = []
  for (let from = 0; from < hubIds.length; from += AT_ONCE) {
    const some = hubIds.slice(from, from + AT_ONCE)
    const marked = withMarks(await readOpenAlerts(store, keys, some), inForce, now)
    const byAccount = Map.groupBy(marked, (alert) => alert.hubId ?? NOBODY)
    for (const id of some) {
      const alerts = (byAccount.get(id) ?? []).filter((alert) => level === undefined || alert.level === level)
      items.push(...alerts.map(timedAlert))
      if (items.length >= limit) return { items, ...nextOf(id === hubIds.at(-1) ? undefined : id) }
    }
  }
  return { items }
}

const EXAMPLE_ID = '72254a98b7594a1f'
const OF_ALERT = z.object({
  id: z
    .string()
    .describe('Its id, or how that begins: at least six characters. The number of a transition may follow.'),
})

export const showAlert = route({
  ...TAKES_NOTHING,
  ...{ id: 'showAlert', method: 'GET', path: '/alerts/{id}', scope: 'read' },
  summary: 'One alert that is open',
  params: OF_ALERT,
  answers: { 200: { description: 'The alert.', json: OpenAlertShape } },
  ...{ problems: [404, 409], example: { params: { id: EXAMPLE_ID } } },
  answer: async (deps, { params }) => {
    const { store, keys, silences, clock } = deps
    const { id, hubId } = await theOne(deps, params.id)
    const now = clock.now()
    const [found] = (await readOpenAlerts(store, keys, [hubId])).filter((alert) => alert.id === id)
    const [alert] = withMarks(found === undefined ? [] : [found], await silences.active(now), now)
    if (alert === undefined) throw new Problem(404, `Alert ${id} has just been closed.`)
    return ok(timedAlert(alert))
  },
})

export const acknowledgeAlert = route({
  ...TAKES_NOTHING,
  ...{ id: 'acknowledgeAlert', method: 'POST', path: '/alerts/{id}/acknowledge', scope: 'write' },
  summary: 'Acknowledge an alert: it is not sent again until it gets worse',
  params: OF_ALERT,
  body: z.strictObject(ACKNOWLEDGED_BY).optional(),
  answers: { 200: { description: 'It is acknowledged.', json: AcknowledgedShape } },
  ...{ problems: [400, 404, 409], example: { params: { id: EXAMPLE_ID }, body: { comment: 'asked the customer' } } },
  answer: async (deps, { params, body, caller }) => {
    const { id, hubId, state } = await theOne(deps, params.id)
    const { by = caller, comment } = body ?? {}
    const outcome = await deps.actions.acknowledge({ id, hubId, level: state.level }, { by, comment })
    if (outcome.is === 'not-open') throw new Problem(404, `Alert ${id} has just been closed.`)
    if (outcome.is === 'gone-worse') throw new Problem(409, `Alert ${id} has just got worse: read it again.`)
    const acknowledged = timedAcknowledgement(outcome.acknowledged)
    return ok({ id, hubId: hubId === NOBODY ? null : hubId, outcome: outcome.is, acknowledged })
  },
})

export const unacknowledgeAlert = route({
  ...TAKES_NOTHING,
  ...{ id: 'unacknowledgeAlert', method: 'POST', path: '/alerts/{id}/unacknowledge', scope: 'write' },
  summary: 'Take an acknowledgement back: the alert repeats again',
  params: OF_ALERT,
  answers: { 200: { description: 'It is not acknowledged any more.', json: UnacknowledgedShape } },
  ...{ problems: [404, 409], example: { params: { id: EXAMPLE_ID } } },
  answer: async (deps, { params }) => {
    const { id, hubId } = await theOne(deps, params.id)
    const { is } = await deps.actions.unacknowledge({ id, hubId })
    if (is === 'not-open') throw new Problem(404, `Alert ${id} has just been closed.`)
    return ok({ id, hubId: hubId === NOBODY ? null : hubId, outcome: is })
  },
})

async function theOne(deps: ApiDeps, given: string): Promise<OpenState> {
  const found = await findAlert(deps, given)
  if (found.is === 'several') {
    throw new Problem(409, `Several open alerts begin so: ${found.ids.join(', ')}.`, {}, [], 'ambiguous')
  }
  if (found.is !== 'found') throw new Problem(404, `No alert ${given.slice(0, 40)} is open.`)
  return found.alert
}
