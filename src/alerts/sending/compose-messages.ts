import { chunksOf } from '../../runtime/chunks-of.ts'
import { type Alert, type AlertLevel, byConsequence, type Message } from '../alert.ts'
import { idsBetween, numberOf } from '../outbox.ts'
import { joinCarried, refOf } from '../transition-log.ts'
import { hurries, type Item, MASS, RECENT } from './decide-sending.ts'
import { DIGEST } from './group.ts'

/** So many urgent alerts at once are one event: what follows them is sent together, when the interval is over. */
const BURST = 20

/** One message of a group that closes. */
export interface Composed {
  message: Message
  /** All that it is about, also what it only counts. */
  items: Item[]
  /** The transitions that it carries, as deliveries keep them. */
  carried: string
}

/** What a message shows; `perAlert`: its receiver takes each alert alone, so that none may be only counted. */
interface Cut {
  max: number
  perAlert: boolean
}

/** What a group's members become: what fires and what is resolved apart, ranked by consequence and cut at `max`, the rest counted, or in messages of their own. */
export function composeMessages(
  group: string,
  members: readonly Item[],
  { max, perAlert }: Cut,
  now: number,
): Composed[] {
  const sorted = members.toSorted((a, b) => byConsequence(a.news.entry.alert, b.news.entry.alert))
  const of = (status: Alert['status']) => sorted.filter(({ news }) => news.entry.alert.status === status)
  const parts: [Message['type'], Item[]][] = [
    [group === DIGEST ? 'alert.digest' : 'alert.firing', of('firing')],
    ['alert.resolved', of('resolved')],
  ]
  return parts.flatMap(([type, all]) =>
    chunksOf(all, perAlert ? max : all.length).map((items) => {
      const alerts = items.slice(0, max).map(alertToSend)
      const data = { groupKey: group, truncated: items.length - alerts.length, alerts }
      const message = { type, timestamp: new Date(now).toISOString(), data }
      return { message, items, carried: joinCarried(items.flatMap(carriedOf)) }
    }),
  )
}

/** As it was committed, with the transitions that it supersedes. The first message about an alert names its beginning, unless others had that. */
function alertToSend(item: Item): Alert {
  const { news, sendState } = item
  const { alert } = news.entry
  const isNew = sendState.lastSent === undefined || sendState.lastSent.isOver === true
  const wasSent = alert.reason === 'escalated' && (sendState.waits?.first ?? numberOf(alert)) === numberOf(alert)
  const isBeginning = isNew && alert.status === 'firing' && hasEnd(alert) && !wasSent
  const supersedes = supersededBy(item)
  return {
    ...alert,
    ...(isBeginning ? { reason: 'entered' as const } : {}),
    ...(supersedes.length === 0 ? {} : { supersedes }),
  }
}

/** Those that came before and that the receiver was not sent, and need not be. */
function supersededBy({ news, sendState }: Item): string[] {
  return idsBetween(news.entry.alert, sendState.lastSent?.number ?? news.settled)
}

function carriedOf(item: Item): { id: string; ref?: string }[] {
  const { partition, place, entry } = item.news
  const earlier = supersededBy(item).map((id) => ({ id }))
  return [...earlier, { id: entry.alert.id, ref: refOf(partition, place) }]
}

/** Whether the alert is resolved one day: a changed limit and a test are events without an end. */
export function hasEnd({ kind }: Pick<Alert, 'kind'>): boolean {
  return kind !== 'limit-changed' && kind !== 'test'
}

/** What is remembered for a while of a group that was sent. */
export function recentOf(group: string, members: readonly Item[]): string[] {
  const alerts = members.map(({ news }) => news.entry.alert)
  // Also what is over by now hurried while it fired.
  const levels = members.flatMap((item) => {
    const level = hurriedLevel(item)
    return level === undefined ? [] : RECENT.level({ ...item.news.entry.alert, level })
  })
  const accounts = (status: Alert['status']) =>
    new Set(alerts.flatMap((alert) => (alert.status === status ? (alert.account?.hubId ?? []) : []))).size
  return [
    RECENT.group(group),
    ...new Set(levels),
    ...(new Set(levels).size >= BURST ? [RECENT.burst(group)] : []),
    ...(accounts('firing') >= MASS ? [RECENT.mass(group)] : []),
    ...(accounts('resolved') >= MASS ? [RECENT.ended(group)] : []),
  ]
}

function hurriedLevel({ news, sendState }: Item): AlertLevel | undefined {
  const { alert } = news.entry
  const isOver = alert.status === 'resolved' && sendState.lastSent === undefined && alert.level === 'critical'
  return hurries(alert) || isOver ? alert.level : sendState.waits?.hurried
}
