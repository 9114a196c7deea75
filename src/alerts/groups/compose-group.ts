import type { Alert, Message } from '../alert.ts'
import { byUrgency } from '../by-urgency.ts'
import type { TransitionRef } from '../ledger/transition-ref.ts'
import { alertOf, matterOf } from '../matter.ts'
import { groupName, isDigest } from './group.ts'
import { type HeldBecause, withheldBecause } from './held.ts'
import { hurries } from './pace.ts'
import { byNumber, type HeldAlert, placeOf, type WaitingAlert } from './waiting.ts'

/** What becomes of a group that closes. `places` are those that are taken out of the group. */
export interface ComposedGroup {
  messages: { message: Message; transitions: TransitionRef[] }[]
  /** Places of all that the messages carry. */
  places: TransitionRef[]
  hold: { alert: HeldAlert; places: TransitionRef[] }[]
  withhold: { places: TransitionRef[]; transitions: TransitionRef[]; why: string }[]
  /** What is told that would have hurried, each with its level; also where something newer of the same alert supersedes it. */
  told: string[]
}

export interface GroupToCompose {
  key: string
  waiting: readonly WaitingAlert[]
  /** The most alerts that one message shows. */
  max: number
  /** Why an alert that fires is not told for now. */
  holdOf: (alert: Alert) => HeldBecause | undefined
  now: number
}

type Verdict =
  | { is: 'told'; alert: WaitingAlert; places: TransitionRef[] }
  | { is: 'held'; alert: HeldAlert; places: TransitionRef[] }
  | { is: 'withheld'; transitions: TransitionRef[]; places: TransitionRef[]; why: string }

/**
 * What goes out when a group closes: of each alert the newest transition, which names those that it supersedes; without
 * what is held back; what fires and what is resolved apart, ranked by urgency and cut at `max`, with the rest counted.
 */
export function composeGroup({ key, waiting, max, holdOf, now }: GroupToCompose): ComposedGroup {
  const alerts = [...Map.groupBy(waiting, ({ alert }) => alertOf(alert)).values()]
  const verdicts = alerts.flatMap((some) => judge(key, some.toSorted(byNumber), holdOf))
  const told = verdicts.filter((verdict) => verdict.is === 'told')
  const places = new Set(told.flatMap((verdict) => verdict.places))
  return {
    messages: messagesOf(
      key,
      told.map(({ alert }) => alert),
      max,
      now,
    ),
    places: [...places],
    hold: verdicts.filter((verdict) => verdict.is === 'held'),
    withhold: verdicts.filter((verdict) => verdict.is === 'withheld'),
    told: hurriedAmong(waiting.filter((one) => places.has(placeOf(one)))),
  }
}

function hurriedAmong(told: readonly WaitingAlert[]): string[] {
  const hurried = told.map(({ alert }) => alert).filter(hurries)
  return [...new Set(hurried.map(toldAs))]
}

/** How it is remembered that an alert was told at its level. */
export function toldAs(alert: Alert): string {
  return `${matterOf(alert)}/${alert.level}`
}

/** Of one alert, oldest transition first. */
function judge(key: string, waiting: readonly WaitingAlert[], holdOf: GroupToCompose['holdOf']): Verdict[] {
  const all = asOne(waiting)
  const places = waiting.map(placeOf)
  if (all.alert.status === 'firing') {
    const held = holdOf(all.alert)
    if (held === undefined) return [{ is: 'told', alert: all, places }]
    return [{ is: 'held', alert: { ...all, group: key, held }, places }]
  }
  const because = heldBefore(waiting, holdOf)
  if (because === undefined) return [{ is: 'told', alert: all, places }]
  // Never told of it: there is nothing to take back.
  if (all.isNews) return [withheld(waiting, because)]
  const [held, told] = [
    waiting.filter((one) => one.held !== undefined),
    waiting.filter((one) => one.held === undefined),
  ]
  if (held.length === 0) return [{ is: 'told', alert: all, places }]
  return [withheld(held, because), { is: 'told', alert: asOne(told), places: told.map(placeOf) }]
}

/** Why what is over now was held back, or would have been when the group closed. */
function heldBefore(waiting: readonly WaitingAlert[], holdOf: GroupToCompose['holdOf']): HeldBecause | undefined {
  const before = waiting.findLast(({ held }) => held !== undefined)
  if (before !== undefined) return before.held
  const fired = waiting.findLast(({ alert }) => alert.status === 'firing')
  return fired === undefined ? undefined : holdOf(fired.alert)
}

function withheld(waiting: readonly WaitingAlert[], because: HeldBecause): Verdict {
  return {
    is: 'withheld',
    places: waiting.map(placeOf),
    transitions: waiting.flatMap(({ of }) => of.map(([ref]) => ref)),
    why: withheldBecause(because),
  }
}

function asOne(waiting: readonly WaitingAlert[]): WaitingAlert {
  const newest = waiting.at(-1)
  if (newest === undefined) throw new Error('an alert has at least one transition')
  const of = waiting.flatMap((one) => one.of)
  return { alert: newest.alert, of, isNews: waiting.some(({ isNews }) => isNews) }
}

/** As it was committed, and what it stands for besides. */
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
            .toSorted((a, b) => byUrgency(a.alert, b.alert))
            .slice(0, max)
            .map(toTell),
        },
      },
      transitions: part.flatMap(({ of }) => of.map(([ref]) => ref)),
    }))
}
