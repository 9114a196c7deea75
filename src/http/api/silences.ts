import * as z from 'zod'
import { noSilence } from '../../operations/end-silence.ts'
import { SilenceShape } from '../../views/shapes/alert.ts'
import { silenceView } from '../../views/silenced.ts'
import { route } from './route.ts'

export const silenceRoutes = [
  route('showSilence', 'GET /silences/{id}', {
    summary: 'One silence',
    params: z.object({ id: z.string().describe('Its id.') }),
    gives: { description: 'The silence.', json: SilenceShape },
    problems: [404],
    example: { params: { id: 's-4k7mp' } },
    answer: async (deps, { params: { id } }) => {
      const silence = (await deps.silences.all()).find((one) => one.id === id)
      if (silence === undefined) throw noSilence(id)
      return { json: await silenceView(deps, silence, deps.clock.now()) }
    },
  }),
]
