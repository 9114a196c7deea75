import { randomBytes } from 'node:crypto'
import { readNewsDue } from '../../redis/news-due.ts'
import { readScores } from '../../redis/read-scores.ts'
import { stepJson, table } from '../../redis/steps.ts'
import { chunksOf } from '../../runtime/chunks-of.ts'
import { Failures } from '../../runtime/concurrency.ts'
import { defined } from '../../runtime/defined.ts'
import type { Alert } from '../alert.ts'
import type { AlertsDeps } from '../deps.ts'
import { numberOf } from '../outbox.ts'
import { type Composed, composeMessages, hasEnd, recentOf } from './compose-messages.ts'
import { decideSending, hurries, type Item, type SendVerdict } from './decide-sending.ts'
import type { HoldReason } from './hold.ts'
import { type DueNews, NO_RECEIVER, readNews, type UnreadableNews } from './read-news.ts'
import { readScene, type Scene } from './read-scene.ts'
import { decodeSendState, encodeSendState, type SendState } from './send-state.ts'

/**
 * A transition that every receiver has had for so long is settled. A failover loses the last writes: until then a run
 * finds the loss, and sends again.
 */
const SETTLED_AFTER_MS = 60_000
/**
 * Longest delay until an early end is noticed: the end of a fleet's trouble is never known before, a silence may be
 * ended while a run that has just read it holds an alert back, and quiet hours may be gone from the config.
 */
const LATEST_MS = 30_000
/** Shortest time between two checks of an alert that is still held. */
const SOONEST_MS = 1_000
/** Ends are remembered for so long after they were sent: a late run must not send the beginning. */
const ENDS_KNOWN_MS = 3 * 86_400_000
/** Notes of one step. */
const CHUNK = 500

/**
 * Compares each alert with what each receiver was sent, and sends the difference. Dying anywhere, the next run does the
 * rest: news is due until every receiver was sent it. Returns when the next run is due, and how many transitions were
 * new.
 */
export async function sendAlerts(deps: AlertsDeps, now: number): Promise<{ next: number | undefined; found: number }> {
  const { dueAt, newSince } = await readNewsDue(deps)
  if (newSince === null && (dueAt === null || dueAt > now)) return { next: dueAt ?? undefined, found: 0 }
  const { news, unreadable, isAll } = await readNews(deps)
  const failures = new Failures()
  if (unreadable.length > 0) await dropUnreadable(deps, unreadable)
  const scene = await readScene(deps, news, now)
  const outcome = news.map((): Outcome => ({ notifiedAt: 0, next: undefined, to: [], notified: [] }))
  for (const receiver of scene.receivers) {
    const is = await failures.of(() => sendToReceiver(deps, receiver, scene, outcome, now))
    // The receiver's state could not be read: all is due again now.
    if (is === undefined) for (const one of outcome) one.next = now
  }
  await leaveToOthers(deps, scene, outcome, now)
  await settle(deps, news, outcome, now)
  note(deps, news, outcome)
  failures.throwFirst()
  const moments = outcome.flatMap(({ next }) => next ?? [])
  if (!isAll) moments.push(...(await dueLater(deps, now)))
  const found = news.filter(({ dueAt }) => dueAt < 0).length
  return { next: moments.reduce<number | undefined>((least, at) => Math.min(least ?? at, at), undefined), found }
}

/** Moment of the next run for the rest. */
async function dueLater(deps: AlertsDeps, now: number): Promise<number[]> {
  const { newSince, dueAt } = await readNewsDue(deps)
  if (newSince !== null) return [now]
  return dueAt === null ? [] : [dueAt]
}

/** Outcome of an alert for all receivers. */
interface Outcome {
  /** Moment at which the last of them was sent it, ms. */
  notifiedAt: number
  /** Moment of its next check. */
  next: number | undefined
  /** Receivers that are sent it, or wait for it. */
  to: string[]
  /** Receivers that were sent the alert, and not its end. */
  notified: string[]
}

/** Unreadable news would take the places of the news behind it. */
async function dropUnreadable(deps: AlertsDeps, unreadable: readonly UnreadableNews[]): Promise<void> {
  const alerts = unreadable.slice(0, 10).map(({ alert }) => alert)
  deps.log.error({ code: 'outbox.unreadable', alerts, count: unreadable.length }, 'dropped: no alerts')
  const { news, newsDue } = deps.keys
  for (const { alert, place } of unreadable) await deps.store.settleNews(news, newsDue, alert, place, 'over', 0)
}

/** An alert of one receiver, with its index among all. */
interface ReceiverItem extends Item {
  n: number
  /** The stored text as it was read. */
  stored: string
}

async function sendToReceiver(
  deps: AlertsDeps,
  receiver: string,
  scene: Scene,
  outcome: Outcome[],
  now: number,
): Promise<'done'> {
  const { store, keys } = deps
  const [stored, recent] = await Promise.all([
    readStored(deps, receiver, scene.news),
    readScores(store, keys.delivery.recent(receiver)),
  ])
  const items = scene.news.flatMap((news, n): ReceiverItem[] => {
    const text = stored[n] ?? ''
    const isFor = scene.routed[n]?.get(receiver) ?? false
    return isFor !== false || text !== '' ? [{ n, news, isFor, stored: text, sendState: decodeSendState(text) }] : []
  })
  const { circumstances, connectedAt } = scene
  const verdicts = decideSending({ receiver, items, recent, circumstances, group: deps.group, connectedAt, now })
  const notes: Change[] = []
  const groups = new Map<string, ReceiverItem[]>()
  for (const [n, item] of items.entries()) {
    const verdict = verdicts[n] ?? { is: 'knows' }
    if (verdict.is === 'sent') groups.set(verdict.group, push(groups.get(verdict.group), item))
    else {
      const sendState = stateAfterVerdict(item, verdict, now)
      if (sendState !== item.sendState) notes.push({ item, sendState })
    }
    noteOutcome(outcome[item.n], receiver, item, verdict, now)
  }
  const checkAgain = (some: readonly ReceiverItem[]) => {
    for (const { n } of some) if (outcome[n] !== undefined) outcome[n].next = now
  }
  const failures = new Failures()
  for (const some of chunksOf(notes, CHUNK)) {
    const is = await failures.of(() => recordSends(deps, receiver, now, some))
    if (is !== 'recorded') checkAgain(some.map(({ item }) => item))
  }
  for (const [group, members] of groups) {
    const is = await failures.of(() => sendGroup(deps, receiver, group, members, now))
    if (is !== 'recorded') checkAgain(members)
  }
  failures.throwFirst()
  return 'done'
}

function push<T>(list: T[] | undefined, one: T): T[] {
  if (list === undefined) return [one]
  list.push(one)
  return list
}

/** Read at a time. */
const FIELDS = 1_000

async function readStored({ store, keys }: AlertsDeps, receiver: string, news: readonly { alert: string }[]) {
  const ids = news.map(({ alert }) => alert)
  const found = chunksOf(ids, FIELDS).map((some) => store.hmget(keys.delivery.known(receiver), ...some))
  return (await Promise.all(found)).flat()
}

/** The same object where nothing changed, so that nothing is written. */
function stateAfterVerdict(
  { sendState, news }: Item,
  verdict: Exclude<SendVerdict, { is: 'sent' }>,
  now: number,
): SendState {
  const { lastSent, waits } = sendState
  const first = waits?.first ?? numberOf(news.entry.alert)
  switch (verdict.is) {
    case 'knows':
      return waits === undefined ? sendState : { ...(lastSent && { lastSent }) }
    case 'skips':
      return { lastSent: verdict.lastSent }
    case 'held': {
      const { held } = verdict
      if (waits?.is === 'held' && JSON.stringify(waits.held) === JSON.stringify(held)) return sendState
      return { ...(lastSent && { lastSent }), waits: { is: 'held', since: waits?.since ?? now, first, held } }
    }
    case 'waits': {
      const { group, since, until } = verdict
      const { alert } = news.entry
      const hurried = hurries(alert) ? alert.level : waits?.hurried
      const isSame = waits?.is === 'group' && waits.since === since && waits.until === until && waits.group === group
      if (isSame && waits.hurried === hurried) return sendState
      return {
        ...(lastSent && { lastSent }),
        waits: { is: 'group', since, first, until, group, ...defined({ hurried, held: waits?.held }) },
      }
    }
  }
}

function noteOutcome(
  outcome: Outcome | undefined,
  receiver: string,
  item: Item,
  verdict: SendVerdict,
  now: number,
): void {
  if (outcome === undefined) return
  const { lastSent } = item.sendState
  if (verdict.is === 'knows') {
    if (lastSent === undefined) return
    outcome.notifiedAt = Math.max(outcome.notifiedAt, Math.min(lastSent.at, now))
    if (lastSent.isOver !== true) outcome.notified.push(receiver)
    return
  }
  if (verdict.is === 'skips') outcome.notifiedAt = now
  else outcome.to.push(receiver)
  const until = untilOf(verdict, now)
  outcome.next = Math.min(outcome.next ?? until, until)
}

function untilOf(verdict: Exclude<SendVerdict, { is: 'knows' }>, now: number): number {
  switch (verdict.is) {
    case 'held':
      return checkAgainAt(verdict.held, now)
    case 'waits':
      return verdict.until
    default:
      return now + SETTLED_AFTER_MS
  }
}

/** Moment of the next check of a held alert, ms. */
function checkAgainAt(because: HoldReason, now: number): number {
  const until = because.is === 'fleet' ? Number.POSITIVE_INFINITY : because.until
  return Math.max(now + SOONEST_MS, Math.min(now + LATEST_MS, until))
}

interface Change {
  item: ReceiverItem
  sendState: SendState
}

interface Delivery extends Composed {
  id: string
}

function sendGroup(deps: AlertsDeps, receiver: string, group: string, members: readonly ReceiverItem[], now: number) {
  const { max, perAlert = [] } = deps.group
  const composed = composeMessages(group, members, { max, perAlert: perAlert.includes(receiver) }, now)
  // Deliveries that are due at once are taken in the order of their ids.
  const ids = composed.map(() => `msg_${randomBytes(12).toString('hex')}`).sort()
  const deliveries = composed.map((one, n): Delivery => ({ ...one, id: ids[n] ?? '' }))
  const bringing = new Map(deliveries.flatMap(({ id, items }) => items.map((item) => [item, id] as const)))
  const changes = members.map((item): Change => {
    const { place, entry } = item.news
    const isOver = entry.alert.status === 'resolved' || !hasEnd(entry.alert)
    const sent = { place, number: numberOf(entry.alert), at: now, ...(isOver && { isOver: true as const }) }
    return { item, sendState: { lastSent: { ...sent, group, delivery: bringing.get(item) ?? '' } } }
  })
  return recordSends(deps, receiver, now, changes, recentOf(group, members), deliveries)
}

function recordSends(
  { store, keys, group }: AlertsDeps,
  receiver: string,
  now: number,
  changes: readonly Change[],
  recent: readonly string[] = [],
  deliveries: readonly Delivery[] = [],
): Promise<'recorded' | 'lost'> {
  return store.recordSends(
    keys.delivery.deliveriesDue,
    receiver,
    now,
    group.intervalMs,
    ENDS_KNOWN_MS,
    recent.length,
    ...recent,
    // In one: a call with as many arguments as a large group has members times five can't be made.
    table(
      changes.map(({ item, sendState }) => {
        const waitsSince = sendState.waits === undefined ? '' : String(happenedAt(item.news.entry.alert, now))
        return [
          item.news.alert,
          item.stored,
          encodeSendState(sendState),
          waitsSince,
          sendState.lastSent?.isOver === true ? '1' : '',
        ]
      }),
    ),
    ...deliveries.flatMap(({ id, message, carried, items }) => {
      const before = new Set(items.flatMap(({ sendState }) => sendState.lastSent?.delivery ?? []))
      const happened = items.map(({ news }) => happenedAt(news.entry.alert, now))
      const oldest = happened.reduce((least, at) => Math.min(least, at), now)
      return [id, message.type, stepJson(message), carried, [...before].join(' '), oldest]
    }),
  )
}

function happenedAt({ measuredAt }: Alert, now: number): number {
  const at = Date.parse(measuredAt)
  return Number.isNaN(at) ? now : at
}

/** An alert is not settled while it waits for a receiver that only another daemon has in its config. */
async function leaveToOthers(deps: AlertsDeps, scene: Scene, outcome: Outcome[], now: number): Promise<void> {
  for (const receiver of scene.others) {
    for (const [n, stored] of (await readStored(deps, receiver, scene.news)).entries()) {
      const one = outcome[n]
      const { lastSent, waits } = decodeSendState(stored)
      // A receiver that comes back gets the end of what it was sent.
      const lacksEnd =
        lastSent !== undefined && lastSent.isOver !== true && scene.news[n]?.entry.alert.status === 'resolved'
      if (one !== undefined && (waits !== undefined || lacksEnd))
        one.next = Math.min(one.next ?? now + LATEST_MS, now + LATEST_MS)
    }
  }
}

/** Writes the moment of each alert's next check, or that it needs none. */
async function settle(deps: AlertsDeps, news: readonly DueNews[], outcome: Outcome[], now: number): Promise<void> {
  const { store, keys } = deps
  const args = news.flatMap(({ alert, place, dueAt, entry }, n) => {
    const one = outcome[n] ?? { notifiedAt: now, next: now, to: [], notified: [] }
    const settledAt = one.notifiedAt === 0 ? now : one.notifiedAt + SETTLED_AFTER_MS
    if (one.next === undefined && settledAt > now) one.next = settledAt
    // An earlier check that is planned already needs no write.
    if (one.next !== undefined && dueAt > now) one.next = Math.min(one.next, dueAt)
    if (one.next !== undefined) return one.next === dueAt ? [] : [alert, place, 'due', one.next]
    const isOver = entry.alert.status === 'resolved' || !hasEnd(entry.alert)
    const knownTo = one.notified.length === 0 ? NO_RECEIVER : one.notified.join(',')
    return [alert, place, isOver ? 'over' : 'known', `${numberOf(entry.alert)} ${knownTo}`]
  })
  for (const part of chunksOf(args, 4 * CHUNK)) await store.settleNews(keys.news, keys.newsDue, ...part)
}

function note({ log }: AlertsDeps, news: readonly DueNews[], outcome: readonly Outcome[]): void {
  for (const [n, { dueAt, entry }] of news.entries()) {
    if (dueAt >= 0) continue
    const { id, status, level, reason, rule, account } = entry.alert
    const to = outcome[n]?.to ?? []
    log.info({ code: `alert.${status}`, alert: id, hubId: account?.hubId, rule, to }, `${level} ${reason}`)
  }
}
