import * as z from 'zod'
import { findAlert } from '../../alerts/acknowledge.ts'
import { type OpenState, readOpenAlerts } from '../../alerts/open-alerts.ts'
import { NOBODY } from '../../redis/steps.ts'
import { timedAcknowledgement, timedAlert } from '../../views/find-alerts.ts'
import { AcknowledgedShape, OpenAlertShape, UnacknowledgedShape } from '../../views/shapes/alert.ts'
import { withMarks } from '../../views/silenced.ts'
import { ACKNOWLEDGED_BY } from '../acknowledged-by.ts'
import { Problem } from '../problem.ts'
import { route } from './route.ts'

const EXAMPLE_ID = '72254a98b7594a1f'
const OF_ALERT = z.object({
  id: z
    .string()
    .describe('Its id, or how that begins: at least six characters. The number of a transition may follow.'),
})

export const alertRoutes = [
  route('showAlert', 'GET /alerts/{id}', {
    summary: 'One alert that is open',
    params: OF_ALERT,
    answers: { 200: { description: 'The alert.', json: OpenAlertShape } },
    problems: [404, 409],
    example: { params: { id: EXAMPLE_ID } },
    answer: async (deps, { params }) => {
      const { store, keys, silences, clock } = deps
      const { id, hubId } = await theOne(deps, params.id)
      const now = clock.now()
      const found = (await readOpenAlerts(store, keys, [hubId])).filter((alert) => alert.id === id)
      const [alert] = withMarks(found, await silences.active(now), now)
      if (alert === undefined) throw closed(id)
      return { json: timedAlert(alert) }
    },
  }),

  route('acknowledgeAlert', 'POST /alerts/{id}/acknowledge', {
    summary: 'Acknowledge an alert: it is not sent again until it gets worse',
    params: OF_ALERT,
    body: z.strictObject(ACKNOWLEDGED_BY).optional(),
    answers: { 200: { description: 'It is acknowledged.', json: AcknowledgedShape } },
    problems: [400, 404, 409],
    example: { params: { id: EXAMPLE_ID }, body: { comment: 'asked the customer' } },
    answer: async (deps, { params, body, who }) => {
      const { id, hubId, state } = await theOne(deps, params.id)
      const { by = who.name, comment } = body ?? {}
      const outcome = await deps.actions.acknowledge({ id, hubId, level: state.level }, { by, comment }, who)
      if (outcome.is === 'not-open') throw closed(id)
      if (outcome.is === 'gone-worse') throw new Problem(409, `Alert ${id} has just got worse: read it again.`)
      const acknowledged = timedAcknowledgement(outcome.acknowledged)
      return { json: { id, hubId: hubId === NOBODY ? null : hubId, outcome: outcome.is, acknowledged } }
    },
  }),

  route('unacknowledgeAlert', 'POST /alerts/{id}/unacknowledge', {
    summary: 'Take an acknowledgement back: the alert repeats again',
    params: OF_ALERT,
    answers: { 200: { description: 'It is not acknowledged any more.', json: UnacknowledgedShape } },
    problems: [404, 409],
    example: { params: { id: EXAMPLE_ID } },
    answer: async (deps, { params, who }) => {
      const { id, hubId } = await theOne(deps, params.id)
      const { is } = await deps.actions.unacknowledge({ id, hubId }, who)
      if (is === 'not-open') throw closed(id)
      return { json: { id, hubId: hubId === NOBODY ? null : hubId, outcome: is } }
    },
  }),
]

async function theOne(deps: Parameters<typeof findAlert>[0], given: string): Promise<OpenState> {
  const found = await findAlert(deps, given)
  if (found.is === 'several') {
    throw new Problem(409, `Several open alerts begin so: ${found.ids.join(', ')}.`, {}, [], 'ambiguous')
  }
  if (found.is !== 'found') throw new Problem(404, `No alert ${given.slice(0, 40)} is open.`)
  return found.alert
}

function closed(id: string): Problem {
  return new Problem(404, `Alert ${id} has just been closed.`)
}
