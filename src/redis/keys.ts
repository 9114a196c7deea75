/**
 * Every key of Plimsoll, in one place. An account's keys carry the hash tag of its partition, so that any atomic step
 * on one account touches one slot of a Redis Cluster and the accounts spread over its nodes. What belongs to no account
 * (deliveries and what receivers know, queues) has tags of its own.
 */

/** Fixed for ever: with a different number every account would be in the wrong place. */
export const PARTITIONS = 64

export type DueKind = 'refresh' | 'poll' | 'uninstall'

export const ACCOUNT_STATES = ['active', 'failing', 'parked', 'reauthorize', 'uninstalling', 'uninstalled'] as const
export type AccountState = (typeof ACCOUNT_STATES)[number]

export type Keys = Readonly<ReturnType<typeof createKeys>>
export type PartitionKeys = ReturnType<typeof partitionKeys>
export type AccountKeys = ReturnType<typeof accountKeys>

/** The same asked of each partition, at once; the answers in their order. */
export function everyPartition<T>(
  keys: Keys,
  ask: (partition: PartitionKeys, number: number) => Promise<T>,
): Promise<T[]> {
  return Promise.all(Array.from({ length: PARTITIONS }, (_, number) => ask(keys.partition(number), number)))
}

export function createKeys(prefix: string) {
  const tags = Array.from({ length: PARTITIONS }, (_, number) => `${prefix}:{${number}}`)
  const partitions = tags.map(partitionKeys)
  const partitionOf = (hubId: number) => hubId % PARTITIONS
  const out = `${prefix}:{delivery}`
  return {
    prefix,
    partitionOf,
    partition: (number: number) => partitions[number] ?? partitionKeys(`${prefix}:{${number}}`),
    account: (hubId: number) => accountKeys(`${prefix}:{${partitionOf(hubId)}}`, hubId),
    /**
     * The key that a step on an account declares: it routes the step to the slot of all keys that it touches. The other
     * names are made by `lua/include/account-step.lua`: 17 names in every call made a refresh a tenth dearer.
     */
    own: (hubId: number) => `${tags[partitionOf(hubId)]}:account:${hubId}`,
    /** string, expires: a code was sent with that state */
    usedInstallState: (nonce: string) => `${prefix}:install:${nonce}`,
    ...sharedKeys(prefix),
    vault: vaultKeys(`${prefix}:{vault}`),
    digests: digestKeys(out),
    grants: grantKeys(`${prefix}:{grants}`),
    delivery: deliveryKeys(out),
    /** BullMQ's own prefix: all keys of a queue must share a slot. */
    queues: `{${prefix}}`,
  }
}

/** Keys that all daemons share, and that belong to nothing below. */
function sharedKeys(prefix: string) {
  return {
    /** string: how what is stored is to be read, a whole number */
    format: `${prefix}:format`,
    /** string, expires: the daemon that brings the data of an older version up to date */
    upgrading: `${prefix}:upgrading`,
    /** string: a random mark of what is stored as a whole; another one, or none, is not what a daemon began with */
    installation: `${prefix}:installation`,
    /** hash: kind of a sweep -> when one finished last, ms */
    progress: `${prefix}:progress`,
    /** string, expires: a daemon has just swept */
    sweepTurn: (kind: string) => `${prefix}:look:${kind}`,
    /** hash: forgottenAt, rewrittenAt: when data was deleted last, and when that left the private server's file, ms */
    appendOnlyFile: `${prefix}:append-only-file`,
    /** hash: daemon -> its version, since when it runs, when it reported last, the fingerprint of its config (JSON) */
    daemons: `${prefix}:daemons`,
    /** hash: the last heartbeat that was sent: when, since when, the reasons, the outcome of the ping */
    heartbeat: `${prefix}:heartbeat`,
    /** string, expires: a daemon has the heartbeat of that period */
    heartbeatTurn: (period: number) => `${prefix}:heartbeat-turn:${period}`,
    /** string: what all workers know of the token endpoint (JSON). Beside the keys of account 0, whose alerts are the fleet's. */
    endpoint: `${prefix}:{0}:endpoint`,
    /** hash: day and `calls` or `failed` -> how many calls to the provider were answered, and failed, on that day; 30 days */
    providerCalls: `${prefix}:provider-calls`,
    /** hash: day and outcome -> how many forecasts ended so on that day; 30 days */
    forecastOutcomes: `${prefix}:forecast-outcomes`,
    /** hash: name -> what is known of a named admin token, its hash among it */
    adminTokens: `${prefix}:admin-tokens`,
    /** stream, capped, expires: who did what in the last 90 days; a part of it */
    audit: (part: string) => `${prefix}:audit:${part}`,
    /** string: the fingerprint of the config that a daemon started with last, or took over */
    configOfLast: `${prefix}:config-of-last`,
    /** zset, expires: digest of a session that was signed out -> when it would have ended, ms */
    endedSessions: `${prefix}:ended-sessions`,
  }
}

/** Keys of the state of the encryption keys. */
function vaultKeys(secured: string) {
  return {
    /** hash: key id -> a known value encrypted with that key */
    canaries: `${secured}:canaries`,
    /** set: ids of keys that stored values may be encrypted with */
    used: `${secured}:used-keys`,
    /** hash: process -> the key that it encrypts with, and when it reported that */
    writers: `${secured}:writers`,
    /** hash: key id -> how many processes that encrypted with it are gone: a pass of a rekey does not see what they did last */
    written: `${secured}:written-with`,
  }
}

/** Digests that come every day or week; in the slot of the deliveries, because a step on one makes one. */
function digestKeys(out: string) {
  return {
    /** zset: receiver -> when its next digest is due, ms */
    due: `${out}:digests`,
    /** hash: what a receiver's last digest contained, and its delivery */
    of: (receiver: string) => `${out}:digest:${receiver}`,
  }
}

/** Installs that were granted and whose account is not known yet. */
function grantKeys(tag: string) {
  return {
    /** zset: grant -> when it is tried next, ms */
    due: `${tag}:due`,
    /** string: the last place that was taken for a grant that was kept, an uninstall that was asked for, or an import; see `nextOrder` */
    order: `${tag}:order`,
    /** hash: the encrypted tokens, their times, and how far it came */
    grant: (id: string) => `${tag}:grant:${id}`,
  }
}

function deliveryKeys(out: string) {
  return {
    /** zset: delivery id -> next attempt, ms. The steps on deliveries declare it alone, and make the names of the others in its slot themselves. */
    deliveriesDue: `${out}:due`,
    /** hash: alert -> what the receiver was sent of it last, or waits for (JSON); until a while after its end */
    known: (receiver: string) => `${out}:known:${receiver}`,
    /** zset: alert -> when the receiver was sent its end, or not sent anything of it any more, ms; kept for three days */
    over: (receiver: string) => `${out}:over:${receiver}`,
    /**
     * zset, expires: groups, and series with their level, that the receiver was sent -> when, ms; no longer than the
     * groups' interval
     */
    recent: (receiver: string) => `${out}:lately:${receiver}`,
    /** zset: receiver and alert that it waits for -> when that happened, ms */
    waiting: `${out}:waiting`,
    /** zset: delivery of alerts that has not arrived and was not given up -> when the oldest of them happened, ms */
    underWay: `${out}:under-way`,
    /** zset: id of a delivery that was given up -> when, ms */
    dead: `${out}:dead`,
    /** zset: id of a delivery that arrived -> when, ms; kept for a week */
    delivered: `${out}:delivered`,
    /** stream, capped: every attempt with its outcome */
    log: `${out}:log`,
    /** hash: receiver -> why it is switched off */
    disabled: `${out}:disabled`,
    /** zset: receiver -> when it was last seen in a config, ms; all that has keys here */
    receivers: `${out}:receivers`,
    /** hash: the state of a receiver: lastDeliveredAt, failingSince, failures, lastReason, a mark of its address, pausedUntil */
    receiver: (name: string) => `${out}:receiver:${name}`,
    /** string: when an account was connected last, ms */
    lastConnectAt: `${out}:connected-at`,
    /** hash: id -> a silence (JSON) */
    silences: `${out}:silences`,
    /** hash, expires: when a mail that asks to connect the account again was last made, ms, and its delivery */
    reconnectMail: (hubId: number) => `${out}:reconnect-mail:${hubId}`,
    /** string, expires: the delivery of the last event of an account to a receiver: the next one goes behind it */
    lastEvent: (receiver: string, hubId: number) => `${out}:last-event:${receiver}|${hubId}`,
    /** hash: receiver and alert -> the delivery of its acknowledgement, which goes before newer messages of the alert */
    acknowledging: `${out}:acknowledging`,
    /** hash: the message, attempts so far, the transitions that it carries, deliveries of the same alerts that go first */
    delivery: (id: string) => `${out}:delivery:${id}`,
  }
}

function partitionKeys(tag: string) {
  return {
    /** zset: hubId -> when it is due, ms */
    due: { refresh: `${tag}:due:refresh`, poll: `${tag}:due:poll`, uninstall: `${tag}:due:uninstall` },
    /** zset: hubId of a polled account -> its last reading, or begin of polling, plus what its period is longer than others', ms: no moment of a poll; absent where no scope lets it be read */
    fresh: `${tag}:fresh`,
    /** zset: hubId of an imported account -> 1 while it waits for its first reading, then 0 until all have theirs */
    firstReadings: `${tag}:first-readings`,
    /** zset: hubId -> since when its polls fail, ms */
    pollFailing: `${tag}:poll-failing`,
    /** string: how often it changed which accounts there are, or what their domains are */
    domainsVersion: `${tag}:domains-version`,
    /** zset: hubId -> how near its nearest limit is, below 0 where one is reached; only accounts that are near one */
    nearest: `${tag}:nearest`,
    /** zset per state: hubId -> hubId, so that a page of them is a range */
    state: Object.fromEntries(ACCOUNT_STATES.map((state) => [state, `${tag}:accounts:${state}`])) as Record<
      AccountState,
      string
    >,
    /** set: hubIds with an alert open or pending */
    alerting: `${tag}:alerting`,
    /** string: the highest generation of tokens that was forgotten with its account */
    forgotten: `${tag}:forgotten`,
    /**
     * Prefix of the keys that outlive forgotten accounts. hash, expires: operations and uninstallOrder, by which their
     * grants are known
     */
    leftPrefix: `${tag}:left:`,
    /** Prefix of the keys of its accounts' hashes. */
    accountPrefix: `${tag}:account:`,
    /** hash: how far the daily walk through its accounts' histories is: day it began, last hubId done, or that it is over */
    tended: `${tag}:tended`,
    /** hash: alert -> its newest transition, see `lua/include/append-transitions.lua`; until it is over and all know that */
    news: `${tag}:news`,
    /**
     * zset: alert whose newest transition some receiver may not have been sent -> its next check, ms; below 0: new
     * since then
     */
    newsDue: `${tag}:news-due`,
    /** stream, capped: the newest transitions that were committed */
    log: `${tag}:log`,
    /** stream, capped: the newest connects, reconnects and uninstalls of its accounts */
    accountLog: `${tag}:account-log`,
    /** stream: what happened to its accounts, until the receivers that want to know have it on its way */
    accountEvents: `${tag}:account-events`,
    /** stream: acknowledgements of its alerts, likewise: they wait for their alert to be sent */
    acknowledgements: `${tag}:acknowledgements`,
  }
}

/** Key under which an unreadable value is kept for a while. */
export const asideOf = (key: string): string => `${key}:unreadable`

function accountKeys(tag: string, hubId: number) {
  return {
    /** hash: state, generation, times and last outcomes, all short */
    account: `${tag}:account:${hubId}`,
    /** hash: the encrypted refresh tokens and the granted scopes */
    tokens: `${tag}:tokens:${hubId}`,
    /** string: `generation obtainedAt expiresAt domain`, a line's end, the encrypted access token */
    access: `${tag}:access:${hubId}`,
    /** string: what polls know of it, with the numbers of the last reports, see `packed-watch.ts` */
    watch: `${tag}:watch:${hubId}`,
    /** string, expires: the records behind them, packed */
    samples: `${tag}:samples:${hubId}`,
    /** list: one packed record per poll that saw a change or ended a gap, oldest first */
    history: `${tag}:history:${hubId}`,
    /** hash: series -> state of its alert */
    alerts: `${tag}:alerts:${hubId}`,
    /** string: how fast its series move, computed once a day, and what was foretold of those near their limit (JSON) */
    forecast: `${tag}:forecast:${hubId}`,
    /** string: until when no call is made for the account, ms; ends with the pause */
    paused: `${tag}:paused:${hubId}`,
  }
}

/** Members of a list of accounts. A member that is no hub id was not written by Plimsoll: it is skipped. */
export function hubIdsIn(members: readonly string[]): number[] {
  return members.filter((member) => /^\d{1,16}$/.test(member)).map(Number)
}
