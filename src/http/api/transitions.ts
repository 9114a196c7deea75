import * as z from 'zod'
import type { TransitionRef } from '../../alerts/ledger.ts'
import { type LoggedTransition, readAlertLog, transitionJson, whyPending } from '../../views/alert-log.ts'
import { TransitionShape } from '../../views/shapes/alert.ts'
import { atMost, cursor, moment, oneOf, wholeNumber } from '../query.ts'
import { nextOf } from './next-of.ts'
import { ok, pageOf, route, TAKES_NOTHING } from './route.ts'

const DAY_MS = 86_400_000

/** The moment and the transition that came last. */
const AFTER = z
  .string('must be given once')
  .regex(/^\d{1,15}\.\d{1,4}(-\d{1,15}){1,2}$/, 'must be what the list before called next')

export const listTransitions = route({
  ...TAKES_NOTHING,
  ...{ id: 'listTransitions', method: 'GET', path: '/transitions', scope: 'read' },
  summary: 'What alerts did, and the outcome',
  description: 'What `plimsoll alerts log` lists: the last 1,000 transitions of each of the 64 partitions.',
  query: z.strictObject({
    since: moment().optional().describe('Default: 24 hours ago.'),
    hubId: wholeNumber(1, Number.MAX_SAFE_INTEGER).optional().describe('Only those of this account.'),
    level: oneOf(['warning', 'critical']).optional().describe('Only transitions of this level.'),
    limit: atMost(500, 100),
    after: cursor(AFTER).optional(),
  }),
  answers: {
    200: {
      description: 'A page of transitions.',
      json: pageOf(TransitionShape, 'Oldest first: what comes meanwhile comes at the end.'),
    },
  },
  ...{ problems: [400], example: { query: { since: '2026-11-21T00:00:00Z', hubId: '1234567' } } },
  answer: async (deps, { query: { since = deps.clock.now() - DAY_MS, hubId, level, limit, after } }) => {
    const asked = { since, ...(hubId === undefined ? {} : { hubId }), ...(level === undefined ? {} : { level }) }
    const logged = (await readAlertLog(deps, asked)).toSorted(byPlace)
    const from = after === undefined ? 0 : logged.findIndex((one) => comesAfter(one, after))
    const page = from === -1 ? [] : logged.slice(from, from + limit)
    const held = await whyPending(deps, page)
    const [last] = page.slice(-1)
    const isEnd = last === undefined || last === logged.at(-1)
    const items = page.map((one) => transitionJson(one, held))
    return ok({ items, ...nextOf(isEnd ? undefined : cursorOf(last)) })
  },
})

function placeOf({ transition, alert }: LoggedTransition): [at: number, ref: TransitionRef] {
  return [Date.parse(alert.measuredAt), transition]
}

/** One order for all pages: of one moment by the transition's name, whatever that means. */
function byPlace(a: LoggedTransition, b: LoggedTransition): number {
  const [[at, ref], [otherAt, otherRef]] = [placeOf(a), placeOf(b)]
  return at - otherAt || (ref < otherRef ? -1 : ref > otherRef ? 1 : 0)
}

function cursorOf(one: LoggedTransition): string {
  return placeOf(one).join('.')
}

function comesAfter(one: LoggedTransition, cursor: string): boolean {
  const [at, ref] = placeOf(one)
  const dot = cursor.indexOf('.')
  const [cursorAt, cursorRef] = [Number(cursor.slice(0, dot)), cursor.slice(dot + 1)]
  return at > cursorAt || (at === cursorAt && ref > cursorRef)
}
