import * as z from 'zod'
import { count, momentOrNull, shape, strangersText, text } from './words.ts'

export const AttemptShape = shape('Attempt', 'One attempt to deliver one message.', {
  at: momentOrNull('When it was made.'),
  id: text('Of the delivery, the same on each attempt.'),
  receiver: text('Where to.'),
  type: text('Of the message.').meta({ examples: ['alert.firing'] }),
  attempt: count('The how manieth it was.'),
  outcome: text('`delivered`, `retry` (it is tried again), `dead` (given up) or, of a test, `failed`.'),
  reason: strangersText('The answer, or the fault.'),
  ms: z.number().nullable().describe('How long it took, milliseconds; null where nothing was tried.'),
  answer: z.int().nullable().describe('HTTP status or SMTP reply code; null where nothing was answered.'),
  nextAt: momentOrNull('When it is tried again.'),
})
export type AttemptShape = z.infer<typeof AttemptShape>

export const ReceiverShape = shape('Receiver', 'The state of a receiver.', {
  receiver: text('Its name in the config.'),
  state: z
    .enum(['delivers', 'failing', 'disabled', 'new'])
    .describe('`new`: nothing was tried yet; `failing`: every attempt since `failingSince` has failed.'),
  lastDeliveredAt: momentOrNull('When a message arrived last.'),
  failingSince: momentOrNull('Since when every attempt has failed.'),
  failedAttempts: count('How many have since.'),
  reason: strangersText('Of the last attempt that failed; of one that is disabled, its answer.').nullable(),
})
export type ReceiverShape = z.infer<typeof ReceiverShape>

export const ReplayedShape = shape('Replayed', 'What came of sending again what was given up.', {
  replayed: count('Deliveries that are on their way again.'),
  disabled: z.array(z.string()).describe('Receivers that are switched off: nothing goes their way.'),
})
export type ReplayedShape = z.infer<typeof ReplayedShape>

export const ReceiverTestShape = shape('ReceiverTest', 'What came of a test message.', {
  receiver: text('Its name in the config.'),
  outcome: z.enum(['delivered', 'failed', 'shown']).describe('shown: nothing was sent.'),
  shown: strangersText('What would be sent, where that was asked for.').nullable(),
  reason: strangersText('The answer, or the fault; null where there was none.').nullable(),
  answer: z.int().nullable().describe('HTTP status or SMTP reply code; null where nothing was answered.'),
  ms: z.number().min(0).describe('How long it took, milliseconds.'),
  fix: text('What to do, where it failed.').nullable(),
  noted: z.boolean().describe('Whether the log of deliveries has it: not while Redis is away.'),
  enabled: z.boolean().describe('It was switched off, and gets messages again.'),
})
export type ReceiverTestShape = z.infer<typeof ReceiverTestShape>

export const OutboxShape = shape('Outbox', 'The outcome of all transitions, from counters.', {
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
export type OutboxShape = z.infer<typeof OutboxShape>

const places = z.object({ pending: z.int(), dead: z.int() })

export const OutboxProofShape = shape('OutboxProof', 'The same, proved by a check of each transition.', {
  ...OutboxShape.shape,
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
})
export type OutboxProofShape = z.infer<typeof OutboxProofShape>
