import * as z from 'zod'
import { related } from './relations.ts'
import { durationOrNever } from './values.ts'

const settings = related(
  z.strictObject({
    every: durationOrNever({ min: '1m', max: '365d' })
      .prefault('7d')
      .describe(
        'A receiver that delivered nothing for so long gets a test message, marked as the drill; never: none does.',
      ),
    alertAfter: durationOrNever({ min: '1m', max: '730d' })
      .prefault('14d')
      .describe('A receiver that delivered nothing for so long, drills included, is an alert to the others.'),
  }),
  ({ every, alertAfter }, report) => {
    if (typeof every !== 'number' || typeof alertAfter !== 'number' || every < alertAfter) return
    report(['alertAfter'], 'must be longer than every: a drill has to come first')
  },
)

/** Whether a receiver works is known before it matters. */
export const drill = settings.prefault({}).describe('How receivers that have nothing to deliver prove that they work.')

/** After how long a receiver that delivered nothing is an alert: without drills a quiet one may be well. */
export function unprovenAfter({ drill }: { drill: Readonly<z.output<typeof settings>> }): number | 'never' {
  return drill.every === 'never' ? 'never' : drill.alertAfter
}
