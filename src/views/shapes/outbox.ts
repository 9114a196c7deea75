import * as z from 'zod'
import { count, momentOrNull, text } from './words.ts'

export const OutboxShape = z
  .object({
    committed: count('Transitions that were ever committed.'),
    withheld: count('Of these: no route is for them, or they ended before they were sent.'),
    opened: count('Committed and not withheld.'),
    delivered: count('All their receivers have them.'),
    pending: count('A receiver waits for them.'),
    inOutbox: count('Of these, not collected yet.'),
    dead: count('A delivery of them was given up.'),
    balanced: z.boolean().describe('opened = delivered + pending + dead.'),
    oldestPendingAt: momentOrNull('When the oldest transition that a receiver waits for happened.'),
    lateSince: momentOrNull('Since when an overdue step is late.'),
  })
  .meta({ id: 'Outbox', description: 'The outcome of all transitions, from counters.' })
export type OutboxShape = z.infer<typeof OutboxShape>

const places = z.object({ pending: z.int(), dead: z.int() })

export const OutboxProofShape = OutboxShape.extend({
  where: z
    .object({ outbox: z.int(), groups: z.int(), held: z.int(), deliveries: z.int() })
    .describe('Where those are that a receiver waits for.'),
  astray: z
    .array(
      z.object({ transition: text('Its partition and its place in the log there.'), ledger: places, found: places }),
    )
    .describe('Transitions that the ledger records otherwise than they are found.'),
  missing: z
    .array(text('Its partition and its place in the log there.'))
    .describe('Transitions of the last day that were committed and are nowhere but in the log.'),
  unresolved: z
    .array(z.object({ receiver: text('Who was sent it.'), alert: text('Its id.') }))
    .describe('Alerts that receivers were sent as firing and that are over, with no end on its way to them.'),
}).meta({ id: 'OutboxProof', description: 'The same, proved by a check of each transition.' })
export type OutboxProofShape = z.infer<typeof OutboxProofShape>
