import * as z from 'zod'
import { readOpenAlerts } from '../../alerts/open-alerts.ts'
import { alertNamed, justClosed } from '../../operations/one-alert.ts'
import { OpenAlertShape } from '../../views/shapes/alert.ts'
import { withMarks } from '../../views/silenced.ts'
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
    gives: { description: 'The alert.', json: OpenAlertShape },
    problems: [404, 409],
    example: { params: { id: EXAMPLE_ID } },
    answer: async (deps, { params }) => {
      const { store, keys, silences, clock } = deps
      const { id, hubId } = await alertNamed(deps, params.id)
      const now = clock.now()
      const found = (await readOpenAlerts(store, keys, [hubId])).filter((alert) => alert.id === id)
      const [alert] = withMarks(found, await silences.active(now), now)
      if (alert === undefined) throw justClosed(id)
      return { json: alert }
    },
  }),
]
