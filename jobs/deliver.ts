import { withHublets } from '../src/alerts/with-hublets.ts'
import { type AfterAttempt, afterAttempt, GIVE_UP_AFTER } from '../src/delivery/after-attempt.ts'
import { CLAIM_MS, type Delivery } from '../src/delivery/deliveries.ts'
import type { AttemptOutcome, Recipients } from '../src/delivery/receiver.ts'
import { InFlight } from '../src/runtime/concurrency.ts'
import type { LogEvent } from '../src/runtime/logger.ts'
import type { JobDeps } from './job-deps.ts'
import type { DeliverJob } from './queues.ts'

/** The two steps of a stop. */
export interface StopSignals {
  /** Begin nothing new. */
  stopping: AbortSignal
  /** Time is up: let go of what is under way. */
  abandon: AbortSignal
}

export type DeliverWork = Pick<
  JobDeps,
  'store' | 'keys' | 'deliveries' | 'receivers' | 'turns' | 'queues' | 'metrics' | 'clock' | 'random' | 'log'
>

/** Attempts of one receiver under way at a time, unless it asks for less, and how many more may wait for their turn here. */
const AT_A_TIME = 8
export const PER_RECEIVER = 2 * AT_A_TIME
const BUSY_MS = 1_000
/** How soon the new address is tried where the old one wants no more; a daemon may have the old config for longer. */
const ELSEWHERE_MS = 5_000

/**
 * Deliveries in progress by receiver: a slow one gets no more than its share of the places, so that it holds up no
 * other one.
 */
export class Turns {
  readonly #turns = new Map<string, { places: number; inFlight: InFlight; taken: number }>()

  /** Undefined if the receiver has all its places taken. As many wait as are under way: a claim lasts for two attempts. */
  async take<T>(receiver: string, atATime: number, work: () => Promise<T>): Promise<T | undefined> {
    const known = this.#turns.get(receiver)
    // One that another config made from an e-mail to a webhook has other places.
    const turn = known?.places === atATime ? known : { places: atATime, inFlight: new InFlight(atATime), taken: 0 }
    this.#turns.set(receiver, turn)
    if (turn.taken >= 2 * atATime) return undefined
    turn.taken++
    try {
      return await turn.inFlight.run('normal', work)
    } finally {
      turn.taken--
    }
  }
}

/** One attempt to deliver one message; its outcome decides on the next one. */
export async function deliver(deps: DeliverWork, { deliveryId }: DeliverJob, stop: StopSignals): Promise<void> {
  const { deliveries, clock } = deps
  const sinceTaken = clock.stopwatch()
  const takenAt = clock.now()
  const delivery = await deliveries.begin(deliveryId, takenAt)
  if (typeof delivery === 'number') return deps.queues.wake('alerts', delivery)
  if (delivery === undefined || delivery === 'held') return
  const atATime = deps.receivers.get(delivery.receiver)?.atATime ?? AT_A_TIME
  const isDone = await deps.turns.take(delivery.receiver, atATime, async () => {
    if (stop.stopping.aborted) return false
    const tried = await attempt(deps, delivery, { takenAt, sinceTaken }, stop.abandon)
    // Within its turn: the next one must find that this receiver was switched off.
    if (tried !== undefined) await settle(deps, delivery, tried, stop)
    return tried !== undefined
  })
  // After the end of the claim, another daemon may have it.
  if (isDone === true || sinceTaken() >= CLAIM_MS) return
  const now = clock.now()
  await deliveries.handBack(delivery, stop.stopping.aborted ? now : now + BUSY_MS)
}

/** Records the outcome of an attempt, and what follows from it. */
async function settle(deps: DeliverWork, delivery: Delivery, tried: Tried, stop: StopSignals): Promise<void> {
  const { deliveries, clock } = deps
  const now = clock.now()
  const { outcome, ms } = tried
  // Cut off by us, not refused by them: it is no failed attempt.
  if (stop.abandon.aborted && outcome.outcome === 'retry') return deliveries.handBack(delivery, now)

  const next = afterAttempt(outcome, {
    attempts: delivery.attempts + 1,
    waitedMs: delivery.waitedMs,
    now,
    random: deps.random(),
  })
  const reason = outcome.outcome === 'delivered' ? (outcome.detail ?? '') : outcome.reason
  const is = next.next === 'done' ? 'delivered' : next.next
  const waits = outcome.outcome === 'disable' && outcome.waits === true
  const wantsNoMore = outcome.outcome === 'disable' && !waits
  const nextAt = next.next === 'retry' ? next.at : wantsNoMore ? now + ELSEWHERE_MS : null
  const pause = waits ? GIVE_UP_AFTER : outcome.outcome === 'retry' ? outcome.retryAfterMs : undefined
  const pausedUntil = pause ? now + pause : undefined
  const record = {
    nextAt,
    reason,
    ms,
    answer: outcome.answer,
    address: tried.address,
    pausedUntil,
    ...recipientsOf(outcome.recipients, next),
  }
  const recorded = await deliveries.record(
    delivery,
    { outcome: wantsNoMore ? 'refused' : waits && is === 'retry' ? 'waits' : is, ...record },
    now,
  )
  // The sweep of the receivers opens the alert.
  if (recorded === 'disabled' || recorded === 'refused') await deps.queues.wake('receivers', now)
  if (recorded === 'acknowledged') await deps.queues.wake('alerts', now)
  const isAgain = next.next === 'retry' || recorded === 'moved'
  if (isAgain && nextAt !== null) await deps.queues.wake('alerts', nextAt)
  note(deps, delivery, { is: isAgain ? 'retry' : is, reason }, tried)
}

/** Recipients who were put off for three days are refused. */
function recipientsOf(recipients: Recipients | undefined, { next }: AfterAttempt) {
  if (recipients === undefined) return {}
  const { taken, later, refused } = recipients
  if (next === 'dead') return { recipients: { taken, refused: [...refused, ...later] } }
  return {
    recipients: { taken, refused },
    ...(later.length > 0 && { left: later.map(({ address }) => address) }),
  }
}

interface Tried {
  outcome: AttemptOutcome
  /** How long it took; null where nothing was tried, or it says nothing about the receiver. */
  ms: number | null
  /** Address of the receiver that was asked, or would have been. */
  address: string | undefined
}

/**
 * Undefined: its receiver asked to be left alone while it waited for its turn; or so much of the claim is over, as where the
 * machine slept, that another daemon may send a newer message meanwhile.
 */
async function attempt(
  deps: DeliverWork,
  delivery: Delivery,
  { takenAt, sinceTaken }: { takenAt: number; sinceTaken: () => number },
  abandon: AbortSignal,
): Promise<Tried | undefined> {
  const receiver = deps.receivers.get(delivery.receiver)
  if (receiver === undefined) {
    // The message was routed by an earlier config: it waits for the receiver to be there again.
    const reason = `no receiver named ${delivery.receiver} is configured`
    return { outcome: { outcome: 'retry', reason }, ms: null, address: undefined }
  }
  const { address } = receiver
  if (await deps.deliveries.isPausedAfter(delivery.receiver, takenAt)) return undefined
  const disabled = (await deps.deliveries.disabled())[delivery.receiver]
  if (disabled !== undefined) {
    // A mail receiver is switched off by a refused login alone: what waits for the right one is not given up with it.
    const waits = receiver.type === 'email' && { waits: true as const }
    return { outcome: { outcome: 'disable', reason: disabled, ...waits }, ms: null, address }
  }
  const { data } = delivery.message
  const message = {
    ...delivery.message,
    data: { ...data, alerts: await withHublets(deps.store, deps.keys, data.alerts) },
  }
  if (sinceTaken() > CLAIM_MS / 2) return undefined
  const startedAt = deps.clock.now()
  const outcome = await receiver
    .send({ id: delivery.id, message, left: delivery.left, now: startedAt }, abandon)
    .catch((error: unknown) => notSent(deps, error))
  const saysNothing = outcome.outcome === 'refuse' && outcome.ofAddressee === true
  return { outcome, ms: saysNothing ? null : Math.max(0, deps.clock.now() - startedAt), address }
}

/** A fault of our own. It counts as an attempt: else it would be tried every minute for ever, without an alert. */
function notSent({ log }: DeliverWork, error: unknown): AttemptOutcome {
  log.error({ code: 'delivery.error', err: error }, 'a message could not be made')
  return { outcome: 'retry', reason: "the message could not be made: see the daemon's log" }
}

function note(
  deps: DeliverWork,
  delivery: Delivery,
  { is: outcome, reason }: { is: 'delivered' | 'retry' | 'dead'; reason: string },
  { ms, outcome: { answer } }: Tried,
): void {
  const { id, receiver, message, attempts, createdAt } = delivery
  deps.metrics.deliveries.inc({ receiver, outcome })
  if (ms !== null) deps.metrics.deliveryDuration.observe({ receiver }, ms / 1_000)
  if (outcome === 'delivered') {
    deps.metrics.deliveryDelay.observe({ receiver }, Math.max(0, deps.clock.now() - createdAt) / 1_000)
  }
  const details: LogEvent = {
    code: `delivery.${outcome}`,
    delivery: id,
    receiver,
    type: message.type,
    attempt: attempts + 1,
    ms,
    answer,
  }
  if (outcome === 'delivered') deps.log.info(details, reason === '' ? 'delivered' : reason)
  else if (outcome === 'retry') deps.log.warn(details, reason)
  else deps.log.error(details, reason)
}
