import { formatTime } from '../text/format-time.ts'
import { UnsilencedShape } from '../views/shapes/alert.ts'
import { silenceView } from '../views/silenced.ts'
import { required, textField } from './field.ts'
import { operation } from './operation.ts'
import { Refusal } from './refusal.ts'

export const silenceEnding = operation({
  id: 'endSilence',
  route: 'DELETE /silences/{id}',
  args: '<id>',
  is: 'end a silence now; what still fires is sent',
  takes: { id: required(textField('the silence')) },
  gives: UnsilencedShape,
  problems: [404],
  example: { params: { id: 's-4k7mp' } },
  examples: ['s-4k7mp'],
  does: async (deps, { given: { id }, who, now }) => {
    const ended = await deps.actions.unsilence(id, who)
    if (ended.is === 'unknown') throw noSilence(id)
    return { ...(await silenceView(deps, ended.silence, now)), outcome: ended.is }
  },
  show: ({ id, outcome, endsAt }) => [
    outcome === 'ended'
      ? `silence ${id} is ended: what it covered and still fires is sent now`
      : `silence ${id} was over already: it ended ${formatTime(endsAt)}`,
  ],
})

export function noSilence(id: string): Refusal {
  return new Refusal('unknown', `there is no silence ${id.slice(0, 40)}`, {
    wayOut: 'plimsoll alerts silences shows all',
  })
}
