import { createHash } from 'node:crypto'
import { type Alert, alertOf, type Message } from '../src/alerts/alert.ts'
import { type Acknowledged, currentAcknowledgement, decodeState } from '../src/alerts/alert-state.ts'
import { type AlertedAccount, openAlertMessages, readAlertedAccounts } from '../src/alerts/open-alert-message.ts'
import { receiversOf } from '../src/alerts/route.ts'
import { decodeSendState } from '../src/alerts/sending/send-state.ts'
import { BATCH, type PlannedEvent, type StoredEvent, type WaitingAcknowledgement } from '../src/delivery/event-store.ts'
import { chunksOf } from '../src/runtime/chunks-of.ts'
import { defined } from '../src/runtime/defined.ts'
import type { JobDeps } from './job-deps.ts'

export type EventsWork = Pick<
  JobDeps,
  'eventReceivers' | 'events' | 'alerts' | 'sending' | 'store' | 'keys' | 'clock' | 'log'
>

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
  const moments = await Promise.all([sendAccountEvents(deps, now), sendAcknowledgements(deps, now)])
  const next = moments.filter((moment) => moment !== undefined)
  return next.length === 0 ? undefined : Math.min(...next)
}

async function sendAccountEvents(deps: EventsWork, now: number): Promise<number | undefined> {
  const { events, eventReceivers, log } = deps
  if (eventReceivers.accounts.length === 0) {
    await events.leave('accountEvents', now)
    return undefined
  }
  const waiting = await events.readAccountEvents()
  if (waiting.length === 0) return undefined
  const planned = await events.plan(await accountMessages(deps, waiting), now)
  if (planned > 0) log.info({ code: 'events.planned', count: planned }, 'events are on their way')
  const done = waiting.filter(({ at }) => at + KEPT_MS <= now)
  await events.forget(
    'accountEvents',
    done.map(({ id }) => id),
  )
  if (waiting.length === BATCH && done.length > 0) return now
  return done.length === waiting.length ? undefined : now + KEPT_MS
}

/** The same whichever daemon makes it. */
function idFor(what: 'event' | 'acknowledgement', id: string, receiver: string): string {
  return `evt_${createHash('sha256')
    .update(JSON.stringify([what, id, receiver]))
    .digest('hex')
    .slice(0, 24)}`
}

async function accountMessages(
  { eventReceivers, store, keys }: EventsWork,
  waiting: readonly StoredEvent[],
): Promise<PlannedEvent[]> {
  const domains = new Map<number, string>()
  for (const { hubId } of waiting) {
    if (domains.has(hubId)) continue
    domains.set(hubId, (await store.hget(keys.account(hubId).account, 'hubDomain')) ?? '')
  }
  return waiting.flatMap((one) =>
    eventReceivers.accounts.map((receiver) => {
      const message: Message = {
        type: `account.${one.event}`,
        timestamp: new Date(one.at).toISOString(),
        data: {
          groupKey: `account=${one.hubId}`,
          truncated: 0,
          alerts: [],
          account: { hubId: one.hubId, hubDomain: domains.get(one.hubId) ?? '' },
        },
      }
      return { id: idFor('event', one.id, receiver), receiver, hubId: one.hubId, message }
    }),
  )
}

/** Each account, and what each receiver knows, is read once, however many wait. */
async function sendAcknowledgements(deps: EventsWork, now: number): Promise<number | undefined> {
  const { events, eventReceivers, store, keys } = deps
  if (eventReceivers.acknowledgements.length === 0) {
    await events.leave('acknowledgements', now)
    return undefined
  }
  const waiting = await events.readAcknowledgements()
  if (waiting.length === 0) return undefined
  const accounts = await readAlertedAccounts(store, keys, [...new Set(waiting.map(({ hubId }) => hubId))])
  const open = new Map(accounts.map((account) => [account.hubId, openAlertsOf(deps, account, now)]))
  const isSent = await readSent(deps, waiting)
  const done: string[] = []
  let [isKept, isUndecided] = [false, false]
  for (const one of waiting) {
    const found = acknowledgedNow(open.get(one.hubId), one, now)
    const isDone = found === undefined || (await sendAcknowledgement(deps, { waiting: one, ...found, isSent }, now))
    if (isDone && one.at + KEPT_MS <= now) done.push(one.id)
    isKept ||= isDone && one.at + KEPT_MS > now
    if (!isDone) isUndecided = true
  }
  await events.forget('acknowledgements', done)
  if (isUndecided) return now + AGAIN_MS
  return isKept ? now + KEPT_MS : undefined
}

interface OpenAlerts {
  account: AlertedAccount
  alerts: Map<string, Alert>
}

function openAlertsOf({ alerts }: EventsWork, account: AlertedAccount, now: number): OpenAlerts {
  return { account, alerts: new Map(openAlertMessages(alerts, account, now).map((alert) => [alertOf(alert), alert])) }
}

/** The alert as it is, as long as it is open and this is its acknowledgement. */
function acknowledgedNow(
  open: OpenAlerts | undefined,
  { field, alert: id, acknowledgedAt }: WaitingAcknowledgement,
  now: number,
): { alert: Alert; acknowledged: Acknowledged } | undefined {
  const stored = open?.account.states[field]
  const state = decodeState(stored)
  const acknowledged = currentAcknowledgement(state, now)
  const alert = open?.alerts.get(id)
  return acknowledged?.at !== acknowledgedAt || alert === undefined ? undefined : { alert, acknowledged }
}

type IsSent = (receiver: string, alert: string) => boolean

/** Alerts that each receiver was sent, and not their end. */
async function readSent(
  { eventReceivers, store, keys }: EventsWork,
  waiting: readonly WaitingAcknowledgement[],
): Promise<IsSent> {
  const alerts = [...new Set(waiting.map(({ alert }) => alert))]
  const sent = new Set<string>()
  for (const receiver of eventReceivers.acknowledgements) {
    for (const some of chunksOf(alerts, BATCH)) {
      const known = await store.hmget(keys.delivery.known(receiver), ...some)
      for (const [n, alert] of some.entries()) {
        const { lastSent } = decodeSendState(known[n])
        if (lastSent !== undefined && lastSent.isOver !== true) sent.add(`${receiver}|${alert}`)
      }
    }
  }
  return (receiver, alert) => sent.has(`${receiver}|${alert}`)
}

interface Acknowledging {
  waiting: WaitingAcknowledgement
  alert: Alert
  acknowledged: Acknowledged
  isSent: IsSent
}

/** True where each receiver that takes it has it on its way, or is not to have it. */
async function sendAcknowledgement(
  { eventReceivers, sending, events }: EventsWork,
  { waiting, alert, acknowledged, isSent }: Acknowledging,
  now: number,
): Promise<boolean> {
  const age = now - waiting.at
  const { by, comment, at, until } = acknowledged
  const message: Message = {
    type: 'alert.acknowledged',
    timestamp: new Date(at).toISOString(),
    data: {
      groupKey: `alert=${waiting.alert}`,
      truncated: 0,
      alerts: [alert],
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
    if (!isSent(receiver, waiting.alert)) {
      if (routed.includes(receiver) && age < WAITS_FOR_ALERT_MS) isDone = false
      continue
    }
    const planned = { id: idFor('acknowledgement', waiting.id, receiver), receiver, message }
    const what = { alert: waiting.alert, newest: age > newestSentBy ? '' : alert.id }
    const is = await events.planAcknowledgement(planned, what, now)
    if (is === 'wait' || is === 'older') isDone = false
  }
  return isDone
}
