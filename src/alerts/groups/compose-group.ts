import { type Alert, alertOf, byConsequence, type Message } from '../alert.ts'
import type { GroupSettings } from '../deps.ts'
import type { TransitionRef } from '../ledger.ts'
import {
  byOrder,
  groupName,
  type HeldAlert,
  type HeldBecause,
  isDigest,
  placeInGroup,
  type WaitingAlert,
  withheldBecause,
} from './group.ts'
import { type Heard, hasEnd, hurries, sentKey } from './sent-lately.ts'

/** The outcome of a group that closes. `places` are those that are taken out of the group. */
export interface ComposedGroup {
  messages: {
    message: Message
    /** Each with its id. */
    transitions: [ref: TransitionRef, id: string][]
    /** Of the alerts that have an end, also of those that it only counts. */
    alerts: [id: string, order: number][]
  }[]
  /** Places of all that the messages carry. */
  places: TransitionRef[]
  hold: { alert: HeldAlert; places: TransitionRef[] }[]
  withhold: { places: TransitionRef[]; transitions: TransitionRef[]; why: string; over: Over; alert: Alert }[]
  /** What is sent and would have hurried, each with its level; also where a newer transition of its alert supersedes it. */
  told: string[]
}

/** Of an alert that is not sent: whether it ends with this, or the receiver was sent its end before. */
export type Over = 'now' | 'before' | 'no'

export interface GroupToCompose {
  key: string
  waiting: readonly WaitingAlert[]
  group: Pick<GroupSettings, 'max' | 'intervalMs'>
  /** Why an alert that fires is not sent for now. */
  holdOf: (alert: Alert) => HeldBecause | undefined
  /** What the receiver was sent of an alert. */
  heardOf: (alert: Alert) => Heard
  now: number
}

type Verdict =
  | { is: 'told'; alert: WaitingAlert; places: TransitionRef[] }
  | { is: 'held'; alert: HeldAlert; places: TransitionRef[] }
  | ({ is: 'withheld' } & ComposedGroup['withhold'][number])

/**
 * What goes out when a group closes: of each alert the newest transition, which names those that it supersedes; without
 * what is held back; what fires and what is resolved apart, ranked by urgency and cut at `max`, with the rest counted.
 */
export function composeGroup(toCompose: GroupToCompose): ComposedGroup {
  const { key, waiting, group, now } = toCompose
  const alerts = [...Map.groupBy(waiting, ({ alert }) => alertOf(alert)).values()]
  const verdicts = alerts.map((some) => judge(toCompose, some.toSorted(byOrder)))
  const told = verdicts.filter((verdict) => verdict.is === 'told')
  const places = new Set(told.flatMap((verdict) => verdict.places))
  return {
    messages: messagesOf(
      key,
      told.map(({ alert }) => alert),
      group.max,
      now,
    ),
    places: [...places],
    hold: verdicts.filter((verdict) => verdict.is === 'held'),
    withhold: verdicts.filter((verdict) => verdict.is === 'withheld'),
    told: hurriedAmong(waiting.filter((one) => places.has(placeInGroup(one)))),
  }
}

function hurriedAmong(told: readonly WaitingAlert[]): string[] {
  const hurried = told.map(({ alert }) => alert).filter(hurries)
  return [...new Set(hurried.map(sentKey))]
}

/**
 * Of one alert, oldest transition first. What is over is not sent as firing; an end is sent to who was sent the firing, or
 * together with it where both waited here and nothing held them back.
 */
function judge({ key, holdOf, heardOf, group, now }: GroupToCompose, waiting: readonly WaitingAlert[]): Verdict {
  const all = asOne(waiting)
  const heard = heardOf(all.alert)
  const places = waiting.map(placeInGroup)
  const withheld = (why: string, over: Over): Verdict => {
    const transitions = all.of.map(([ref]) => ref)
    return { is: 'withheld', alert: all.alert, places, transitions, why, over }
  }
  if (heard.is === 'over') return withheld('ended before it was sent', 'before')
  if (all.alert.status === 'firing') {
    // It waited in a group that its rule's name, or the config, has led elsewhere since.
    if (heard.is === 'told' && (all.order ?? 0) < heard.order) return withheld('a newer one was sent before', 'no')
    const held = holdOf(all.alert)
    if (held !== undefined) return { is: 'held', alert: { ...all, group: key, held }, places }
    if (isToldLately(all, heard, group.intervalMs, now)) return withheld('sent a short while ago', 'no')
    return { is: 'told', alert: heard.is === 'nothing' ? asNews(all) : all, places }
  }
  if (heard.is === 'told') return { is: 'told', alert: all, places }
  const because = heldBefore(waiting, holdOf)
  if (because !== undefined) return withheld(withheldBecause(because), 'now')
  const hasFired = waiting.some(({ alert }) => alert.status === 'firing')
  return hasFired ? { is: 'told', alert: all, places } : withheld('this receiver was never sent its beginning', 'now')
}

/** A repeat that comes due just after the alert was sent: it had been held back for long. */
function isToldLately({ alert, of }: WaitingAlert, heard: Heard, intervalMs: number, now: number): boolean {
  if (alert.reason !== 'repeat' || of.length > 1) return false
  return heard.is === 'told' && now - heard.at >= 0 && now - heard.at < intervalMs
}

/** The first message about an alert names its beginning, unless other receivers had it until it escalated. */
function asNews(all: WaitingAlert): WaitingAlert {
  const { alert, of } = all
  if (!hasEnd(alert) || (alert.reason === 'escalated' && of.length === 1)) return all
  return { ...all, alert: { ...alert, reason: 'entered' } }
}

/** Why what is over now was held back while it fired, or would have been when the group closed. */
function heldBefore(waiting: readonly WaitingAlert[], holdOf: GroupToCompose['holdOf']): HeldBecause | undefined {
  const fired = waiting.findLast(({ alert }) => alert.status === 'firing')
  return fired === undefined ? undefined : (fired.held ?? holdOf(fired.alert))
}

function asOne(waiting: readonly WaitingAlert[]): WaitingAlert {
  const newest = waiting.at(-1)
  if (newest === undefined) throw new Error('an alert has at least one transition')
  return { ...newest, of: waiting.flatMap((one) => one.of) }
}

/** As it was committed, with the transitions that it supersedes. */
function toTell({ alert, of }: WaitingAlert): Alert {
  const others = new Set(of.map(([, id]) => id))
  others.delete(alert.id)
  return others.size === 0 ? alert : { ...alert, supersedes: [...others] }
}

function messagesOf(key: string, told: readonly WaitingAlert[], max: number, now: number): ComposedGroup['messages'] {
  const byStatus = Map.groupBy(told, ({ alert }) => alert.status)
  const parts: [Message['type'], WaitingAlert[]][] = [
    [isDigest(key) ? 'alert.digest' : 'alert.firing', byStatus.get('firing') ?? []],
    ['alert.resolved', byStatus.get('resolved') ?? []],
  ]
  return parts
    .filter(([, part]) => part.length > 0)
    .map(([type, part]) => ({
      message: {
        type,
        timestamp: new Date(now).toISOString(),
        data: {
          groupKey: groupName(key),
          truncated: Math.max(0, part.length - max),
          alerts: part
            .toSorted((a, b) => byConsequence(a.alert, b.alert))
            .slice(0, max)
            .map(toTell),
        },
      },
      transitions: part.flatMap(({ of }) => of),
      alerts: part.flatMap(({ alert, order = 0 }) => (hasEnd(alert) ? [[alertOf(alert), order]] : [])),
    }))
}
