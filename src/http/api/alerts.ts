import * as z from 'zod'
import { findAlert } from '../../alerts/acknowledge.ts'
import { type OpenState, readOpenAlerts } from '../../alerts/open-alerts.ts'
import { NOBODY } from '../../redis/steps.ts'
import { type LoggedTransition, readAlertLog, transitionJson } from '../../views/alert-log.ts'
import {
  alertPlaceText,
  findAlerts,
  MARKS,
  OPEN_KINDS,
  PLACE,
  readPlace,
  timedAcknowledgement,
  timedAlert,
} from '../../views/find-alerts.ts'
import { AcknowledgedShape, OpenAlertShape, TransitionShape, UnacknowledgedShape } from '../../views/shapes/alert.ts'
import { withMarks } from '../../views/silenced.ts'
import { ACKNOWLEDGED_BY } from '../acknowledged-by.ts'
import { Problem } from '../problem.ts'
import { atMost, cursor, momentInQuery, numberInQuery, oneOf } from '../query.ts'
import { comesAfter, listShape, nextOf, route } from './route.ts'

const DAY_MS = 86_400_000
const EXAMPLE_ID = '72254a98b7594a1f'
const OF_ALERT = z.object({
  id: z
    .string()
    .describe('Its id, or how that begins: at least six characters. The number of a transition may follow.'),
})
const HUB_ID = numberInQuery(1, Number.MAX_SAFE_INTEGER).optional().describe('Only those of this account.')

export const alertRoutes = [
  route('listAlerts', 'GET /alerts', {
    summary: 'Alerts that are open',
    description:
      'The alerts of an account stay together, so a page may have a few more items than `limit`. An alert that gets worse between two pages moves ahead: to see each once, ask for one account at a time, or for all on one page.',
    query: z.strictObject({
      level: oneOf(['warning', 'critical']).optional().describe('Only alerts at this level.'),
      hubId: HUB_ID,
      kind: oneOf(OPEN_KINDS).optional().describe('Only alerts of this kind.'),
      account: z
        .string()
        .trim()
        .max(120)
        .optional()
        .describe("Only those with this in the account's domain or number."),
      mark: oneOf(MARKS)
        .optional()
        .describe('Only those that are acknowledged, silenced, either (`handled`) or neither (`active`).'),
      limit: atMost(500, 100),
      after: cursor(PLACE).optional(),
    }),
    answers: {
      200: {
        description: 'A page of open alerts.',
        json: listShape(
          OpenAlertShape,
          'By account, the one with the worst alert first; those of one account worst first.',
        ),
      },
    },
    problems: [400],
    example: { query: { level: 'critical' } },
    answer: async (deps, { query: { limit, after, ...filter } }) => {
      const now = deps.clock.now()
      const page = { after: after === undefined ? undefined : readPlace(after), accounts: limit, alerts: limit }
      const { accounts, next } = await findAlerts(
        deps,
        { ...filter, silences: await deps.silences.active(now) },
        page,
        now,
      )
      const items = accounts.flatMap(({ alerts }) => alerts.map(timedAlert))
      return { json: { items, ...nextOf(next === undefined ? undefined : alertPlaceText(next)) } }
    },
  }),

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

  route('listTransitions', 'GET /transitions', {
    summary: 'What alerts did, and the outcome',
    description: 'What `plimsoll alerts log` lists: the last 1,000 transitions of each of the 64 partitions.',
    query: z.strictObject({
      since: momentInQuery().optional().describe('Default: 24 hours ago.'),
      hubId: HUB_ID,
      level: oneOf(['warning', 'critical']).optional().describe('Only transitions of this level.'),
      limit: atMost(500, 100),
      // The moment and the transition that came last.
      after: cursor(
        z
          .string('must be given once')
          .regex(/^\d{1,15}\.\d{1,4}(-\d{1,15}){1,2}$/, 'must be what the list before called next'),
      ).optional(),
    }),
    answers: {
      200: {
        description: 'A page of transitions.',
        json: listShape(TransitionShape, 'Oldest first: what comes meanwhile comes at the end.'),
      },
    },
    problems: [400],
    example: { query: { since: '2026-11-21T00:00:00Z', hubId: '1234567' } },
    answer: async (deps, { query: { since = deps.clock.now() - DAY_MS, hubId, level, limit, after } }) => {
      const asked = { since, ...(hubId === undefined ? {} : { hubId }), ...(level === undefined ? {} : { level }) }
      const logged = (await readAlertLog(deps, asked)).toSorted(byMoment)
      const rest = logged.filter((one) => after === undefined || comesAfter(after, momentOf(one), one.transition))
      const page = rest.slice(0, limit)
      const last = rest.length > limit ? page.at(-1) : undefined
      const items = page.map(transitionJson)
      return { json: { items, ...nextOf(last && `${momentOf(last)}.${last.transition}`) } }
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

function momentOf({ alert }: LoggedTransition): number {
  return Date.parse(alert.measuredAt)
}

/** One order for all pages: of one moment by the transition's name, whatever that means. */
function byMoment(a: LoggedTransition, b: LoggedTransition): number {
  return momentOf(a) - momentOf(b) || (a.transition < b.transition ? -1 : a.transition > b.transition ? 1 : 0)
}
