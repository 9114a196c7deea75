import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { stepJson } from '../redis/steps.ts'
import { DAY_MS, firstMomentAt, type Weekday, wallClock, weekdayOf } from '../text/wall-clock.ts'
import { alertOf, type Message } from './alert.ts'
import { type DigestMemory, decodeMemory, encodeMemory } from './digest.ts'

export interface PlannedDigest {
  receiver: string
  /** ms */
  at: number
}

/** What a digest that is made now leaves behind. */
export interface MadeDigest {
  deliveryId: string
  message: Message
  memory: DigestMemory
  now: number
}

/** When receivers get their next digest, and what was in their last. */
export class DigestStore {
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#keys = keys
  }

  async planned(): Promise<PlannedDigest[]> {
    const list = await this.#store.zrange(this.#keys.digests.due, 0, '-1', 'WITHSCORES')
    return list.flatMap((receiver, n) => (n % 2 === 0 ? [{ receiver, at: Number(list[n + 1]) }] : []))
  }

  /** Whether it was planned by this schedule. */
  async isPlannedBy(receiver: string, schedule: DigestSchedule): Promise<boolean> {
    return (await this.#store.hget(this.#keys.digests.of(receiver), 'schedule')) === textOf(schedule)
  }

  async memory(receiver: string): Promise<DigestMemory | undefined> {
    return decodeMemory(await this.#store.hget(this.#keys.digests.of(receiver), 'told'))
  }

  /**
   * Moves the next digest from the moment as it was read (undefined: none was planned); with `made` the one that was due
   * goes on its way in the same step. `lost`: another daemon has moved it.
   */
  move(
    planned: { receiver: string; at: number | undefined },
    to: number,
    schedule: DigestSchedule,
    made?: MadeDigest,
  ): Promise<'moved' | 'lost'> {
    return this.#step(planned, [to, textOf(schedule)], made)
  }

  /** For a receiver that gets none any more. */
  forget(planned: PlannedDigest): Promise<'moved' | 'lost'> {
    return this.#step(planned, ['', ''])
  }

  #step(
    { receiver, at }: { receiver: string; at: number | undefined },
    plan: [to: number | '', schedule: string],
    made?: MadeDigest,
  ) {
    const { digests, delivery: out } = this.#keys
    const keys = [
      digests.due,
      digests.of(receiver),
      out.deliveriesDue,
      ...(made === undefined ? [] : [out.delivery(made.deliveryId)]),
    ]
    const leaves = made === undefined ? [] : leavesOf(made)
    return this.#store.moveDigest(keys.length, ...keys, receiver, at ?? '', ...plan, ...leaves)
  }
}

function leavesOf({ memory, now, deliveryId, message }: MadeDigest): (string | number)[] {
  return [encodeMemory(memory), now, deliveryId, stepJson(message), message.data.alerts.map(alertOf).join(' ')]
}

function textOf({ every, at, on, timeZone }: DigestSchedule): string {
  return `${every} ${every === 'week' ? `${on} ` : ''}${at} ${timeZone}`
}

/** When a receiver gets its digest, by the local time of a zone. */
export interface DigestSchedule {
  every: 'day' | 'week'
  /** "HH:MM" */
  at: string
  /** Of a weekly one. */
  on: Weekday
  /** IANA */
  timeZone: string
}

const PERIOD_MS = { day: DAY_MS, week: 7 * DAY_MS }
/** The search begins no further back: two weekly ones lie in it. */
const FAR_MS = 16 * DAY_MS

/** The first moment after `now` at which a digest is due. */
export function nextDigestAt(schedule: DigestSchedule, now: number): number {
  const [hours = 0, minutes = 0] = schedule.at.split(':').map(Number)
  // From the day before: clocks that are put back at midnight show that day once more.
  for (let day = wallClock(schedule.timeZone, now).day - 1; ; day++) {
    if (schedule.every === 'week' && weekdayOf(day) !== schedule.on) continue
    const due = firstMomentAt(schedule.timeZone, day, hours * 60 + minutes)
    if (due !== undefined && due > now) return due
  }
}

/**
 * What to do about a digest that was planned: nothing before its moment; then it is sent, and of several that were missed
 * only the newest, unless half the time until the one after it is over: then it waits for that one.
 */
export function judgeDue(
  schedule: DigestSchedule,
  plannedAt: number,
  now: number,
): { is: 'early' } | { is: 'due' | 'missed'; dueAt: number; nextAt: number } {
  if (plannedAt > now) return { is: 'early' }
  let dueAt = plannedAt
  let nextAt = nextDigestAt(schedule, Math.max(plannedAt, now - FAR_MS))
  while (nextAt <= now) {
    dueAt = nextAt
    nextAt = nextDigestAt(schedule, dueAt)
  }
  return { is: now - dueAt < PERIOD_MS[schedule.every] / 2 ? 'due' : 'missed', dueAt, nextAt }
}
