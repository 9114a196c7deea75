import * as z from 'zod'
import { readChanges } from '../../alerts/read-changes.ts'
import { FleetChangesShape } from '../../views/shapes/changes.ts'
import { atMost, momentOrAgo } from '../query.ts'
import { route } from './route.ts'

export const changeRoutes = [
  route('listChanges', 'GET /changes', {
    summary: 'What changed in all accounts since a moment',
    description:
      'Several changes of one alert, limit or account are one: its first state and its last. `counts` are of all of them, `leftOut` is how many of them `items` does not have; a later `since` has fewer.',
    query: z.strictObject({
      since: momentOrAgo('24h').describe('From when on.'),
      limit: atMost(500, 100).describe('The most items of each of the four groups.'),
    }),
    answers: { 200: { description: 'The changes.', json: FleetChangesShape } },
    problems: [400],
    example: { query: { since: '24h' } },
    answer: async (deps, { query: { since, limit } }) => {
      const now = deps.clock.now()
      return { json: await readChanges(deps, { since: since(now), until: now, mostOfEach: limit }) }
    },
  }),
]
