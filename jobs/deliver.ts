import { afterAttempt } from '../src/delivery/after-attempt.ts'
import type { Deliveries, Delivery } from '../src/delivery/deliveries.ts'
import type { AttemptOutcome, Receiver } from '../src/delivery/receiver.ts'
import type { Clock } from '../src/runtime/clock.ts'
import type { Logger } from '../src/runtime/logger.ts'
import type { Metrics } from '../src/runtime/metrics.ts'
import type { DeliverJob, Queues } from './queues.ts'

export interface DeliverDeps {
  deliveries: Deliveries
  receivers: ReadonlyMap<string, Receiver>
  queues: Queues
  metrics: Metrics
  clock: Clock
  random: () => number
  log: Logger
}

/** One attempt to deliver one message; what comes of it decides when the next one is. */
export async function deliver(deps: DeliverDeps, { deliveryId }: DeliverJob, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return deps.deliveries.handBack([deliveryId], deps.clock.now())
  const delivery = await deps.deliveries.get(deliveryId)
  if (delivery === undefined) return deps.deliveries.drop(deliveryId)

  const outcome = await attempt(deps, delivery, signal)
  const now = deps.clock.now()
  const next = afterAttempt(delivery.attempts + 1, delivery.createdAt, outcome, now, deps.random())
  const reason = outcome.outcome === 'delivered' ? (outcome.detail ?? '') : outcome.reason
  const is = next.next === 'done' ? 'delivered' : next.next
  await deps.deliveries.record(delivery, { outcome: is, nextAt: next.next === 'retry' ? next.at : null, reason }, now)
  if (next.next === 'retry') await deps.queues.wake('alerts', next.at)
  note(deps, delivery, is, reason)
}

async function attempt(deps: DeliverDeps, delivery: Delivery, signal: AbortSignal): Promise<AttemptOutcome> {
  const receiver = deps.receivers.get(delivery.receiver)
  // The message was routed by an earlier config: it waits for the receiver to be there again.
  if (receiver === undefined)
    return { outcome: 'retry', reason: `no receiver named ${delivery.receiver} is configured` }
  return receiver.send({ id: delivery.id, message: delivery.message, now: deps.clock.now() }, signal)
}

function note(deps: DeliverDeps, delivery: Delivery, outcome: 'delivered' | 'retry' | 'dead', reason: string): void {
  const { id, receiver, message, attempts } = delivery
  deps.metrics.deliveries.inc({ receiver, outcome })
  const details = { code: `delivery.${outcome}`, delivery: id, receiver, type: message.type, attempt: attempts + 1 }
  if (outcome === 'delivered') deps.log.info(details, reason === '' ? 'delivered' : reason)
  else if (outcome === 'retry') deps.log.warn(details, reason)
  else deps.log.error(details, reason)
}
