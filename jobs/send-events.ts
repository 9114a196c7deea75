import { createHash } from 'node:crypto'
import { alertOf, type Message } from '../src/alerts/alert.ts'
import { type Acknowledged, currentAcknowledgement, readableState } from '../src/alerts/alert-state.ts'
import { openAlertMessages, readAlertedAccounts } from '../src/alerts/open-alert-message.ts'
import { receiversOf } from '../src/alerts/route.ts'
import type { PlannedEvent, WaitingEvent } from '../src/delivery/event-store.ts'
import { PARTITIONS } from '../src/redis/keys.ts'
import { unlessOfOtherType } from '../src/redis/other-type.ts'
import { defined } from '../src/runtime/defined.ts'
import type { JobDeps } from './job-deps.ts'

export type EventsWork = Pick<
  JobDeps,
  'eventReceivers' | 'events' | 'alerts' | 'sending' | 'store' | 'keys' | 'clock' | 'log'
>

/** Taken from one partition at a time. */
const BATCH = 500
/** A node that took over may have lost that an event was put on its way: it stays for so long, and is put there again. */
const KEPT_MS = 10_000
/** Pause before the wait of an acknowledgement is checked again. */
const AGAIN_MS = 2_000
/** For so long a receiver may not have been sent the alert, as by quiet hours. */
const WAITS_FOR_ALERT_MS = 24 * 3_600_000
/** For so long beside its group's times the newest state of the alert may not have been sent. */
const WAITS_FOR_NEWEST_MS = 60_000

/**
 * Sends events of accounts, and acknowledgements, on their way to receivers with `events`. Returns when to check again.
 */
export async function sendEvents(deps: EventsWork): Promise<number | undefined> {
  const now = deps.clock.now()
  const partitions = Array.from({ length: PARTITIONS }, (_, number) => number)
  const moments = await Promise.all(partitions.map((partition) => sendOfPartition(deps, partition, now)))
  const next = moments.filter((moment) => moment !== undefined)
  return next.length === 0 ? undefined : Math.min(...next)
}

async function sendOfPartition(deps: EventsWork, partition: number, now: number): Promise<number | undefined> {
  const { waiting, unreadable } = await deps.events.read(partition, BATCH)
  await deps.events.forget(partition, unreadable)
  if (waiting.length === 0) return undefined
  const ofAccounts = waiting.filter(({ event }) => event !== 'acknowledged')
  const planned = await deps.events.plan(await accountMessages(deps, partition, ofAccounts), now)
  if (planned > 0) deps.log.info({ code: 'events.planned', partition, count: planned }, 'events are on their way')
  const undecided = new Set<string>()
  for (const one of waiting.filter(({ event }) => event === 'acknowledged')) {
    if (!(await sendAcknowledgement(deps, partition, one, now))) undecided.add(one.id)
  }
  const wanted = deps.eventReceivers.accounts.length + deps.eventReceivers.acknowledgements.length > 0
  const done = waiting.filter(({ id, at }) => !undecided.has(id) && (!wanted || at + KEPT_MS <= now))
  await deps.events.forget(
    partition,
    done.map(({ id }) => id),
  )
  if (waiting.length === BATCH && done.length > 0) return now
  if (undecided.size > 0) return now + AGAIN_MS
  return done.length === waiting.length ? undefined : now + KEPT_MS
}

/** The same whichever daemon makes it. */
function idFor(partition: number, { id }: WaitingEvent, receiver: string): string {
  return `evt_${createHash('sha256')
    .update(JSON.stringify([partition, id, receiver]))
    .digest('hex')
    .slice(0, 24)}`
}

async function accountMessages(
  { eventReceivers, store, keys }: EventsWork,
  partition: number,
  waiting: readonly WaitingEvent[],
): Promise<PlannedEvent[]> {
  if (eventReceivers.accounts.length === 0) return []
  const domains = new Map<number, string>()
  for (const { hubId } of waiting) {
    if (domains.has(hubId)) continue
    domains.set(hubId, (await unlessOfOtherType(store.hget(keys.account(hubId).account, 'hubDomain'), null)) ?? '')
  }
  return waiting.flatMap((one) =>
    eventReceivers.accounts.map((receiver) => {
      const message: Message = {
        type: `account.${one.event as Exclude<WaitingEvent['event'], 'acknowledged'>}`,
        timestamp: new Date(one.at).toISOString(),
        data: {
          ...{ groupKey: `account=${one.hubId}`, truncated: 0, alerts: [] },
          account: { hubId: one.hubId, hubDomain: domains.get(one.hubId) ?? '' },
        },
      }
      return { id: idFor(partition, one, receiver), receiver, hubId: one.hubId, message }
    }),
  )
}

/** True where each receiver that takes it has it on its way, or is not to have it. */
async function sendAcknowledgement(
  deps: EventsWork,
  partition: number,
  waiting: WaitingEvent,
  now: number,
): Promise<boolean> {
  const { eventReceivers, sending, events } = deps
  if (eventReceivers.acknowledgements.length === 0) return true
  const found = await readAcknowledged(deps, waiting, now)
  if (found === undefined) return true
  const { alert, acknowledged } = found
  const age = now - waiting.at
  const { by, comment, at, until } = acknowledged
  const message: Message = {
    type: 'alert.acknowledged',
    timestamp: new Date(at).toISOString(),
    data: {
      ...{ groupKey: `alert=${alertOf(alert)}`, truncated: 0, alerts: [alert] },
      acknowledged: {
        by,
        ...defined({ comment }),
        at: new Date(at).toISOString(),
        until: new Date(until).toISOString(),
      },
    },
  }
  const routed = receiversOf(sending.routes, alert, false)
  const newestSentBy = sending.group.waitMs + sending.group.intervalMs + WAITS_FOR_NEWEST_MS
  let isDone = true
  for (const receiver of eventReceivers.acknowledgements) {
    const planned = { id: idFor(partition, waiting, receiver), receiver, message }
    const what = { alert: alertOf(alert), newest: age > newestSentBy ? '' : alert.id }
    const is = await events.planAcknowledgement(planned, what, now)
    const mayBeSent = is === 'not-sent' && routed.includes(receiver) && age < WAITS_FOR_ALERT_MS
    if (is === 'wait' || is === 'older' || mayBeSent) isDone = false
  }
  return isDone
}

/** The alert as it is, as long as it is open and this is its acknowledgement. */
async function readAcknowledged({ store, keys, alerts }: EventsWork, waiting: WaitingEvent, now: number) {
  const details = detailsOf(waiting.details)
  const [account] = details === undefined ? [] : await readAlertedAccounts(store, keys, [waiting.hubId])
  if (details === undefined || account === undefined) return undefined
  const stored = account.states[details.field]
  const state = stored === undefined ? undefined : readableState(stored)
  const acknowledged: Acknowledged | undefined = currentAcknowledgement(state, now)
  if (acknowledged?.at !== details.at) return undefined
  const alert = openAlertMessages(alerts, account, now).find((one) => alertOf(one) === details.alert)
  return alert === undefined ? undefined : { alert, acknowledged }
}

function detailsOf(json: string): { field: string; alert: string; at: number } | undefined {
  try {
    const read: unknown = JSON.parse(json)
    if (typeof read !== 'object' || read === null) return undefined
    const { field, alert, at } = read as Partial<Record<string, unknown>>
    return typeof field === 'string' && typeof alert === 'string' && typeof at === 'number'
      ? { field, alert, at }
      : undefined
  } catch {
    return undefined
  }
}
