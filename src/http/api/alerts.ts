import * as z from 'zod'
import { findAlert } from '../../alerts/acknowledge.ts'
import { type OpenState, readOpenAlerts } from '../../alerts/open-alerts.ts'
import { NOBODY } from '../../redis/steps.ts'
import {
  findAlerts,
  MARKS,
  OPEN_KINDS,
  PLACE,
  alertPlaceText,
  readPlace,
  timedAcknowledgement,
  timedAlert,
} from '../../views/find-alerts.ts'
import { AcknowledgedShape, OpenAlertShape, UnacknowledgedShape } from '../../views/shapes/alert.ts'
import { withMarks } from '../../views/silenced.ts'
import { ACKNOWLEDGED_BY } from '../acknowledged-by.ts'
import { Problem } from '../problem.ts'
import { atMost, cursor, oneOf, wholeNumber } from '../query.ts'
import type { ApiDeps } from './api-deps.ts'
import { nextOf } from './next-of.ts'
import { ok, pageOf, route, TAKES_NOTHING } from './route.ts'

const QUERY = z.strictObject({
  level: oneOf(['warning', 'critical']).optional().describe('Only alerts at this level.'),
  hubId: wholeNumber(1, Number.MAX_SAFE_INTEGER).optional().describe('Only those of this account.'),
  kind: oneOf(OPEN_KINDS).optional().describe('Only alerts of this kind.'),
  account: z.string().trim().max(120).optional().describe("Only those with this in the account's domain or number."),
  mark: oneOf(MARKS).optional().describe('Only those that are acknowledged, silenced, or neither (`active`).'),
  limit: atMost(500, 100),
  after: cursor(PLACE).optional(),
})

export const listAlerts = route({
  ...TAKES_NOTHING,
  ...{ id: 'listAlerts', method: 'GET', path: '/alerts', scope: 'read' },
  summary: 'Alerts that are open',
  description:
    'The alerts of an account stay together, so a page may have a few more items than `limit`. An alert that gets worse between two pages moves ahead: to see each once, ask for one account at a time, or for all on one page.',
  query: QUERY,
  answers: {
    200: {
      description: 'A page of open alerts.',
      json: pageOf(OpenAlertShape, 'By account, the one with the worst alert first; those of one account worst first.'),
    },
  },
  ...{ problems: [400], example: { query: { level: 'critical' } } },
  answer: async (deps, { query }) => ok(await readPage(deps, query)),
})

async function readPage(deps: ApiDeps, { limit, after, ...filter }: z.output<typeof QUERY>) {
  const now = deps.clock.now()
  const page = { after: after === undefined ? undefined : readPlace(after), accounts: limit, alerts: limit }
  const { accounts, next } = await findAlerts(deps, filter, await deps.silences.active(now), page, now)
  const items = accounts.flatMap(({ alerts }) => alerts.map(timedAlert))
  return { items, ...nextOf(next === undefined ? undefined : alertPlaceText(next)) }
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
