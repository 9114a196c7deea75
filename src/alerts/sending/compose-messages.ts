import { chunksOf } from '../../runtime/chunks-of.ts'
import { type Alert, type AlertLevel, byConsequence, hasEnd, type Message } from '../alert.ts'
import { idsBetween, numberOf } from '../outbox.ts'
import { joinCarried } from '../transition-log.ts'
import { DIGEST, hurries, type Item, MASS, RECENT } from './decide-sending.ts'

/** So many urgent alerts at once are one event: later ones are sent together, when the interval is over. */
const BURST = 20

/** One message of a group that closes. */
export interface Composed {
  message: Message
  /** All members, also those that the message only counts. */
  items: Item[]
  /** The transitions that it carries, as deliveries keep them. */
  carried: string
}

/** How much a message shows; `perAlert`: the receiver takes each alert alone, so that none may be only counted. */
interface Cut {
  max: number
  perAlert: boolean
}

/**
 * The messages of a group: firing and resolved apart, worst first, cut at `max`, the rest only counted, or in messages
 * of their own.
 */
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

/**
 * The committed alert, with the transitions that it supersedes. The first message about an alert calls it entered,
 * unless the beginning was sent.
 */
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

/** Earlier transitions that the receiver was not sent, and need not be. */
function supersededBy({ news, sendState }: Item): string[] {
  const { lastSent, waits } = sendState
  return idsBetween(news.entry.alert, lastSent?.number ?? waits?.after ?? news.decided)
}

function carriedOf(item: Item): { id: string; ref?: string }[] {
  const { place, entry } = item.news
  const earlier = supersededBy(item).map((id) => ({ id }))
  return [...earlier, { id: entry.alert.id, ref: place }]
}

/** Names under which a sent group is remembered for a while. */
export function recentOf(group: string, members: readonly Item[]): string[] {
  const alerts = members.map(({ news }) => news.entry.alert)
  // An alert that is over by now was urgent while it fired.
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
