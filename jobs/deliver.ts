import { withHublets } from '../src/alerts/with-hublets.ts'
import { type AttemptRecord, afterAttempt } from '../src/delivery/after-attempt.ts'
import { type Begun, CLAIM_MS, type ClaimedReceiver as Claimed } from '../src/delivery/deliveries.ts'
import type { AttemptOutcome, Receiver } from '../src/delivery/receiver.ts'
import type { LogEvent } from '../src/runtime/logger.ts'
import type { JobDeps } from './job-deps.ts'
import { workOff } from './work-off.ts'

/** The two steps of a stop. */
export interface StopSignals {
  /** Begin nothing new. */
  stopping: AbortSignal
  /** Time is up: let go of what is under way. */
  abandon: AbortSignal
}

export type DeliverWork = Pick<
  JobDeps,
  | ('store' | 'keys' | 'due' | 'deliveries' | 'receivers' | 'queues' | 'metrics' | 'movement' | 'goesOn')
  | ('clock' | 'random' | 'log')
>

/** Attempts of one receiver under way at a time, unless it asks for less. */
const AT_A_TIME = 8
/** While some are under way, others may come due. */
const LOOK_EVERY_MS = 250

/** Claims those of these receivers that are due, as accounts are claimed: others are left to daemons that have them in their config. */
export async function claimReceivers(
  { store, keys, due }: Pick<JobDeps, 'store' | 'keys' | 'due'>,
  names: readonly string[],
): Promise<Claimed[]> {
  if (names.length === 0) return []
  const more = [names.length, CLAIM_MS, due.mark(), ...names] as const
  const [claim, ...claimed] = await store.claimAccounts(keys.delivery.receiversDue, keys.fleet, ...more)
  return claimed.map((receiver) => ({ receiver, claim: Number(claim) }))
}

/** Sends what is due to the receivers of this config: each is claimed by one worker, so that a slow one holds up no other. */
export async function deliverDue(deps: DeliverWork, stop: StopSignals): Promise<void> {
  const names = [...deps.receivers.keys()]
  await workOff(deps, stop.stopping, {
    atOnce: names.length,
    claim: () => claimReceivers(deps, names),
    work: (claimed) => deliverTo(deps, claimed, stop),
    failed: async ({ receiver }, error) => {
      deps.log.error({ code: 'delivery.error', receiver, err: error }, 'this receiver is left alone for a minute')
    },
  })
}

/** Sends what is due to a claimed receiver, in its order, until nothing is. */
async function deliverTo(deps: DeliverWork, claimed: Claimed, stop: StopSignals): Promise<void> {
  const { deliveries, queues, clock, movement, goesOn = () => true } = deps
  const receiver = deps.receivers.get(claimed.receiver)
  if (receiver === undefined) return
  const underWay = new Map<string, Promise<void>>()
  const failures: unknown[] = []
  let { claim } = claimed
  const held = () => ({ receiver: receiver.name, claim })
  const oneIsDone = async () => {
    if (underWay.size === 0) return
    const looking = new AbortController()
    await Promise.race([...underWay.values(), clock.wait(LOOK_EVERY_MS, looking.signal)])
    looking.abort()
  }
  while (!stop.stopping.aborted && failures.length === 0 && goesOn()) {
    if (underWay.size >= (receiver.atATime ?? AT_A_TIME)) {
      await oneIsDone()
      continue
    }
    const sinceBegun = clock.stopwatch()
    const begun = await deliveries.begin(held(), [...underWay.keys()])
    if (begun.is === 'lost') break
    if (begun.is === 'idle') return begun.next === undefined ? undefined : queues.wake('alerts', begun.next)
    if (begun.is === 'busy') await oneIsDone()
    if (begun.is === 'begun') {
      claim = begun.claim
      const tried = movement.watch('attempt', () => attempt(deps, receiver, begun, sinceBegun, stop.abandon))
      const ended = tried.catch((error: unknown) => void failures.push(error)).finally(() => underWay.delete(begun.id))
      underWay.set(begun.id, ended)
    }
  }
  await Promise.all(underWay.values())
  if (failures.length > 0) throw failures[0]
  await deliveries.leave(held(), clock.now())
  await queues.wake('alerts', clock.now())
}

/** One attempt to deliver one message. One that is not recorded is due as before. */
async function attempt(
  deps: DeliverWork,
  receiver: Receiver,
  delivery: Begun,
  sinceBegun: () => number,
  abandon: AbortSignal,
): Promise<void> {
  const { address } = receiver
  const notTried = untried(receiver, delivery)
  const now = () => delivery.now + Math.round(sinceBegun())
  if (notTried !== undefined) return settle(deps, delivery, { outcome: notTried, ms: null, address }, now())
  let startedAt = now()
  const send = async () => {
    const { data } = delivery.message
    const alerts = await withHublets(deps.store, deps.keys, data.alerts)
    // The claim may not last for all of the attempt: the machine slept.
    if (sinceBegun() > CLAIM_MS / 2) return undefined
    startedAt = now()
    const message = { ...delivery.message, data: { ...data, alerts } }
    return receiver.send({ id: delivery.id, message, left: delivery.left, now: startedAt }, abandon)
  }
  const outcome = await send().catch((error: unknown) => notSent(deps, error))
  // Cut off by us, not refused by them: it is no failed attempt.
  if (outcome === undefined || (abandon.aborted && outcome.outcome === 'retry')) return
  const saysNothing = outcome.outcome === 'refuse' && outcome.ofAddressee === true
  const ms = saysNothing ? null : now() - startedAt
  await settle(deps, delivery, { outcome, ms, address }, now())
}

/** The outcome for what can't be tried. */
function untried(receiver: Receiver, { disabled, isUnreadable }: Begun): AttemptOutcome | undefined {
  if (isUnreadable) return { outcome: 'refuse', reason: 'the stored message can not be read' }
  if (disabled === undefined) return undefined
  // A mail receiver is switched off by a refused login alone: what waits for the right one is not given up with it.
  return { outcome: 'disable', reason: disabled, ...(receiver.type === 'email' && { waits: true as const }) }
}

interface Tried {
  outcome: AttemptOutcome
  /** How long it took; null where nothing was tried, or it says nothing about the receiver. */
  ms: number | null
  /** Address of the receiver that was asked, or would have been. */
  address: string | undefined
}

/** Records the outcome of an attempt, and what follows from it. */
async function settle(deps: DeliverWork, delivery: Begun, { outcome, ms, address }: Tried, now: number): Promise<void> {
  const made = { attempts: delivery.attempts + 1, waitedMs: delivery.waitedMs, now, random: deps.random() }
  const record = { ...afterAttempt(outcome, made), ms, address }
  const recorded = await deps.deliveries.record(delivery, record, now)
  // The sweep of the receivers opens the alert.
  if (recorded === 'disabled' || recorded === 'refused') await deps.queues.wake('receivers', now)
  note(deps, delivery, recorded === 'moved' ? { ...record, outcome: 'retry' } : record, now)
}

/** A fault of our own. It counts as an attempt: else it would be tried every minute for ever, without an alert. */
function notSent({ log }: DeliverWork, error: unknown): AttemptOutcome {
  log.error({ code: 'delivery.error', err: error }, 'a message could not be made')
  return { outcome: 'retry', reason: "the message could not be made: see the daemon's log" }
}

/** How an attempt counts where deliveries are counted, and what its line in the log is called. */
const NOTED = { delivered: 'delivered', retry: 'retry', waits: 'retry', dead: 'dead', refused: 'dead' } as const

function note(deps: DeliverWork, delivery: Begun, record: AttemptRecord, now: number): void {
  const { id, receiver, message, attempts, createdAt } = delivery
  const { ms = null, answer, reason } = record
  const outcome = NOTED[record.outcome]
  deps.metrics.deliveries.inc({ receiver, outcome })
  if (ms !== null) deps.metrics.deliveryDuration.observe({ receiver }, ms / 1_000)
  if (outcome === 'delivered') {
    deps.metrics.deliveryDelay.observe({ receiver }, Math.max(0, now - createdAt) / 1_000)
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
