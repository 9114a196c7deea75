import { UnacknowledgedShape } from '../views/shapes/alert.ts'
import { ALERT, alertNamed, idsOf, justClosed, whoseAlert } from './one-alert.ts'
import { operation } from './operation.ts'

export const unacknowledgement = operation({
  id: 'unacknowledgeAlert',
  route: 'POST /alerts/{id}/unacknowledge',
  args: '<alert>',
  is: 'take an acknowledgement back: the alert repeats again',
  takes: { id: ALERT },
  gives: UnacknowledgedShape,
  problems: [404, 409],
  example: { params: { id: '72254a98b7594a1f' } },
  examples: ['1f0c9a7be2d45a63'],
  does: async (deps, { given, who }) => {
    const alert = await alertNamed(deps, given.id)
    const { is } = await deps.actions.unacknowledge(alert, who)
    if (is === 'not-open') throw justClosed(alert.id)
    return { alert, is }
  },
  json: ({ alert, is }) => ({ ...idsOf(alert), outcome: is }),
  show: ({ alert, is }) => {
    const outcome = is === 'withdrawn' ? 'is no longer acknowledged: it repeats again' : 'was not acknowledged'
    return [`alert ${alert.id} of ${whoseAlert(alert)} ${outcome}`]
  },
})
