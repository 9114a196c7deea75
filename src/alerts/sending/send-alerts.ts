import { randomBytes } from 'node:crypto'
import { readScores } from '../../redis/read-scores.ts'
import { stepJson, table } from '../../redis/steps.ts'
import { chunksOf } from '../../runtime/chunks-of.ts'
import { Failures } from '../../runtime/concurrency.ts'
import { defined } from '../../runtime/defined.ts'
import { type Alert, hasEnd } from '../alert.ts'
import type { AlertsDeps } from '../deps.ts'
import { numberOf } from '../outbox.ts'
import { type Composed, composeMessages, recentOf } from './compose-messages.ts'
import { type AlertNews, decideSending, hurries, type Item, type SendVerdict } from './decide-sending.ts'
import { type Due, readDue, readFields, readFirstDue } from './read-due.ts'
import { decodeSendState, encodeSendState, type SendState } from './send-state.ts'

/** The end of an alert about all accounts makes what it holds back due; this is for a state that was put aside. */
const FLEET_CHECK_MS = 600_000
/** Shortest time between two checks of an alert that is still held. */
const SOONEST_MS = 1_000
/** An alert that is over is remembered for so long: a late run must not send the beginning. */
const ENDS_KNOWN_MS = 3 * 86_400_000
/** Pause before news is checked again that a daemon with another config has not seen. */
const OTHERS_MS = 1_000
/** Alerts of one look with a line of their own in the log. */
const MOST_NOTED = 100
/** Changes of one step. */
const CHUNK = 500

/**
 * Compares each alert that is due with what each receiver was sent, and sends the difference. Dying anywhere, the next run
 * does the rest: a transition is unsent until it is decided what each receiver is sent. Returns when the next run is due,
 * and for how many alerts that was decided.
 */
export async function sendAlerts(deps: AlertsDeps, now: number): Promise<{ next: number | undefined; found: number }> {
  const receivers = [...new Set([...deps.receivers, ...deps.routes.flatMap(({ to }) => to)])]
  const { unsentSince, checkAt } = await readFirstDue(deps, receivers)
  if (unsentSince === null && (checkAt === null || checkAt > now)) return { next: checkAt ?? undefined, found: 0 }
  const due = await readDue(deps, receivers, now)
  const failures = new Failures()
  const undecided = new Set<string>()
  const decided = new Map(due.unsent.map((alert) => [alert, [] as Decided[]]))
  for (const receiver of receivers) {
    const is = await failures.of(() => sendToReceiver(deps, { receiver, due, decided, now }))
    for (const alert of is ?? due.unsent) undecided.add(alert)
  }
  for (const alert of undecided) decided.delete(alert)
  const left = await settle(deps, due, decided, now)
  const settled = [...decided].flatMap(([alert, receivers]) => {
    const news = due.news.get(alert)
    return news === undefined || left.has(alert) ? [] : { alert: news.entry.alert, receivers }
  })
  note(deps, settled)
  failures.throwFirst()
  if (undecided.size > 0 || [...left.values()].includes('lost')) return { next: now, found: settled.length }
  const then = await readFirstDue(deps, receivers)
  const unsentAt = then.unsentSince === null ? Number.POSITIVE_INFINITY : now + (left.size > 0 ? OTHERS_MS : 0)
  const next = Math.min(unsentAt, then.checkAt ?? Number.POSITIVE_INFINITY)
  return { next: Number.isFinite(next) ? next : undefined, found: settled.length }
}

/** An alert of one receiver. */
interface ReceiverItem extends Item {
  /** The stored text as it was read. */
  stored: string
  /** Moment of the check that was planned, ms. */
  plannedAt: number | undefined
}

interface ReceiverRun {
  receiver: string
  due: Due
  /** Receivers that each unsent alert means something to. */
  decided: Map<string, Decided[]>
  now: number
}

/** State of an alert for a receiver from now on, as it is stored, and whether its news is new to it. */
interface Decided {
  receiver: string
  known: string
  isNew: boolean
}

/** Returns the alerts for which nothing is decided yet, because another run was faster. */
async function sendToReceiver(deps: AlertsDeps, run: ReceiverRun): Promise<string[]> {
  const { receiver, due, decided, now } = run
  const { items, gone } = await readItems(deps, run)
  if (items.length === 0 && gone.length === 0) return []
  const recent = await readScores(deps.store, deps.keys.delivery.recent(receiver))
  const { circumstances, connectedAt } = due
  const verdicts = decideSending({ receiver, items, recent, circumstances, group: deps.group, connectedAt, now })
  const judged = items.map((item, n) => ({ item, verdict: verdicts[n] ?? { is: 'knows' as const } }))
  const changes = [...gone, ...judged.flatMap(({ item, verdict }) => changeOf(item, verdict, now))]
  const sent = judged.flatMap(({ item, verdict }) => (verdict.is === 'sent' ? { item, group: verdict.group } : []))
  const undecided: string[] = []
  const failures = new Failures()
  const record = async (some: readonly Change[], step: () => Promise<'recorded' | 'lost'>) => {
    if ((await failures.of(step)) !== 'recorded') undecided.push(...some.map(({ news }) => news.alert))
  }
  for (const some of chunksOf(changes, CHUNK)) await record(some, () => recordSends(deps, run, some))
  for (const [group, some] of Map.groupBy(sent, ({ group }) => group)) {
    const members = some.map(({ item }) => item)
    const made = makeDeliveries(deps, receiver, group, members, now)
    await record(made.changes, () => recordSends(deps, run, made.changes, recentOf(group, members), made.deliveries))
    changes.push(...made.changes)
  }
  const changed = new Map(changes.map(({ news, sendState }) => [news.alert, encodeSendState(sendState)]))
  for (const { item, verdict } of judged) {
    const { alert } = item.news
    const isNew = verdict.is !== 'knows' && verdict.is !== 'skips'
    decided.get(alert)?.push({ receiver, known: changed.get(alert) ?? item.stored, isNew })
  }
  failures.throwFirst()
  return undecided
}

/** Alerts that are for the receiver, that it was sent, or that it waits for; `gone`: it waits for what has no news any more. */
async function readItems(deps: AlertsDeps, { receiver, due }: ReceiverRun) {
  const checks = due.checks.get(receiver) ?? new Map<string, number>()
  const alerts = [...new Set([...due.unsent, ...checks.keys()])]
  const known = await readFields(deps, deps.keys.delivery.known(receiver), alerts)
  const items: ReceiverItem[] = []
  const gone: Change[] = []
  for (const [n, alert] of alerts.entries()) {
    const news = due.news.get(alert)
    const stored = known[n] ?? ''
    const plannedAt = checks.get(alert)
    const sendState = decodeSendState(stored)
    const isFor = due.routed.get(alert)?.get(receiver) ?? false
    const { lastSent } = sendState
    if (news === undefined) gone.push({ news: { alert, place: '' }, stored, sendState: defined({ lastSent }) })
    else if (isFor !== false || stored !== '' || plannedAt !== undefined)
      items.push({ news, isFor, stored, sendState, plannedAt })
  }
  return { items, gone }
}

/** None where all is as it was. */
function changeOf(item: ReceiverItem, verdict: SendVerdict, now: number): Change[] {
  if (verdict.is === 'sent') return []
  const { news, stored, plannedAt } = item
  const sendState = stateAfter(item, verdict, now)
  const check = checkAfter(verdict, now)
  if (encodeSendState(sendState) === stored && check?.at === plannedAt) return []
  return [{ news, stored, sendState, ...(check && { check: { ...check, happenedAt: happenedAt(news) } }) }]
}

function checkAfter(verdict: SendVerdict, now: number): Omit<Check, 'happenedAt'> | undefined {
  if (verdict.is === 'waits') return { is: 'grouped', at: verdict.until }
  if (verdict.is !== 'held') return undefined
  const { held } = verdict
  const until = held.is === 'fleet' ? now + FLEET_CHECK_MS : held.until
  return { is: 'held', at: Math.max(now + SOONEST_MS, until) }
}

function stateAfter(item: Item, verdict: Exclude<SendVerdict, { is: 'sent' }>, now: number): SendState {
  const { lastSent, waits } = item.sendState
  const { alert } = item.news.entry
  const first = waits?.first ?? numberOf(alert)
  const after = waits?.after ?? item.news.decided
  switch (verdict.is) {
    case 'knows':
      return defined({ lastSent })
    case 'skips':
      return { lastSent: verdict.lastSent }
    case 'held': {
      const { held } = verdict
      return { ...defined({ lastSent }), waits: { is: 'held', since: waits?.since ?? now, first, after, held } }
    }
    case 'waits': {
      const { group, since, until } = verdict
      const hurried = hurries(alert) ? alert.level : waits?.hurried
      return {
        ...defined({ lastSent }),
        waits: { is: 'group', since, first, after, until, group, ...defined({ hurried, held: waits?.held }) },
      }
    }
  }
}

/** When an alert that waits is checked again, and since when it does. Times are ms. */
interface Check {
  is: 'held' | 'grouped'
  at: number
  happenedAt: number
}

/** New state of an alert for a receiver. */
interface Change {
  /** The verdict was made from this. */
  news: Pick<AlertNews, 'alert' | 'place'>
  stored: string
  sendState: SendState
  check?: Check
}

interface Delivery extends Composed {
  id: string
}

function makeDeliveries(
  { group: { max, perAlert = [] } }: AlertsDeps,
  receiver: string,
  group: string,
  members: readonly ReceiverItem[],
  now: number,
): { changes: Change[]; deliveries: Delivery[] } {
  const composed = composeMessages(group, members, { max, perAlert: perAlert.includes(receiver) }, now)
  const deliveries = composed.map((one): Delivery => ({ ...one, id: `msg_${randomBytes(12).toString('hex')}` }))
  const changes = members.map((item): Change => {
    const { place, entry } = item.news
    const sent = { place, number: numberOf(entry.alert), at: now, group }
    const lastSent = isOver(entry.alert) ? { ...sent, isOver: true as const } : sent
    return { news: item.news, stored: item.stored, sendState: { lastSent } }
  })
  return { changes, deliveries }
}

function recordSends(
  { store, keys, group }: AlertsDeps,
  { receiver, due: { holdChanges }, now }: ReceiverRun,
  changes: readonly Change[],
  recent: readonly string[] = [],
  deliveries: readonly Delivery[] = [],
): Promise<'recorded' | 'lost'> {
  return store.recordSends(
    keys.delivery.receiversDue,
    receiver,
    now,
    group.intervalMs,
    holdChanges,
    recent.length,
    ...recent,
    // In one: a call with as many arguments as a large group has members times five can't be made.
    table(
      changes.map(({ news: { alert, place }, stored, sendState, check }) => {
        const { lastSent } = sendState
        const is = check?.is ?? (lastSent === undefined || lastSent.isOver === true ? '' : 'sent')
        return [alert, stored, encodeSendState(sendState), place, is, check?.at ?? '', check?.happenedAt ?? '']
      }),
    ),
    ...deliveries.flatMap(({ id, message, carried, items }) => {
      const happened = items.map(({ news }) => happenedAt(news))
      const oldest = happened.reduce((least, at) => Math.min(least, at), now)
      return [id, message.type, stepJson(message), carried, oldest]
    }),
  )
}

function isOver(alert: Alert): boolean {
  return alert.status === 'resolved' || !hasEnd(alert)
}

const happenedAt = ({ entry }: AlertNews) => Date.parse(entry.alert.measuredAt)

/** Returns the alerts that stay unsent, with why. Unreadable news is dropped, and stops no other. */
async function settle(
  { store, keys, configs, log }: AlertsDeps,
  { news, unreadable }: Due,
  decided: ReadonlyMap<string, readonly Decided[]>,
  now: number,
): Promise<ReadonlyMap<string, string>> {
  if (unreadable.length > 0) {
    const alerts = unreadable.slice(0, 10).map(({ alert }) => alert)
    log.error({ code: 'outbox.unreadable', alerts, count: unreadable.length }, 'dropped: no alerts')
  }
  const { own, others } = (await configs?.()) ?? { own: '', others: [] }
  const rows = [
    ...unreadable.map(({ alert, place }) => [alert, place, 0, 'drop']),
    ...[...decided].flatMap(([alert, receivers]) => {
      const one = news.get(alert)
      if (one === undefined) return []
      const { place, entry } = one
      const known = receivers.flatMap((each) => [each.receiver, each.known])
      return [[alert, place, numberOf(entry.alert), isOver(entry.alert) ? 'over' : 'open', ...known]]
    }),
  ]
  const left = new Map<string, string>()
  for (const some of chunksOf(rows, CHUNK)) {
    const found = await store.settleNews(keys.unsent, now, own, others.join(' '), ENDS_KNOWN_MS, table(some))
    for (const [alert = '', why = ''] of chunksOf(found, 2)) left.set(alert, why)
  }
  return left
}

/** Lines for the log; of very many alerts most are only counted: each line is written before the work goes on. */
function note({ log }: AlertsDeps, settled: readonly { alert: Alert; receivers: readonly Decided[] }[]): void {
  for (const { alert, receivers } of settled.slice(0, MOST_NOTED)) {
    const { id, status, level, reason, rule, account } = alert
    const to = receivers.flatMap(({ receiver, isNew }) => (isNew ? [receiver] : []))
    log.info({ code: `alert.${status}`, alert: id, hubId: account?.hubId, rule, to }, `${level} ${reason}`)
  }
  const others = Map.groupBy(settled.slice(MOST_NOTED), ({ alert }) => alert.status)
  for (const [status, some] of others) log.info({ code: `alert.${status}`, count: some.length }, 'more alerts at once')
}
