import type { AccountName } from '../../accounts/match-account.ts'
import type { Alert } from '../../alerts/alert.ts'
import { groupKey } from '../../alerts/groups/group.ts'
import { receiversOf } from '../../alerts/routing/route.ts'
import type { ToldThen } from './replay-series.ts'
import type { RuleSet } from './rule-set.ts'

/** What one receiver would have got. */
export interface EstimatedMessages {
  messages: number
  /** Alerts that would only have been counted in them: more than alerts.group.max at once. */
  truncated: number
}

/** What came together within a moment of a group. */
interface Moment {
  firing: number
  resolved: number
  isUrgent: boolean
}

type Moments = Map<number, Moment>

/** Finer is of no use: polls come minutes apart. */
const MINUTE_MS = 60_000
/** Of each group at most so many moments are told apart: that bounds what is in memory, however long the time. */
const MOST_MOMENTS = 43_200

/**
 * In how many messages transitions would have gone out, by the routes and `alerts.group` of a set of rules. An estimate: it
 * tells moments apart by the minute, and knows nothing of what held messages back or delayed them.
 */
export class MessageEstimate {
  readonly #rules: RuleSet
  readonly #momentMs: number
  readonly #groups = new Map<string, Moments>()
  readonly #byReceiver = new Map<string, EstimatedMessages>()
  /** Transitions that no route is for. */
  unrouted = 0

  constructor(rules: RuleSet, overMs: number) {
    this.#rules = rules
    this.#momentMs = Math.max(MINUTE_MS, Math.ceil(overMs / MOST_MOMENTS))
  }

  add(account: AccountName, told: readonly ToldThen[]): void {
    if (told.length === 0) return
    const ways = new Map<string, Moments[]>()
    for (const one of told) this.#addOne(ways, account, one)
  }

  /** Groups that only one account can be in are over with it: a large fleet has many. */
  endAccount(): void {
    if (this.#rules.group.by.includes('account')) this.#close((key) => !key.endsWith('|digest'))
  }

  /** By receiver. */
  end(): ReadonlyMap<string, EstimatedMessages> {
    this.#close(() => true)
    return this.#byReceiver
  }

  #addOne(ways: Map<string, Moments[]>, account: AccountName, told: ToldThen): void {
    const { kind, rule, level, inDigest, reason } = told
    const groups = entryOf(ways, `${kind}|${level}|${inDigest}|${rule}`, () => this.#groupsOf(account, told))
    if (groups.length === 0) this.unrouted++
    const at = Math.floor(told.at / this.#momentMs)
    for (const moments of groups) {
      const moment = entryOf(moments, at, () => ({ firing: 0, resolved: 0, isUrgent: false }))
      if (reason === 'recovered') moment.resolved++
      else moment.firing++
      const isWorse = reason === 'escalated' || (reason === 'entered' && level === 'critical')
      moment.isUrgent ||= isWorse && !inDigest
    }
  }

  /** One for each receiver of its route. */
  #groupsOf(account: AccountName, told: ToldThen): Moments[] {
    const alert = alertOf(account, told)
    const entry = told.inDigest ? { alert, firstReading: true as const } : { alert }
    return receiversOf(this.#rules.routes, alert).map((receiver) =>
      entryOf(this.#groups, groupKey(receiver, entry, this.#rules.group.by), () => new Map()),
    )
  }

  #close(isOver: (key: string) => boolean): void {
    for (const [key, moments] of this.#groups) {
      if (!isOver(key)) continue
      const receiver = key.slice(0, key.indexOf('|'))
      const sum = entryOf(this.#byReceiver, receiver, () => ({ messages: 0, truncated: 0 }))
      for (const { firing, resolved } of messagesOf(this.#rules, this.#momentMs, moments)) {
        sum.messages += Number(firing > 0) + Number(resolved > 0)
        const { max } = this.#rules.group
        sum.truncated += Math.max(0, firing - max) + Math.max(0, resolved - max)
      }
      this.#groups.delete(key)
    }
  }
}

/** A group that opens waits for more; after a message the next one keeps its distance, unless something just got worse. */
function* messagesOf(
  { group }: RuleSet,
  momentMs: number,
  moments: Moments,
): Generator<Pick<Moment, 'firing' | 'resolved'>> {
  let waiting: { closesAt: number; firing: number; resolved: number } | undefined
  let closedAt = Number.NEGATIVE_INFINITY
  for (const [moment, { firing, resolved, isUrgent }] of [...moments].sort(([a], [b]) => a - b)) {
    const at = moment * momentMs
    if (waiting !== undefined && waiting.closesAt < at) {
      yield waiting
      closedAt = waiting.closesAt
      waiting = undefined
    }
    waiting ??= { closesAt: Math.max(at + group.waitMs, closedAt + group.intervalMs), firing: 0, resolved: 0 }
    if (isUrgent) waiting.closesAt = Math.min(waiting.closesAt, at + group.waitMs)
    waiting.firing += firing
    waiting.resolved += resolved
  }
  if (waiting !== undefined) yield waiting
}

/** As far as routes and groups look at one. */
export function alertOf(
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
