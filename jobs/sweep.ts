import { chooseDue, chooseProbe, type DueToken } from '../src/accounts/choose-due.ts'
import { type FinishDeps, finishGrant } from '../src/accounts/finish-grant.ts'
import { sweepDigests } from '../src/alerts/send-digests.ts'
import { recheckWaiting } from '../src/alerts/sending/read-due.ts'
import { sendAlerts } from '../src/alerts/sending/send-alerts.ts'
import { dropRemovedReceivers } from '../src/delivery/removed-receivers.ts'
import { sweepHeartbeat } from '../src/heartbeat/heartbeat.ts'
import type { DueSet } from '../src/redis/keys.ts'
import { APART_MS } from '../src/runtime/clock.ts'
import { Failures } from '../src/runtime/concurrency.ts'
import { claimGrants } from '../src/tokens/parked-grants.ts'
import type { JobDeps } from './job-deps.ts'
import { mailInstallers } from './mail-installers.ts'
import { type ChunkJob, type Queues, SWEEPS, type SweepKind } from './queues.ts'
import { sendEvents } from './send-events.ts'
import { sweepFleet } from './sweep-fleet.ts'
import { sweepReceivers } from './sweep-receivers.ts'

/** Accounts per job: below 50 the queue itself is felt, above 500 nothing is won. */
const CHUNK = 200
/** Chunks that may wait: more would only age in the queue, and their claims with them. */
const MOST_WAITING = 50
/** Refreshes are handed on for so long ahead: where the endpoint is slow, the order is decided as late as can be. */
const AHEAD_MS = 1_500
/**
 * Each sweep goes through the whole backlog: one after every few accounts cost a fleet of 40,000 that came due at once as much as
 * their refreshes. So the next sweep comes when half of those that wait have gone, and a few times within what is handed
 * on ahead.
 */
const ENOUGH_WAITING = MOST_WAITING / 2
const SWEEP_AGAIN_MS = 50
const SWEEP_AHEAD_AGAIN_MS = AHEAD_MS / 5

/**
 * Between two sweeps of a fleet at rest: of its token's life, or its period, no account waits for more than a
 * hundredth, and accounts that come due meanwhile travel in the same chunk.
 */
const REST_MS = 2_500
const REST_SHARE = 0.01

function nextSweepAt(rest: number, next: number | undefined, now: number): number | undefined {
  return next === undefined ? undefined : Math.max(next, now + Math.min(REST_MS, rest * REST_SHARE))
}

/** Far longer than it takes, so that it is begun again only where whoever had begun it died. */
const SET_BACK_CLAIM_MS = 30_000
/** Deliveries handed on, and whatever is brought forward, at a time: other commands wait that long. */
const BATCH = 500

/**
 * The sweep before seems to come later: the clock of Redis was set back, or a failover brought another one. How late what was planned
 * meanwhile is due is not known, so it is now. The mark of every sweep is set last: until then the work may have to be begun again.
 */
async function bringForward({ store, keys, sending, queues, log }: JobDeps, now: number): Promise<void> {
  if ((await store.claimSetBack(keys.progress, now, now + SET_BACK_CLAIM_MS)) === 0) return
  const planned = [...Object.values(keys.due), keys.delivery.deliveriesDue, keys.grants.due]
  for (const due of planned) while ((await store.claimDue(due, '+inf', BATCH, now, `(${now}`))[0].length === BATCH) {}
  // Pauses of the token endpoint were planned, too: they are learnt again. The turn of a sweep would last for hours.
  const expiring = SWEEPS.map((kind) => keys.sweepTurn(kind))
  await Promise.all([recheckWaiting(sending), store.del(keys.endpoint), store.del(...expiring)])
  await store.hset(keys.progress, Object.fromEntries(SWEEPS.map((kind) => [kind, now])))
  log.warn({ code: 'clock.set-back' }, 'the clock of Redis was set back: all that was planned is due now')
  await Promise.all(SWEEPS.map((kind) => queues.wake(kind, now)))
}

/** Finds the due accounts and hands them on; returns when to sweep again. Undefined: at the next tick. */
export async function sweep(deps: JobDeps, kind: SweepKind): Promise<number | undefined> {
  const begunAt = deps.clock.now()
  const next = await SWEEP_OF[kind](deps)
  const now = deps.clock.now()
  const { store, keys } = deps
  const latest = Number(await store.hget(keys.progress, kind)) - APART_MS
  // A machine that has slept is behind Redis for a moment.
  if (latest > now && latest > (await store.readTime(keys.progress))) await bringForward(deps, now)
  // Health is progress.
  else await store.hset(keys.progress, kind, now)
  deps.metrics.sweeps.inc({ kind })
  deps.metrics.sweepDuration.observe({ kind }, Math.max(0, now - begunAt) / 1_000)
  return next
}

/** Each hands on what is due, and returns when the next work is due. */
const SWEEP_OF: Record<SweepKind, (deps: JobDeps) => Promise<number | undefined>> = {
  'refresh-tokens': sweepTokens,
  'poll-limits': (deps) => sweepDue(deps, 'poll', 'pollLimits'),
  uninstall: (deps) => sweepDue(deps, 'uninstall', 'uninstall'),
  grants: sweepGrants,
  alerts: sweepMessages,
  'tend-history': (deps) => sweepDue(deps, 'history', 'tendHistory'),
  coverage: sweepFleet,
  heartbeat: sweepHeartbeat,
  digests: sweepDailyMessages,
  receivers: sweepReceivers,
}

/** A job that is about to end may not see what comes due now. */
const LOOK_AGAIN_MS = 1_000

/** Has a job look for what is due, where anything is. */
async function sweepDue(
  { due, queues, clock }: JobDeps,
  kind: DueSet,
  queue: Parameters<Queues['look']>[0],
): Promise<number | undefined> {
  const next = await due.next(kind)
  const now = clock.now()
  if (next === undefined || next > now) return next
  await queues.look(queue, now)
  return now + LOOK_AGAIN_MS
}

/**
 * Claims as many as the token endpoint will take soon, nearest to expiry first; one as a trial while the endpoint
 * fails. The rest stay due.
 */
async function sweepTokens(deps: JobDeps): Promise<number | undefined> {
  const queue = deps.queues.refreshTokens
  const waiting = await queue.getWaitingCount()
  const now = deps.clock.now()
  if (waiting > ENOUGH_WAITING) return now + SWEEP_AGAIN_MS
  const { due, next, fleet } = await deps.due.dueTokens(now)
  const { calls, until, isProbe } = await deps.endpoint.room(AHEAD_MS, fleet)
  const places = Math.min(MOST_WAITING * CHUNK, calls) - waiting * CHUNK
  const chosen = isProbe && places > 0 ? chooseProbe(due, deps.random()) : chooseDue(due, Math.max(0, places), now)
  await handOn(queue, await deps.due.claimTokens(chosen, now), now)
  if (chosen.length === due.length) return nextSweepAt(shortestLife(due), next, now)
  return Math.max(until, now + (calls < MOST_WAITING * CHUNK ? SWEEP_AHEAD_AGAIN_MS : SWEEP_AGAIN_MS))
}

/** 0: of those that will come due nothing is known. */
function shortestLife([first, ...others]: readonly DueToken[]): number {
  const lifeOf = ({ obtainedAt, expiresAt }: DueToken) => expiresAt - obtainedAt
  return first === undefined ? 0 : others.reduce((least, one) => Math.min(least, lifeOf(one)), lifeOf(first))
}

/** BullMQ would note by the clock of this machine since when a job waits. */
async function handOn(queue: Queues['refreshTokens'], hubIds: number[], timestamp: number) {
  const chunks: ChunkJob[] = []
  for (let from = 0; from < hubIds.length; from += CHUNK) {
    chunks.push({ hubIds: hubIds.slice(from, from + CHUNK) })
  }
  if (chunks.length > 0) await queue.addBulk(chunks.map((data) => ({ name: queue.name, data, opts: { timestamp } })))
}

/** Alerts, then what else receivers want to know: what can't be read for the one keeps nothing from the other. */
async function sweepMessages(deps: JobDeps): Promise<number | undefined> {
  const failures = new Failures()
  const next = await failures.of(() => sweepAlerts(deps))
  const nextEvent = await failures.of(() => sendEvents(deps))
  const all = { ...deps, receivers: [...deps.receivers.keys()] }
  const removed = await failures.of(() => dropRemovedReceivers(all, deps.clock.now()))
  for (const receiver of removed ?? [])
    deps.log.info({ code: 'receiver.dropped', receiver }, 'the data of a removed receiver is dropped')
  failures.throwFirst()
  const moments = [nextEvent, next].filter((moment) => moment !== undefined)
  return moments.length === 0 ? undefined : Math.min(...moments)
}

export type AlertsWork = Pick<JobDeps, 'sending' | 'deliveries' | 'queues' | 'metrics' | 'clock'>

/** Turns news of alerts into deliveries, and due deliveries into jobs. Returns when the next work is due. */
export async function sweepAlerts(deps: AlertsWork): Promise<number | undefined> {
  // One node of a cluster that is away, or what can't be read of one receiver, holds up nothing that is further on.
  const failures = new Failures()
  const sent = await failures.of(() => sendAlerts(deps.sending, deps.clock.now()))
  deps.metrics.alertsRelayed.inc(sent?.found ?? 0)
  const next = await handOnDeliveries(deps)
  await deps.deliveries.forgetDead(deps.clock.now())
  failures.throwFirst()
  const moments = [sent?.next, next].filter((moment) => moment !== undefined)
  return moments.length === 0 ? undefined : Math.min(...moments)
}

async function handOnDeliveries({ deliveries, queues, clock }: AlertsWork): Promise<number | undefined> {
  const timestamp = clock.now()
  const { ids, next } = await deliveries.claim(timestamp, BATCH)
  const jobs = ids.map((id) => ({ name: 'deliver', data: { deliveryId: id }, opts: { jobId: id, timestamp } }))
  if (jobs.length > 0) await queues.deliver.addBulk(jobs)
  return next
}

/** Digests, and mails that ask customers to connect again: what can't be read for the one keeps nothing from the other. */
async function sweepDailyMessages(deps: JobDeps): Promise<undefined> {
  const failures = new Failures()
  await failures.of(() => sweepDigests(deps))
  await failures.of(() => mailInstallers(deps))
  failures.throwFirst()
}

type GrantsWork = Pick<JobDeps, 'queues' | 'metrics'> & FinishDeps

/** Asks again whose the grants are that had no answer at their install. The clock brings the next sweep. */
export async function sweepGrants(deps: GrantsWork): Promise<undefined> {
  const { ids, claimedAt } = await claimGrants(deps)
  const finish = async (id: string) => {
    try {
      const outcome = await finishGrant(deps, id, claimedAt)
      deps.metrics.parkedGrants.inc({ outcome })
      return outcome
    } catch (error) {
      deps.log.error({ code: 'grant.error', err: error }, 'a parked grant could not be processed')
      return 'later'
    }
  }
  const outcomes = await Promise.all(ids.map(finish))
  if (!outcomes.includes('connected')) return
  const now = deps.clock.now()
  await Promise.all([deps.queues.wake('poll-limits', now), deps.queues.wake('alerts', now)])
}
