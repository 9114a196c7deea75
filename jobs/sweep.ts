import { type FinishDeps, finishGrant } from '../src/accounts/finish-grant.ts'
import { sweepDigests } from '../src/alerts/digest.ts'
import { recheckWaiting } from '../src/alerts/sending/read-due.ts'
import { sendAlerts } from '../src/alerts/sending/send-alerts.ts'
import { dropRemovedReceivers } from '../src/delivery/removed-receivers.ts'
import { sweepHeartbeat } from '../src/heartbeat/heartbeat.ts'
import type { DueSet } from '../src/redis/keys.ts'
import { readNextAttempt } from '../src/redis/present-receivers.ts'
import { APART_MS } from '../src/runtime/clock.ts'
import { Failures } from '../src/runtime/concurrency.ts'
import { claimGrants } from '../src/tokens/parked-grants.ts'
import { refreshClaimMs } from '../src/tokens/redeem.ts'
import type { JobDeps } from './job-deps.ts'
import { mailInstallers } from './mail-installers.ts'
import { type Queues, SWEEPS, type SweepKind } from './queues.ts'
import { AHEAD_MS } from './refresh-tokens.ts'
import { sendEvents } from './send-events.ts'
import { sweepFleet } from './sweep-fleet.ts'
import { sweepReceivers } from './sweep-receivers.ts'

/** Far longer than it takes, so that it is begun again only where whoever had begun it died. */
const SET_BACK_CLAIM_MS = 60_000
/** Brought forward at a time: other commands wait that long. */
const BATCH = 500

/**
 * The sweep before, or a claim, seems to come later: the clock of Redis was set back, or a failover brought another one. How late what
 * was planned meanwhile is due is not known, so it is now. Their marks are set last: until then the work may have to be begun again.
 */
async function bringForward({ store, keys, sending, queues, log, callMs }: JobDeps, now: number): Promise<void> {
  const before = (await store.hget(keys.fleet, 'set-back')) ?? ''
  const isBegun = Math.abs(now - Number(before)) < SET_BACK_CLAIM_MS
  if (isBegun || (await store.replaceField(keys.fleet, 'set-back', before, now)) !== null) return
  const receivers = await store.zrange(keys.delivery.receivers, 0, '-1')
  const planned = [
    ...Object.values(keys.due),
    ...receivers.map(keys.delivery.pending),
    keys.delivery.receiversDue,
    keys.grants.due,
  ]
  // Claims last on for as long as a call may take, lest two workers make it.
  const claimMs = Math.max(SET_BACK_CLAIM_MS, refreshClaimMs(callMs))
  for (const due of planned) while ((await store.bringForward(due, now, claimMs, BATCH)) === BATCH) {}
  await Promise.all(receivers.map((name) => store.hdel(keys.delivery.receiver(name), 'pausedUntil')))
  // Pauses of the token endpoint were planned, too: they are learnt again.
  await Promise.all([recheckWaiting(sending), store.hdel(keys.fleet, 'endpoint')])
  await store.hset(keys.fleet, Object.fromEntries([...SWEEPS, 'claims'].map((mark) => [mark, now])))
  log.warn({ code: 'clock.set-back' }, 'the clock of Redis was set back: all that was planned is due now')
  await Promise.all(SWEEPS.map((kind) => queues.wake(kind, now)))
}

/** Finds the due accounts and hands them on; returns when to sweep again. Undefined: at the next tick. */
export async function sweep(deps: JobDeps, kind: SweepKind): Promise<number | undefined> {
  const begunAt = deps.clock.now()
  const next = await SWEEP_OF[kind](deps)
  const now = deps.clock.now()
  const { store, keys } = deps
  const latest = Math.max(...(await store.hmget(keys.fleet, kind, 'claims')).map(Number)) - APART_MS
  // A machine that has slept is behind Redis for a moment.
  if (latest > now && latest > (await store.readTime(keys.fleet))) await bringForward(deps, now)
  // Health is progress.
  else await store.hset(keys.fleet, kind, now)
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

type QueueName = Parameters<Queues['look']>[0]

async function sweepDue(deps: JobDeps, kind: DueSet, queue: QueueName): Promise<number | undefined> {
  return lookFor(deps, queue, await deps.due.next(kind))
}

/** Has a job look for what is due, where anything is. */
async function lookFor(
  { queues, clock }: Pick<JobDeps, 'queues' | 'clock'>,
  queue: QueueName,
  next: number | undefined,
): Promise<number | undefined> {
  const now = clock.now()
  if (next === undefined || next > now) return next
  await queues.look(queue, now)
  return now + LOOK_AGAIN_MS
}

/** Not while the token endpoint takes no call. */
async function sweepTokens(deps: JobDeps): Promise<number | undefined> {
  const { due, endpoint, clock } = deps
  const next = await due.next('refresh')
  if (next === undefined || next > clock.now()) return next
  const { calls, until } = await endpoint.room(AHEAD_MS, await due.countDue('refresh', Number.POSITIVE_INFINITY))
  return calls === 0 ? Math.max(until, clock.now() + LOOK_AGAIN_MS) : sweepDue(deps, 'refresh', 'refreshTokens')
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

export type AlertsWork = Pick<JobDeps, 'sending' | 'deliveries' | 'receivers' | 'queues' | 'metrics' | 'clock'>

/** Turns news of alerts into deliveries, and has a job send what is due. Returns when the next work is due. */
export async function sweepAlerts(deps: AlertsWork): Promise<number | undefined> {
  // One node of a cluster that is away, or what can't be read of one receiver, holds up nothing that is further on.
  const failures = new Failures()
  const sent = await failures.of(() => sendAlerts(deps.sending, deps.clock.now()))
  deps.metrics.alertsRelayed.inc(sent?.found ?? 0)
  const next = await lookFor(deps, 'deliver', await readNextAttempt(deps.sending, [...deps.receivers.keys()]))
  await deps.deliveries.forgetDead(deps.clock.now())
  failures.throwFirst()
  const moments = [sent?.next, next].filter((moment) => moment !== undefined)
  return moments.length === 0 ? undefined : Math.min(...moments)
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
  const { ids, age } = await claimGrants(deps)
  const finish = async (id: string) => {
    try {
      const outcome = await finishGrant(deps, id, age)
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
