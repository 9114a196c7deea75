import * as z from 'zod'
import { UpcomingShape } from '../../views/shapes/upcoming.ts'
import { readUpcoming } from '../../views/upcoming.ts'
import { atMost, cursor } from '../query.ts'
import { placeInUpcoming } from '../search-accounts.ts'
import { route } from './route.ts'

const RANGE = z.strictObject({
  limit: atMost(500, 100),
  after: cursor(z.string('must be given once').max(60, 'is too long')).optional(),
})

export const upcomingRoutes = [
  route('listUpcoming', 'GET /upcoming', {
    summary: 'Who reaches a limit in the next 30 days',
    description:
      'By forecast, soonest first. An account that moves between two pages may be listed twice or not at all.',
    query: RANGE,
    answers: { 200: { description: 'A page of accounts, and how many forecasts came true.', json: UpcomingShape } },
    problems: [400],
    example: { query: { limit: '2' } },
    answer: async (deps, { query: { limit, after = '' } }) => {
      return { json: await readUpcoming(deps, { limit, after: placeInUpcoming(after) }, deps.clock.now()) }
    },
  }),
]
