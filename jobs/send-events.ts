import { createHash } from 'node:crypto'
import { type Alert, alertOf, type Message } from '../src/alerts/alert.ts'
import { type Acknowledged, currentAcknowledgement, decodeState } from '../src/alerts/alert-state.ts'
import { type AlertedAccount, openAlertMessages, readAlertedAccounts } from '../src/alerts/open-alert-message.ts'
import {
  BATCH,
  leaveAccountEvents,
  type PlannedEvent,
  planAcknowledgement,
  planEvents,
  readAccountEvents,
  readAcknowledgements,
  type StoredAcknowledgement,
  type StoredEvent,
} from '../src/delivery/event-store.ts'
import { defined } from '../src/runtime/defined.ts'
import { isoOf } from '../src/text/format-time.ts'
import type { JobDeps } from './job-deps.ts'

export type EventsWork = Pick<JobDeps, 'eventReceivers' | 'alerts' | 'sending' | 'store' | 'keys' | 'clock' | 'log'>

interface EventsRun {
  /** Daemons with another config run too. */
  hasOthers: boolean
  now: number
}

/** Daemons with another config, and so other receivers, have seen what happened by then; checked at an interval. */
const OTHERS_MS = 30_000
const AGAIN_MS = 1_000

/**
 * Sends events of accounts, and acknowledgements, on their way to receivers with `events`. Returns when to check again.
 */
export async function sendEvents(deps: EventsWork): Promise<number | undefined> {
  const configs = await deps.sending.configs?.()
  const run = { hasOthers: configs !== undefined && configs.others.length > 0, now: deps.clock.now() }
  const moments = await Promise.all([sendAccountEvents(deps, run), sendAcknowledgements(deps, run)])
  const next = moments.filter((moment) => moment !== undefined)
  return next.length === 0 ? undefined : Math.min(...next)
}

async function sendAccountEvents(deps: EventsWork, { hasOthers, now }: EventsRun): Promise<number | undefined> {
  if (deps.eventReceivers.accounts.length === 0) {
    await leaveAccountEvents(deps, now)
    return undefined
  }
  const waiting = await readAccountEvents(deps)
  if (waiting.length === 0) return undefined
  const done = hasOthers ? waiting.filter(({ at }) => at + OTHERS_MS <= now) : waiting
  const ids = done.map(({ id }) => id)
  const planned = await planEvents(deps, await accountMessages(deps, waiting), ids, now)
  if (planned > 0) deps.log.info({ code: 'events.planned', count: planned }, 'events are on their way')
  // The next sweep has what is on its way sent, and sees what was behind these.
  if (planned > 0 || (waiting.length === BATCH && done.length > 0)) return now
  return done.length === waiting.length ? undefined : now + AGAIN_MS
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
  return waiting.flatMap(({ id, hubId, at, event }) => {
    const account = { hubId, hubDomain: domains.get(hubId) ?? '' }
    const data = { groupKey: `account=${hubId}`, truncated: 0, alerts: [], account }
    const message: Message = { type: `account.${event}`, timestamp: isoOf(at), data }
    return eventReceivers.accounts.map((receiver) => ({ id: idFor('event', id, receiver), receiver, hubId, message }))
  })
}

/** Each account is read once, however many are due. */
async function sendAcknowledgements(deps: EventsWork, run: EventsRun): Promise<number | undefined> {
  const { eventReceivers, store, keys } = deps
  const { now } = run
  if (eventReceivers.acknowledgements.length === 0) return undefined
  const due = await readAcknowledgements(deps)
  const hubIds = [...new Set(due.map(({ hubId }) => hubId))].filter((hubId) => hubId >= 0)
  const accounts = await readAlertedAccounts(store, keys, hubIds)
  const open = new Map(accounts.map((account) => [account.hubId, openAlertsOf(deps, account, now)]))
  let stay = 0
  for (const one of due) if (await sendAcknowledgement(deps, one, open.get(one.hubId), run)) stay++
  if (due.length === BATCH && stay < BATCH) return now
  return stay > 0 ? now + AGAIN_MS : undefined
}

interface OpenAlerts {
  account: AlertedAccount
  alerts: Map<string, Alert>
}

function openAlertsOf({ alerts }: EventsWork, account: AlertedAccount, now: number): OpenAlerts {
  return { account, alerts: new Map(openAlertMessages(alerts, account, now).map((alert) => [alertOf(alert), alert])) }
}

/** Only as long as the alert is open and this is its acknowledgement. Returns whether it stays due. */
async function sendAcknowledgement(
  deps: EventsWork,
  waiting: StoredAcknowledgement,
  open: OpenAlerts | undefined,
  { hasOthers, now }: EventsRun,
): Promise<boolean> {
  const stored = open?.account.states[waiting.field]
  const acknowledged = currentAcknowledgement(decodeState(stored), now)
  const alert = open?.alerts.get(waiting.alert)
  if (acknowledged?.at !== waiting.at || alert === undefined) {
    await planAcknowledgement(deps, { alert: waiting.alert, newest: '', dueSince: waiting.dueSince }, [], now)
    return false
  }
  const idOf = (receiver: string) => idFor('acknowledgement', `${waiting.alert} ${waiting.at}`, receiver)
  const receivers = deps.eventReceivers.acknowledgements.map((receiver) => ({ id: idOf(receiver), receiver }))
  const message = acknowledgementMessage(alert, acknowledged)
  const stays = hasOthers && now - Math.max(waiting.at, Number(waiting.dueSince)) < OTHERS_MS
  const what = { alert: waiting.alert, newest: alert.id, message, dueSince: stays ? '' : waiting.dueSince }
  await planAcknowledgement(deps, what, receivers, now)
  return stays
}

function acknowledgementMessage(alert: Alert, { by, comment, at, until }: Acknowledged): Message {
  const acknowledged = { by, ...defined({ comment }), at: isoOf(at), until: isoOf(until) }
  const data = { groupKey: `alert=${alertOf(alert)}`, truncated: 0, alerts: [alert], acknowledged }
  return { type: 'alert.acknowledged', timestamp: isoOf(at), data }
}
