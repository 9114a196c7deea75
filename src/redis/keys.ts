/**
 * Every key of Plimsoll, in one place. An account's keys carry the hash tag of its partition, so that any atomic step
 * on one account touches one slot of a Redis Cluster and the accounts spread over its nodes. What belongs to no account
 * (groups and deliveries, queues) has tags of its own.
 */

/** Fixed for ever: a different number would look for every account in the wrong place. */
export const PARTITIONS = 64

export type DueKind = 'refresh' | 'poll' | 'uninstall'

export const ACCOUNT_STATES = ['active', 'failing', 'parked', 'reauthorize', 'uninstalling', 'uninstalled'] as const
export type AccountState = (typeof ACCOUNT_STATES)[number]

export interface AccountKeys {
  /** hash: state, generation, times and last outcomes, all short */
  account: string
  /** hash: the encrypted tokens and the granted scopes */
  tokens: string
  /** string: the numbers of the last reports, packed */
  readings: string
  /** string, expires: the records behind them, packed */
  samples: string
  /** list: one packed record per poll that saw a change or ended a gap, oldest first */
  history: string
  /** hash: series -> state of its alert */
  alerts: string
  /** string: how fast its series move, told once a day (JSON) */
  forecast: string
  /** list: times of the last calls, for the account's share of the provider's bucket */
  calls: string
  /** string: until when nobody calls for the account, ms; ends with the pause */
  paused: string
}

export interface PartitionKeys {
  /** zset: hubId -> when it is due, ms */
  due: Record<DueKind, string>
  /** zset: hubId of a polled account -> when it was read last, or polling it began, ms; as much later as its readings may be older than others'; not where no scope lets it be read */
  fresh: string
  /** zset: hubId of an imported account -> 1 while it waits for its first reading, then 0 until all have theirs */
  firstReadings: string
  /** zset: hubId -> since when its polls fail, ms */
  pollFailing: string
  /** string: how often it changed which accounts there are, or what their domains are */
  domainsVersion: string
  /** zset: hubId -> how near its nearest limit is; only accounts that are near one */
  nearest: string
  /** zset per state: hubId -> hubId, so that a page of them is a range */
  state: Record<AccountState, string>
  /** set: hubIds with an alert open or pending */
  alerting: string
  /** string: the highest generation of tokens that was forgotten with its account */
  forgotten: string
  /** What the keys of its accounts' hashes start with. */
  accountPrefix: string
  /** hash: how far the daily walk through its accounts' histories is: day it began, last hubId done, or that it is over */
  tended: string
  /** stream: transitions committed and not yet collected, each with its place in the log */
  outbox: string
  /** stream, capped: the newest transitions that were committed */
  log: string
}

export interface DeliveryKeys {
  /** zset: group -> when it closes, ms */
  groupsDue: string
  /** zset: delivery id -> next attempt, ms */
  deliveriesDue: string
  /**
   * hash: transition not yet ended -> of its receivers, how many wait for it, have it, had it given up for them, and had
   * that forgotten. The steps on it declare it alone, and make the names of the others in its slot themselves.
   */
  ledger: string
  /** zset: transition that somebody still waits for -> when it happened, ms */
  pending: string
  /** hash: how many transitions ended, by how */
  counts: string
  /** stream, capped: how transitions ended */
  ends: string
  /** list, capped: names of the transitions of a partition that were collected last */
  collected(partition: number): string
  /** zset: receiver and alert -> when it was last sent as firing, ms; until its end is sent */
  told: string
  /** zset: receiver and alert -> when its end was sent or dropped, ms; kept for a day */
  over: string
  /** hash: receiver and alert -> what is held back from that receiver */
  held: string
  /** zset: the same -> when to look again, ms */
  heldDue: string
  /** zset: id of a delivery that was given up -> when, ms */
  dead: string
  /** zset: id of a delivery that arrived -> when, ms; kept for a week */
  delivered: string
  /** stream, capped: every attempt with its outcome */
  log: string
  /** hash: receiver -> why it is switched off */
  disabled: string
  /** zset: receiver -> when it was last seen in a config, ms */
  receivers: string
  /** hash: how a receiver fares: seenAt, lastDeliveredAt, failingSince, failures, lastReason, drilledAt */
  receiver(name: string): string
  /** string: when an account was connected last, ms */
  connectedAt: string
  /** hash: id -> a silence (JSON) */
  silences: string
  /** hash: transition -> alert that waits for the group to close */
  group(key: string): string
  /** hash: when the group was last closed, how often something was taken out of it, how much its last message hurried */
  groupState(key: string): string
  /** zset: what was told at which level -> when, ms; no longer than the group's interval */
  groupTold(key: string): string
  /** hash: the message, attempts so far, the transitions it carries */
  delivery(id: string): string
}

/** Digests that come every day or week; in the slot of the deliveries, because a step on one makes one. */
export interface DigestKeys {
  /** zset: receiver -> when its next digest is due, ms */
  due: string
  /** hash: the schedule that the receiver's next digest was planned by, what its last one told */
  of(receiver: string): string
}

/** Installs that were granted, of which nobody knows yet whose account they are. */
export interface GrantKeys {
  /** zset: grant -> when it is looked at next, ms */
  due: string
  /** hash: the encrypted tokens, their times, and how far it came */
  grant(id: string): string
}

/** What is known of the keys that tokens are encrypted with. */
export interface VaultKeys {
  /** hash: key id -> a known value encrypted with that key */
  canaries: string
  /** set: ids of keys that something may be encrypted with */
  used: string
  /** hash: process -> the key that it encrypts with, and when it said so */
  writers: string
  /** set: ids of keys that something may have been encrypted with since the last pass of a rekey began */
  written: string
}

export interface Keys {
  readonly prefix: string
  partitionOf(hubId: number): number
  partition(number: number): PartitionKeys
  account(hubId: number): AccountKeys
  /** One of these alone: a step needs no other, and making all of them for each was 2 % of a refresh. */
  own(hubId: number): string
  /** string, expires: a code was sent with that state */
  usedInstallState(nonce: string): string
  /** string: what older versions had in place of `vault.canaries` */
  readonly canary: string
  readonly vault: VaultKeys
  /** string: how what is stored is to be read, a whole number */
  readonly format: string
  /** string: a random mark of what is stored as a whole; another one, or none, is not what a daemon began with */
  readonly installation: string
  /** hash: kind of a sweep -> when one finished last, ms */
  readonly progress: string
  /** string, expires: a daemon has just looked */
  look(kind: string): string
  /** hash: forgottenAt, rewrittenAt: when something was deleted last, and when that left the private server's file, ms */
  readonly appendOnlyFile: string
  /** hash: daemon -> its version, since when it runs, when it said so last, the fingerprint of its config (JSON) */
  readonly daemons: string
  /** hash: the last heartbeat that was told outside: when, since when, the reasons, what became of the ping */
  readonly heartbeat: string
  /** string, expires: a daemon has the heartbeat of that period */
  heartbeatTurn(period: number): string
  /** string: what all workers know of the token endpoint (JSON). Beside the keys of account 0, whose alerts are the fleet's. */
  readonly endpoint: string
  /** string: what is left of the fleet's calls to the limits endpoints (JSON), where they have a budget */
  readonly pollBudget: string
  /** hash: name -> what is known of a named admin token, its hash among it */
  readonly adminTokens: string
  /** zset, expires: digest of a session that somebody signed out of -> when it would have ended, ms */
  readonly endedSessions: string
  readonly digests: DigestKeys
  readonly grants: GrantKeys
  readonly delivery: DeliveryKeys
  /** BullMQ's own prefix: all keys of a queue must share a slot. */
  readonly queues: string
}

export function createKeys(prefix: string): Keys {
  const tags = Array.from({ length: PARTITIONS }, (_, number) => `${prefix}:{${number}}`)
  const partitions = tags.map(partitionKeys)
  const partitionOf = (hubId: number) => hubId % PARTITIONS
  const out = `${prefix}:{delivery}`
  const secured = `${prefix}:{vault}`
  return {
    prefix,
    partitionOf,
    partition: (number) => partitions[number] ?? partitionKeys(`${prefix}:{${number}}`),
    account: (hubId) => accountKeys(`${prefix}:{${partitionOf(hubId)}}`, hubId),
    own: (hubId) => `${tags[partitionOf(hubId)]}:account:${hubId}`,
    usedInstallState: (nonce) => `${prefix}:install:${nonce}`,
    canary: `${prefix}:canary`,
    vault: {
      ...{ canaries: `${secured}:canaries`, used: `${secured}:used-keys` },
      ...{ writers: `${secured}:writers`, written: `${secured}:written` },
    },
    format: `${prefix}:format`,
    installation: `${prefix}:installation`,
    progress: `${prefix}:progress`,
    look: (kind) => `${prefix}:look:${kind}`,
    appendOnlyFile: `${prefix}:append-only-file`,
    daemons: `${prefix}:daemons`,
    heartbeat: `${prefix}:heartbeat`,
    heartbeatTurn: (period) => `${prefix}:heartbeat-turn:${period}`,
    endpoint: `${prefix}:{0}:endpoint`,
    pollBudget: `${prefix}:poll-budget`,
    adminTokens: `${prefix}:admin-tokens`,
    endedSessions: `${prefix}:ended-sessions`,
    digests: { due: `${out}:digests`, of: (receiver) => `${out}:digest:${receiver}` },
    grants: { due: `${prefix}:{grants}:due`, grant: (id) => `${prefix}:{grants}:grant:${id}` },
    delivery: {
      groupsDue: `${out}:groups`,
      deliveriesDue: `${out}:due`,
      ledger: `${out}:ledger`,
      pending: `${out}:pending`,
      counts: `${out}:counts`,
      ends: `${out}:ends`,
      collected: (partition) => `${out}:collected:${partition}`,
      told: `${out}:told`,
      over: `${out}:over`,
      held: `${out}:held`,
      heldDue: `${out}:held-due`,
      dead: `${out}:dead`,
      delivered: `${out}:delivered`,
      log: `${out}:log`,
      disabled: `${out}:disabled`,
      receivers: `${out}:receivers`,
      receiver: (name) => `${out}:receiver:${name}`,
      connectedAt: `${out}:connected-at`,
      silences: `${out}:silences`,
      group: (key) => `${out}:group:${key}`,
      groupState: (key) => `${out}:group-state:${key}`,
      groupTold: (key) => `${out}:group-told:${key}`,
      delivery: (id) => `${out}:delivery:${id}`,
    },
    queues: `{${prefix}}`,
  }
}

function partitionKeys(tag: string): PartitionKeys {
  return {
    due: { refresh: `${tag}:due:refresh`, poll: `${tag}:due:poll`, uninstall: `${tag}:due:uninstall` },
    fresh: `${tag}:fresh`,
    firstReadings: `${tag}:first-readings`,
    pollFailing: `${tag}:poll-failing`,
    domainsVersion: `${tag}:domains-version`,
    nearest: `${tag}:nearest`,
    state: Object.fromEntries(ACCOUNT_STATES.map((state) => [state, `${tag}:accounts:${state}`])) as Record<
      AccountState,
      string
    >,
    alerting: `${tag}:alerting`,
    forgotten: `${tag}:forgotten`,
    accountPrefix: `${tag}:account:`,
    tended: `${tag}:tended`,
    outbox: `${tag}:outbox`,
    log: `${tag}:log`,
  }
}

function accountKeys(tag: string, hubId: number): AccountKeys {
  return {
    account: `${tag}:account:${hubId}`,
    tokens: `${tag}:tokens:${hubId}`,
    readings: `${tag}:readings:${hubId}`,
    samples: `${tag}:samples:${hubId}`,
    history: `${tag}:history:${hubId}`,
    alerts: `${tag}:alerts:${hubId}`,
    forecast: `${tag}:forecast:${hubId}`,
    calls: `${tag}:calls:${hubId}`,
    paused: `${tag}:paused:${hubId}`,
  }
}
