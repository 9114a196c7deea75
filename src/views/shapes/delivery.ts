import * as z from 'zod'
import { count, isoMoment, momentOrNull, outsideText, shape, text } from './words.ts'

export const AttemptShape = shape('Attempt', 'One attempt to deliver one message.', {
  at: isoMoment('When it was made.'),
  id: text('Id of the delivery, the same on each attempt.'),
  receiver: text('Name of the receiver.'),
  type: text('Type of the message.').meta({ examples: ['alert.firing'] }),
  attempt: count('Attempt number, from 1.'),
  outcome: text('`delivered`, `retry` (it is tried again), `dead` (given up) or, of a test, `failed`.'),
  reason: outsideText('The answer, or the fault.'),
  ms: z.number().nullable().describe('How long it took, milliseconds; null where nothing was tried.'),
  answer: z.int().nullable().describe('HTTP status or SMTP reply code; null where nothing was answered.'),
  nextAt: momentOrNull('When it is tried again.'),
})
export type AttemptShape = z.infer<typeof AttemptShape>

export const ReceiverShape = shape('Receiver', 'The state of a receiver.', {
  receiver: text('Name of the receiver in the config.'),
  state: z
    .enum(['delivers', 'failing', 'disabled', 'new'])
    .describe('`new`: nothing was tried yet; `failing`: every attempt since `failingSince` has failed.'),
  lastDeliveredAt: momentOrNull('When a message arrived last.'),
  failingSince: momentOrNull('Start of the failures: every attempt since has failed.'),
  failedAttempts: count('How many have since.'),
  reason: outsideText(
    'Error of the last failed attempt; answer that disabled the receiver; or refused recipients.',
  ).nullable(),
})
export type ReceiverShape = z.infer<typeof ReceiverShape>

export const ReplayedShape = shape('Replayed', 'Outcome of replaying given-up deliveries.', {
  replayed: count('Deliveries that are on their way again.'),
  disabled: z.array(z.string()).describe('Receivers that are switched off: nothing goes their way.'),
})
export type ReplayedShape = z.infer<typeof ReplayedShape>

export const ReceiverTestShape = shape('ReceiverTest', 'Outcome of a test message.', {
  receiver: text('Name of the receiver in the config.'),
  outcome: z.enum(['delivered', 'failed', 'shown']).describe('shown: nothing was sent.'),
  shown: outsideText('The message that would be sent, where that was asked for.').nullable(),
  reason: outsideText('The answer, or the fault; null where there was none.').nullable(),
  answer: z.int().nullable().describe('HTTP status or SMTP reply code; null where nothing was answered.'),
  ms: z.number().min(0).describe('How long it took, milliseconds.'),
  fix: text('The remedy, where it failed.').nullable(),
  noted: z.boolean().describe('True where the log of deliveries has it: not while Redis is away.'),
  enabled: z.boolean().describe('The receiver was switched off, and gets messages again.'),
})
export type ReceiverTestShape = z.infer<typeof ReceiverTestShape>

export const OutboxShape = shape('Outbox', 'How many alerts are on their way, from counters.', {
  pending: count('On their way: the next three together.'),
  inOutbox: count('Alerts with news that no daemon has read.'),
  waiting: count('Alerts that a receiver waits for, in a group or held back; each counts for each receiver.'),
  deliveries: count('Messages on their way.'),
  dead: count('Messages that were given up.'),
  oldestPendingAt: momentOrNull('When the oldest of it happened.'),
  lateSince: momentOrNull('Moment since which a step is late.'),
})
export type OutboxShape = z.infer<typeof OutboxShape>

const ofReceiver = { receiver: text('Name of the receiver in the config.'), alert: text('The id of the alert.') }

export const OutboxProofShape = shape('OutboxProof', 'The same, and what each receiver knows of each alert.', {
  ...OutboxShape.shape,
  balanced: z.boolean().describe('Nothing is `missing` or `unresolved`.'),
  open: count('Alerts that are open.'),
  waits: z
    .array(z.object({ ...ofReceiver, why: text('The reason of the wait.') }))
    .describe('Alerts that receivers do not know yet, and why.'),
  missing: z.array(z.object(ofReceiver)).describe('Open alerts that receivers were sent, and do not know.'),
  unresolved: z
    .array(z.object(ofReceiver))
    .describe('Alerts that receivers were sent as firing and that are over, with no end on its way to them.'),
})
export type OutboxProofShape = z.infer<typeof OutboxProofShape>
