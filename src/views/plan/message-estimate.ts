import type { AccountName } from '../../accounts/match-account.ts'
import type { Alert } from '../../alerts/alert.ts'
import { gathersMasses, groupKey, receiverOf } from '../../alerts/groups/group.ts'
import { receiversOf } from '../../alerts/route.ts'
import type { ToldThen } from './replay-series.ts'
import type { RuleSet } from './rule-set.ts'

/** What one receiver would have got. */
export interface EstimatedMessages {
  messages: number
  /** Alerts that would only have been counted in them: more than alerts.group.max at once. */
  truncated: number
}

interface Counts {
  firing: number
  resolved: number
}

/** What came together within a moment of a group. */
interface Moment {
  isUrgent: boolean
  /** By rule, where a mass is one message by rule. */
  byRule: Map<string, Counts>
}

type Moments = Map<number, Moment>

/** Finer is of no use: polls come minutes apart. */
const MINUTE_MS = 60_000
/** Of each group at most so many moments are told apart: that bounds what is in memory, however long the time. */
const MOST_MOMENTS = 43_200
/** As many accounts in one trouble are one message. */
const MASS = 5

/**
 * In how many messages transitions would have gone out, by the routes and `alerts.group` of a set of rules. An estimate: it
 * tells moments apart by the minute, takes five accounts within `interval` for a mass, and knows nothing of what held messages back or delayed them.
 */
export class MessageEstimate {
  readonly #rules: RuleSet
  readonly #momentMs: number
  readonly #hasMasses: boolean
  readonly #groups = new Map<string, Moments>()
  readonly #byReceiver = new Map<string, EstimatedMessages>()
  /** Of accounts that are over: by receiver, rule and interval. */
  readonly #masses = new Map<string, Counts & { receiver: string; accounts: number }>()
  /** Their messages, by what is in them: the masses that each status of it may belong to. */
  readonly #own = new Map<string, { receiver: string; parts: string[][]; count: number }>()
  /** Transitions that no route is for. */
  unrouted = 0

  constructor(rules: RuleSet, overMs: number) {
    this.#rules = rules
    this.#hasMasses = gathersMasses(rules.group.by)
    this.#momentMs = Math.max(MINUTE_MS, Math.ceil(overMs / MOST_MOMENTS))
  }

  add(account: AccountName, told: readonly ToldThen[]): void {
    if (told.length === 0) return
    const ways = new Map<string, Moments[]>()
    for (const one of told) this.#addOne(ways, account, one)
  }

  /** Groups that only one account can be in are over with it: a large fleet has many. */
  endAccount(): void {
    if (!this.#rules.group.by.includes('account')) return
    const accounts = new Map<string, Counts & { receiver: string }>()
    for (const [key, moments] of this.#groups) {
      if (key.endsWith('|digest')) continue
      this.#groups.delete(key)
      for (const message of messagesOf(this.#rules, this.#momentMs, moments)) {
        if (this.#hasMasses) this.#addOwn(accounts, key, message)
        else this.#count(receiverOf(key), sumOf(message.byRule.values()))
      }
    }
    for (const [mass, { receiver, firing, resolved }] of accounts) {
      const sum = entryOf(this.#masses, mass, () => ({ receiver, accounts: 0, firing: 0, resolved: 0 }))
      sum.accounts++
      sum.firing += firing
      sum.resolved += resolved
    }
  }

  /** By receiver. */
  end(): ReadonlyMap<string, EstimatedMessages> {
    this.endAccount()
    for (const [key, moments] of this.#groups) {
      for (const { byRule } of messagesOf(this.#rules, this.#momentMs, moments)) {
        this.#count(receiverOf(key), sumOf(byRule.values()))
      }
    }
    for (const { receiver, accounts, ...counts } of this.#masses.values()) {
      if (accounts >= MASS) this.#count(receiver, counts)
    }
    const isOwn = (mass: string) => (this.#masses.get(mass)?.accounts ?? 0) < MASS
    for (const { receiver, parts, count } of this.#own.values()) {
      this.#sumOf(receiver).messages += count * parts.filter((masses) => masses.some(isOwn)).length
    }
    return this.#byReceiver
  }

  /** A message of one account, which parts of a mass may yet leave. */
  #addOwn(accounts: Map<string, Counts & { receiver: string }>, key: string, { at, byRule }: Message): void {
    const { group } = this.#rules
    const receiver = receiverOf(key)
    const interval = Math.floor(at / Math.max(group.waitMs, group.intervalMs, this.#momentMs))
    const massOf = (rule: string) => `${receiver}|${interval}|${rule}`
    for (const [rule, { firing, resolved }] of byRule) {
      const sum = entryOf(accounts, massOf(rule), () => ({ receiver, firing: 0, resolved: 0 }))
      sum.firing += firing
      sum.resolved += resolved
    }
    const parts = (['firing', 'resolved'] as const)
      .map((status) => [...byRule].flatMap(([rule, counts]) => (counts[status] > 0 ? [massOf(rule)] : [])).sort())
      .filter((masses) => masses.length > 0)
    entryOf(this.#own, JSON.stringify(parts), () => ({ receiver, parts, count: 0 })).count++
  }

  #sumOf(receiver: string): EstimatedMessages {
    return entryOf(this.#byReceiver, receiver, () => ({ messages: 0, truncated: 0 }))
  }

  #count(receiver: string, { firing, resolved }: Counts): void {
    const { max } = this.#rules.group
    const sum = this.#sumOf(receiver)
    sum.messages += Number(firing > 0) + Number(resolved > 0)
    sum.truncated += Math.max(0, firing - max) + Math.max(0, resolved - max)
  }

  #addOne(ways: Map<string, Moments[]>, account: AccountName, told: ToldThen): void {
    const { kind, rule, level, inDigest, reason } = told
    const groups = entryOf(ways, `${kind}|${level}|${inDigest}|${rule}`, () => this.#groupsOf(account, told))
    if (groups.length === 0) this.unrouted++
    const at = Math.floor(told.at / this.#momentMs)
    for (const moments of groups) {
      const moment = entryOf(moments, at, () => ({ isUrgent: false, byRule: new Map() }))
      entryOf(moment.byRule, this.#hasMasses ? rule : '', noCounts)[reason === 'recovered' ? 'resolved' : 'firing']++
      const isWorse = reason === 'escalated' || (reason === 'entered' && level === 'critical')
      moment.isUrgent ||= isWorse && !inDigest
    }
  }

  /** One for each receiver of its route. */
  #groupsOf(account: AccountName, told: ToldThen): Moments[] {
    const alert = plannedAlert(account, told)
    const entry = told.inDigest ? { alert, firstReading: true as const } : { alert }
    return receiversOf(this.#rules.routes, alert).map((receiver) =>
      entryOf(this.#groups, groupKey(receiver, entry, this.#rules.group.by), () => new Map()),
    )
  }
}

interface Message {
  /** ms */
  at: number
  byRule: ReadonlyMap<string, Counts>
}

/** A group that opens waits for more; after a message the next one keeps its distance, unless something just got worse. */
function* messagesOf({ group }: RuleSet, momentMs: number, moments: Moments): Generator<Message> {
  let waiting: { at: number; byRule: Map<string, Counts> } | undefined
  let closedAt = Number.NEGATIVE_INFINITY
  for (const [moment, { isUrgent, byRule }] of [...moments].sort(([a], [b]) => a - b)) {
    const at = moment * momentMs
    if (waiting !== undefined && waiting.at < at) {
      yield waiting
      closedAt = waiting.at
      waiting = undefined
    }
    waiting ??= { at: Math.max(at + group.waitMs, closedAt + group.intervalMs), byRule: new Map() }
    if (isUrgent) waiting.at = Math.min(waiting.at, at + group.waitMs)
    for (const [rule, counts] of byRule) {
      waiting.byRule.set(rule, sumOf([entryOf(waiting.byRule, rule, noCounts), counts]))
    }
  }
  if (waiting !== undefined) yield waiting
}

function noCounts(): Counts {
  return { firing: 0, resolved: 0 }
}

function sumOf(all: Iterable<Counts>): Counts {
  const sum = noCounts()
  for (const { firing, resolved } of all) {
    sum.firing += firing
    sum.resolved += resolved
  }
  return sum
}

/** As far as routes and groups look at one. */
export function plannedAlert(
  { hubId, hubDomain }: AccountName,
  { at, kind, rule, level, reason }: Pick<ToldThen, 'at' | 'kind' | 'rule' | 'level' | 'reason'>,
): Alert {
  const moment = new Date(at).toISOString()
  return {
    ...{ id: '', kind, status: reason === 'recovered' ? 'resolved' : 'firing', level, reason, rule },
    ...{ account: { hubId, hubDomain }, measuredAt: moment, since: moment },
  }
}

function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key)
  if (found !== undefined) return found
  const made = make()
  map.set(key, made)
  return made
}
