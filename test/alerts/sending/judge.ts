import { expect } from 'vitest'
import { type Alert, alertOf, alertOfTransition, byConsequence, type Message } from '../../../src/alerts/alert.ts'
import type { GroupBy } from '../../../src/alerts/deps.ts'
import { numberOf, type OutboxEntry } from '../../../src/alerts/outbox.ts'
import { endOfQuietTime, type Route, receiversOf, routeOf } from '../../../src/alerts/route.ts'
import { carriedIds } from '../../../src/alerts/transition-log.ts'
import type { Delivery } from '../../../src/delivery/deliveries.ts'
import type { Store } from '../../../src/redis/connect.ts'
import { INTERVAL, WAIT } from '../a-relay.ts'

export interface Daemon {
  config: string
  routes: readonly Route[]
}

/** The last transition of an alert that a receiver was sent. Times are ms. */
interface Told {
  number: number
  isOver: boolean
  at: number
}

/** Transitions of an alert that a receiver is to be sent, and was not so far. */
interface Owed {
  /** Number of the first of them. */
  first: number
  /** Since when nothing holds the alert back; undefined while something does. */
  freeSince?: number | undefined
  /** Whether it was held back at the first look. */
  wasHeldAtFirst?: boolean
  wasHeld?: boolean
  /** Moment of the first look at its end. */
  endedAt?: number
  isOptional?: boolean
}

interface Sent {
  receiver: string
  now: number
  message: Message
  /** Ids of all transitions that it carries, by alert. */
  carried: Map<string, string[]>
}

const MASS = 5
const MOST_SHOWN = 3
const PER_ALERT = 'hook'
const isEnd = ({ status }: Pick<Alert, 'status'>) => status === 'resolved'
const hurries = ({ status, reason, level }: Alert) =>
  status === 'firing' && (reason === 'escalated' || (reason === 'entered' && level === 'critical'))

/**
 * Judges each message by what was committed, and by what operators did, alone. Calm: when it is sent, too; that is known
 * only where every sweep comes when it is due.
 */
export class Judge {
  readonly isCalm: boolean
  readonly silences: { hubId: number; endsAt: number }[] = []
  hasTrouble = false
  /** The daemon that is at work. */
  looking: Daemon = { config: '', routes: [] }
  /** What was judged. */
  readonly seen = new Set<string>()
  readonly #by: GroupBy
  readonly #entries = new Map<string, OutboxEntry>()
  readonly #newest = new Map<string, OutboxEntry>()
  /** By receiver and alert. */
  readonly #told = new Map<string, Told>()
  /** By receiver, alert and transition. */
  readonly #sent = new Set<string>()
  readonly #owed = new Map<string, Owed>()
  readonly #arrived = new Map<string, { number: number; is: 'firing' | 'over' }>()
  /** Deliveries of each acknowledgement to each receiver. */
  readonly #acknowledged = new Map<string, Set<string>>()
  /** When each group of each receiver had its last message, and each account urgent ones of a level. */
  readonly #lastOf = new Map<string, number>()
  /** Messages of accounts of their own, by receiver: since when they could be sent. */
  readonly #alone = new Map<string, { since: number; hubId: number | undefined }[]>()

  constructor(isCalm: boolean, by: GroupBy) {
    this.isCalm = isCalm
    this.#by = by
  }

  /** How many transitions were committed. */
  get count(): number {
    return this.#entries.size
  }

  committed(entry: OutboxEntry, daemons: readonly Daemon[], now: number): void {
    const { alert, toBothLevels } = entry
    const id = alertOf(alert)
    const before = this.#newest.get(id)
    this.#entries.set(alert.id, entry)
    this.#newest.set(id, entry)
    const levels = toBothLevels === true ? (['warning', 'critical'] as const) : [alert.level]
    const routed = new Set(
      daemons.flatMap(({ routes }) => levels.flatMap((level) => receiversOf(routes, { ...alert, level }))),
    )
    for (const receiver of ['mail', 'hook', 'pager']) {
      const name = `${receiver} ${id}`
      const told = this.#told.get(name)
      const wants = isEnd(alert) ? told?.isOver === false : routed.has(receiver)
      const owed = this.#owed.get(name)
      if (wants && owed === undefined) this.#owed.set(name, { first: numberOf(alert) })
      // It is for others by now: this receiver is sent it only where a sweep has seen what it did before.
      else if (owed !== undefined) owed.isOptional = !wants
      if (owed === undefined || before === undefined || !this.#mayBeSpared(name, before)) continue
      if (wants) owed.freeSince = undefined
      else this.#owed.delete(name)
    }
    expect(Date.parse(alert.measuredAt)).toBe(now)
  }

  #isHeld(receiver: string, alert: Alert, { routes }: Daemon, now: number): boolean {
    const { hubId } = alert.account ?? {}
    if (this.silences.some((one) => one.hubId === hubId && now < one.endsAt)) return true
    const fleet = { kind: 'fleet', level: 'critical', rule: 'fleet' } as const
    if (this.hasTrouble && alert.kind === 'poll' && receiversOf(routes, fleet).includes(receiver)) return true
    return endOfQuietTime(routeOf(routes, alert)?.quiet ?? [], now) !== undefined
  }

  /** Every sweep that is due has come: what is late by now is late for good. */
  looked(now: number): void {
    const bound = this.#by === 'rule' ? INTERVAL : 2 * INTERVAL
    for (const [name, owed] of this.#owed) {
      const [receiver = '', id = ''] = name.split(' ')
      const entry = this.#newest.get(id)
      if (entry === undefined) continue
      const { alert } = entry
      if (isEnd(alert)) {
        owed.endedAt ??= now
        const isSpared = !this.#told.has(name) && owed.wasHeld === true
        if (isSpared && (owed.wasHeldAtFirst === true || now >= owed.endedAt + bound)) this.#owed.delete(name)
        else if (!isSpared) expect(now, `${name}: its end is late`).toBeLessThan(owed.endedAt + bound)
        continue
      }
      const isHeld = this.#isHeld(receiver, alert, this.looking, now)
      owed.wasHeldAtFirst ??= isHeld
      owed.wasHeld ||= isHeld
      owed.freeSince = isHeld ? undefined : (owed.freeSince ?? now)
      if (owed.freeSince === undefined || this.#mayBeSpared(name, entry)) continue
      expect(now, `${name}: ${alert.id} is late`).toBeLessThan(owed.freeSince + bound)
      const urgentAt = this.#lastOf.get(`${receiver} ${alert.account?.hubId} ${alert.level}`) ?? 0
      const seenAt = Math.max(owed.freeSince, Date.parse(alert.measuredAt))
      if (hurries(alert) && entry.firstReading !== true && seenAt - urgentAt >= INTERVAL)
        expect(now, `${name}: ${alert.id} is urgent`).toBeLessThan(seenAt + WAIT)
    }
  }

  /** Repeats may come too soon after the message before. */
  #mayBeSpared(name: string, { alert }: OutboxEntry): boolean {
    const told = this.#told.get(name)
    if (told === undefined || Date.parse(alert.measuredAt) - told.at >= INTERVAL) return false
    return this.#missing(name, told.number, numberOf(alert)).length === 0
  }

  /** A store that shows what is put on its way. */
  listen(store: Store): Store {
    return new Proxy(store, {
      get: (real, name) => {
        const value = Reflect.get(real, name)
        if (typeof value !== 'function') return value
        if (name !== 'recordSends' && name !== 'sendDigest') return value.bind(real)
        return async (...args: unknown[]) => {
          const is = await value.apply(real, args)
          if (is === 'recorded') this.#recorded(args)
          if (is === 'sent') this.#digest(String(args[1]), JSON.parse(String(args[5])))
          return is
        }
      },
    })
  }

  #recorded(args: readonly unknown[]): void {
    const [receiver, now] = [String(args[1]), Number(args[2])]
    const first = 7 + Number(args[5])
    const messages = []
    for (let n = first; n < args.length; n += 5) {
      const message = JSON.parse(String(args[n + 2])) as Message
      const carried = Map.groupBy(carriedIds(String(args[n + 3])), alertOfTransition)
      messages.push({ receiver, now, message, carried })
    }
    for (const one of messages) this.#content(one)
    if (this.isCalm && messages.length > 0) this.#moment(messages)
    for (const one of messages) this.#note(one)
  }

  #content({ receiver, now, message, carried }: Sent): void {
    const { type, data } = message
    const { alerts, truncated, groupKey } = data
    this.seen.add(type)
    expect(alerts.length + truncated).toBe(carried.size)
    expect(alerts.length, 'so many are shown').toBe(Math.min(carried.size, MOST_SHOWN))
    if (receiver === PER_ALERT) expect(truncated, 'it takes each alone').toBe(0)
    const all = [...carried.values()].map((ids) => this.#entries.get(ids.at(-1) ?? '')?.alert ?? fail())
    expect(
      alerts.map(({ id }) => id),
      'the worst first',
    ).toEqual(
      all
        .toSorted(byConsequence)
        .slice(0, MOST_SHOWN)
        .map(({ id }) => id),
    )
    for (const [id, ids] of carried) {
      const name = `${receiver} ${id}`
      const entry = this.#entries.get(ids.at(-1) ?? '') ?? fail()
      const { alert, firstReading } = entry
      const numbers = ids.map((one) => numberOf({ id: one }))
      const [told, owed] = [this.#told.get(name), this.#owed.get(name)]
      expect(told?.isOver, `${name}: something after its end`).not.toBe(true)
      expect(numbers[0], `${name}: what it has been sent`).toBeGreaterThan(told?.number ?? 0)
      for (const [n, number] of numbers.entries()) if (n > 0) expect(number).toBe((numbers[n - 1] ?? 0) + 1)
      expect(isEnd(alert)).toBe(type === 'alert.resolved')
      expect(firstReading === true).toBe(type === 'alert.digest')
      expect(groupKey === 'digest').toBe(firstReading === true)
      if (isEnd(alert) && told === undefined)
        expect(numbers.length, `${name}: an end without a beginning`).toBeGreaterThan(1)
      if (!isEnd(alert)) expect(this.#isHeld(receiver, alert, this.looking, now), `${name} is held back`).toBe(false)
      const shown = alerts.find((one) => one.id === alert.id)
      if (shown !== undefined) {
        const { supersedes = [], reason, ...rest } = shown
        expect([...supersedes, shown.id]).toEqual(ids)
        const { reason: own, ...committed } = alert
        expect(rest).toEqual(committed)
        if (this.isCalm) expect(reason).toBe(this.#reasonFor(alert, told, owed) ?? own)
      }
      if (!this.isCalm) continue
      expect(alert, 'the newest').toBe(this.#newest.get(id)?.alert)
      if (told === undefined) expect(numbers[0], `${name}: all that it was not sent`).toBe(owed?.first)
      for (let number = (told?.number ?? numbers[0] ?? 0) + 1; number < (numbers[0] ?? 0); number++)
        expect(this.#entries.get(`${id}-${number}`)?.alert.reason, `${name}: left out`).toBe('repeat')
      if (alert.reason === 'repeat' && told !== undefined && numbers.length === 1)
        expect(now - told.at, `${name}: repeated at once`).toBeGreaterThanOrEqual(INTERVAL)
      if (isEnd(alert) && told === undefined) {
        this.seen.add('both at once')
        expect(owed?.wasHeldAtFirst, `${name}: ended before what held it back did`).toBe(false)
      }
    }
  }

  /** The first message about an alert calls it entered, unless others had it until it escalated. */
  #reasonFor(alert: Alert, told: Told | undefined, owed: Owed | undefined): Alert['reason'] | undefined {
    const isLater = alert.reason === 'escalated' && owed?.first === numberOf(alert)
    return told === undefined && !isEnd(alert) && !isLater ? 'entered' : undefined
  }

  #moment(messages: readonly Sent[]): void {
    const [first] = messages
    if (first === undefined) return
    const { receiver, now } = first
    const { groupKey } = first.message.data
    const carried = messages.flatMap((one) => [...one.carried])
    const members = [...carried, ...this.#sparedIn(receiver, groupKey)]
    const begun = members.flatMap(([, ids]) => Date.parse(this.#entries.get(ids[0] ?? '')?.alert.measuredAt ?? ''))
    expect(now - Math.min(...begun), `${groupKey} waits for more`).toBeGreaterThanOrEqual(WAIT)
    const free = members.map(([id], n) => {
      const owed = this.#owed.get(`${receiver} ${id}`)
      // It may have waited before something held it back, and waits on where it did.
      return owed?.wasHeldAtFirst === true ? (owed.freeSince ?? owed.endedAt ?? now) : (begun[n] ?? now)
    })
    expect(now - Math.min(...free), `${groupKey} waits for more once it may be sent`).toBeGreaterThanOrEqual(WAIT)
    // Once more at a level within the interval is flapping.
    const isUrgent = carried.some(([id, ids]) =>
      this.#urgentOf(receiver, id, ids).some(({ account, level }) => {
        const urgentAt = this.#lastOf.get(`${receiver} ${account?.hubId} ${level}`) ?? 0
        return now - urgentAt >= INTERVAL
      }),
    )
    const lastAt = this.#lastOf.get(`${receiver} ${groupKey}`)
    if (lastAt !== undefined && !isUrgent && groupKey !== 'digest')
      expect(now - lastAt, `${receiver} ${groupKey}: two messages`).toBeGreaterThanOrEqual(INTERVAL)
    this.#lastOf.set(`${receiver} ${groupKey}`, now)
    if (groupKey.startsWith('account=')) this.#inNoMass(receiver, carried, now)
    else if (this.#by === 'account' && groupKey !== 'digest') this.seen.add('mass')
  }

  /** Repeats that may be spared as their group is sent: it waits from the first of its members on, whichever that is. */
  #sparedIn(receiver: string, groupKey: string): [alert: string, ids: string[]][] {
    const since = this.#lastOf.get(`${receiver} ${groupKey}`) ?? 0
    return [...this.#newest].flatMap(([id, entry]): [string, string[]][] => {
      const { rule, kind, level, account, measuredAt } = entry.alert
      const own = `${this.#by}=${{ rule, kind, level, account: account?.hubId }[this.#by]}`
      const name = `${receiver} ${id}`
      const isIn = groupKey === own || (this.#by === 'account' && groupKey === `rule=${rule}`)
      const isOpen = isIn && this.#owed.has(name) && this.#mayBeSpared(name, entry) && Date.parse(measuredAt) > since
      return isOpen ? [[id, [entry.alert.id]]] : []
    })
  }

  /** Urgent transitions that a message brings. What was for others alone, before this receiver's part began, is no news to it. */
  #urgentOf(receiver: string, id: string, ids: readonly string[]): Alert[] {
    const first = this.#owed.get(`${receiver} ${id}`)?.first ?? 0
    const alerts = ids.map((one) => (this.#entries.get(one) ?? fail()).alert)
    return alerts.filter((alert) => hurries(alert) && numberOf(alert) >= first)
  }

  /** What begins, or ends, at so many accounts while a group waits is one message. */
  #inNoMass(receiver: string, carried: readonly (readonly [string, readonly string[]])[], now: number): void {
    for (const [id, ids] of carried) {
      const { alert } = this.#newest.get(id) ?? fail()
      const owed = this.#owed.get(`${receiver} ${id}`)
      const since = isEnd(alert) ? owed?.endedAt : owed?.freeSince
      const counts = isEnd(alert) ? this.#told.has(`${receiver} ${id}`) : !['repeat', 'eased'].includes(alert.reason)
      if (since === undefined || !counts || ids.length > 1) continue
      const name = `${receiver} ${isEnd(alert) ? 'ends' : 'begins'}`
      const near = (this.#alone.get(name) ?? []).filter((one) => Math.abs(one.since - since) < WAIT)
      const all = [...near, { since, hubId: alert.account?.hubId }]
      this.#alone.set(name, all)
      for (const from of all) {
        const together = all.filter((one) => one.since >= from.since && one.since < from.since + WAIT)
        const hubIds = new Set(together.map(({ hubId }) => hubId))
        expect(hubIds.size, `${name} at ${now}: each account by itself`).toBeLessThan(MASS)
      }
    }
  }

  #note({ receiver, now, carried }: Sent): void {
    for (const [id, ids] of carried) {
      const { alert } = this.#entries.get(ids.at(-1) ?? '') ?? fail()
      for (const one of ids) this.#sent.add(`${receiver} ${id} ${one}`)
      this.#told.set(`${receiver} ${id}`, { number: numberOf(alert), isOver: isEnd(alert), at: now })
      for (const { account, level } of this.#urgentOf(receiver, id, ids))
        this.#lastOf.set(`${receiver} ${account?.hubId} ${level}`, now)
      const owed = this.#owed.get(`${receiver} ${id}`)
      if (owed !== undefined && owed.first <= numberOf(alert)) this.#owed.delete(`${receiver} ${id}`)
      // A newer one was committed while this one was sent.
      if (this.#newest.get(id)?.alert !== alert && this.#newest.get(id)?.alert.status === 'resolved')
        this.#owed.set(`${receiver} ${id}`, { first: numberOf(alert) + 1 })
    }
  }

  /** It shows all that is open for its receiver, as it is. */
  #digest(receiver: string, { data }: Message): void {
    this.seen.add('digest')
    const open = [...this.#newest.values()].flatMap(({ alert }) => (isEnd(alert) ? [] : alert))
    const mine = open.filter((alert) => receiversOf(this.looking.routes, alert).includes(receiver))
    const shown = mine.toSorted(byConsequence).slice(0, MOST_SHOWN)
    expect(data.alerts.map(({ id, level }) => [id, level])).toEqual(shown.map(({ id, level }) => [id, level]))
    const count = (wanted: Alert['level']) => mine.filter(({ level }) => level === wanted).length
    const accounts = new Set(mine.map(({ account }) => account?.hubId)).size
    expect(data.totals).toEqual({ accounts, critical: count('critical'), warning: count('warning') })
    expect(data.truncated).toBe(mine.length - shown.length)
  }

  /** An attempt that failed may have arrived all the same. */
  arrived({ id, receiver, message }: Delivery): void {
    const { alerts, acknowledged, period } = message.data
    for (const alert of alerts) {
      const name = `${receiver} ${alertOf(alert)}`
      const [before, number] = [this.#arrived.get(name), numberOf(alert)]
      expect(number, `${name}: an older one arrives`).toBeGreaterThanOrEqual(before?.number ?? 0)
      if (before?.is === 'over') expect(alert.status, `${name}: arrives after its end`).toBe('resolved')
      // A digest goes before no other message.
      if (period === undefined) this.#arrived.set(name, { number, is: isEnd(alert) ? 'over' : 'firing' })
      if (acknowledged === undefined) continue
      this.seen.add('acknowledged')
      if (receiver === PER_ALERT) {
        expect(before?.is, `${name}: acknowledged`).toBe('firing')
        expect(this.#missing(name, before?.number ?? 0, number), `${name}: acknowledged before`).toEqual([])
      }
      const sent = this.#acknowledged.get(`${name} ${acknowledged.at}`) ?? new Set()
      this.#acknowledged.set(`${name} ${acknowledged.at}`, sent.add(id))
      expect(sent.size, `${name}: acknowledged twice`).toBe(1)
    }
  }

  /** Transitions of an alert after one, up to another, that were sent or had to be: a repeat may be spared. */
  #missing(name: string, after: number, upTo: number): string[] {
    const [, id = ''] = name.split(' ')
    const ids = Array.from({ length: upTo - after }, (_, n) => `${id}-${after + 1 + n}`)
    return ids.filter((one) => this.#sent.has(`${name} ${one}`) || this.#entries.get(one)?.alert.reason !== 'repeat')
  }

  /** Nothing is held back or waits any more, and all deliveries are tried. */
  ended(open: readonly { alert: string; acknowledged: number | undefined }[]): void {
    for (const [name, owed] of this.#owed) {
      const [, id = ''] = name.split(' ')
      const entry = this.#newest.get(id) ?? fail()
      if (owed.isOptional === true || (isEnd(entry.alert) && !this.#told.has(name))) continue
      expect(this.#mayBeSpared(name, entry), `${name}: never sent from ${owed.first} on`).toBe(true)
    }
    for (const [name, { isOver }] of this.#told) {
      const [, id = ''] = name.split(' ')
      const { alert } = this.#newest.get(id) ?? fail()
      expect(isOver, `${name}: sent to be over`).toBe(isEnd(alert))
    }
    for (const { alert, acknowledged } of open) {
      if (acknowledged === undefined) continue
      for (const receiver of ['mail', 'hook']) {
        const name = `${receiver} ${alert}`
        const told = this.#told.get(name)
        if (told?.number !== numberOf(this.#newest.get(alert)?.alert ?? fail())) continue
        const at = new Date(acknowledged).toISOString()
        expect(this.#acknowledged.get(`${name} ${at}`)?.size, `${name}: acknowledged at ${at}`).toBe(1)
      }
    }
  }
}

function fail(): never {
  throw new Error('what is sent was committed')
}
