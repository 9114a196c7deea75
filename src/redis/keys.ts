/**
 * Every key of Plimsoll, in one place. All carry the tag `{prefix}`, as those of BullMQ do: any atomic step may touch any of
 * them, and in a Redis Cluster they are on one node. Two fleets are two prefixes.
 */

/** Work on accounts that travels in chunks. */
export type DueKind = 'refresh' | 'poll' | 'uninstall'
/** Sorted sets of accounts by when they are due. */
export type DueSet = DueKind | 'history'

export const ACCOUNT_STATES = ['active', 'failing', 'parked', 'reauthorize', 'uninstalling', 'uninstalled'] as const
export type AccountState = (typeof ACCOUNT_STATES)[number]

export type Keys = Readonly<ReturnType<typeof createKeys>>
export type AccountKeys = ReturnType<typeof accountKeys>

export function createKeys(prefix: string) {
  const tag = `{${prefix}}`
  return {
    prefix,
    account: (hubId: number) => accountKeys(tag, hubId),
    /**
     * The key that a step on an account declares. The other names are made by `lua/include/account-step.lua`: 17 names in every
     * call made a refresh a tenth dearer.
     */
    own: (hubId: number) => `${tag}:account:${hubId}`,
    ...fleetKeys(tag),
    ...sharedKeys(tag),
    /** Format of the data of development versions, whose other keys are not read. */
    formerFormat: `${prefix}:format`,
    /** Digests that come every day or week. zset: receiver -> when its last digest was made, ms; until there is one, since when it wants digests */
    digests: { sent: `${tag}:digests` },
    grants: grantKeys(tag),
    delivery: deliveryKeys(tag),
    /** BullMQ's own prefix. */
    queues: tag,
  }
}

/** Keys that all daemons share, and that belong to nothing below. */
function sharedKeys(tag: string) {
  return {
    /** string, expires: a code was sent with that state */
    usedInstallState: (nonce: string) => `${tag}:install:${nonce}`,
    /** string: how what is stored is to be read, a whole number */
    format: `${tag}:format`,
    /**
     * hash: what there is once:
     * - kind of a sweep: when one finished last, ms; `claims`: the latest claim; `set-back`: when what was planned was last brought forward
     * - `installation`: a random mark of what is stored as a whole; another one, or none, is not what a daemon began with
     * - `intent`: the last one that was given to an install, an import or an uninstall; see `takeIntent`
     * - `connectedAt`: when an account was connected last, ms
     * - `config`: the fingerprint of the config that a daemon started with last, or took over
     * - `endpoint`: what all workers know of the token endpoint (JSON)
     * - `closed-key:` and the id of a key that a rekey has closed: that rekey; no token is written under it
     */
    fleet: `${tag}:fleet`,
    /** hash: id of each key that stored values may be encrypted with -> a known value, encrypted with it */
    canaries: `${tag}:canaries`,
    /**
     * hash: daemon, or command that writes tokens -> its version, since when it runs, when it reported last, the fingerprint of its
     * config, the key that it encrypts with (JSON)
     */
    daemons: `${tag}:daemons`,
    /** hash: the last heartbeat that was sent: when, since when, the reasons, the outcome of the ping; the last period of each interval */
    heartbeat: `${tag}:heartbeat`,
    /** hash: day and name -> how many calls to the provider were answered, or failed, or forecasts ended so on that day; 30 days */
    dayCounts: `${tag}:day-counts`,
    /** hash: name -> what is known of a named admin token, its hash among it */
    adminTokens: `${tag}:admin-tokens`,
    /** stream, capped, expires: who did what in the last 90 days, one entry of JSON for each deed */
    audit: `${tag}:audit`,
    /** zset, expires: digest of a session that was signed out -> when it would have ended, ms */
    endedSessions: `${tag}:ended-sessions`,
  }
}

/** Installs that were granted and whose account is not known yet. */
function grantKeys(tag: string) {
  return {
    /** zset: grant -> when it is tried next, ms */
    due: `${tag}:due:grant`,
    /** hash: the encrypted tokens, their times and version */
    grant: (id: string) => `${tag}:grant:${id}`,
  }
}

function deliveryKeys(tag: string) {
  return {
    /**
     * zset: receiver -> when the first of its deliveries is due, or, with a fraction, until when one worker alone sends to it, ms. The
     * steps on deliveries declare it, and make the names of the others themselves.
     */
    receiversDue: `${tag}:due:receiver`,
    /** zset: delivery that has not arrived and was not given up -> next attempt, ms; those of one moment in their order */
    pending: (receiver: string) => `${tag}:pending:${receiver}`,
    /** hash: alert, account (`account=` with its id) or `digest` -> deliveries about it that have not arrived, the oldest first */
    lines: (receiver: string) => `${tag}:lines:${receiver}`,
    /** hash: alert -> what the receiver was sent of it last, or waits for (JSON); until three days after its end */
    known: (receiver: string) => `${tag}:known:${receiver}`,
    /**
     * zset, expires: groups, and series with their level, that the receiver was sent -> when, ms; no longer than the
     * groups' interval
     */
    recent: (receiver: string) => `${tag}:recent:${receiver}`,
    /** zset: alert that is held back from the receiver -> its next check, ms */
    held: (receiver: string) => `${tag}:held:${receiver}`,
    /** zset: alert that waits in a group of the receiver -> when that is sent, ms */
    grouped: (receiver: string) => `${tag}:grouped:${receiver}`,
    /** zset: receiver and alert that it waits for -> when that happened, ms */
    waiting: `${tag}:waiting`,
    /** zset: delivery of alerts that has not arrived and was not given up -> when the oldest of them happened, ms */
    underWay: `${tag}:under-way`,
    /** zset: id of a delivery that was given up -> when, ms */
    dead: `${tag}:dead`,
    /** zset: id of a delivery that arrived -> when, ms; kept for a week */
    delivered: `${tag}:delivered`,
    /** stream, capped: every attempt with its outcome */
    log: `${tag}:attempts`,
    /** hash: receiver -> why it is switched off */
    disabled: `${tag}:disabled`,
    /** zset: receiver -> when it was last seen in a config, ms; all that has keys here */
    receivers: `${tag}:receivers`,
    /** hash: the state of a receiver: lastDeliveredAt, failingSince, failures, lastReason, a mark of its address, pausedUntil */
    receiver: (name: string) => `${tag}:receiver:${name}`,
    /** hash: id -> a silence (JSON) */
    silences: `${tag}:silences`,
    /** hash, expires: when a mail that asks to connect the account again was last made, ms, and its delivery */
    reconnectMail: (hubId: number) => `${tag}:reconnect-mail:${hubId}`,
    /** hash: the message, attempts so far, the transitions that it carries */
    delivery: (id: string) => `${tag}:delivery:${id}`,
  }
}

/** Indexes of all accounts, and what happens to them. */
function fleetKeys(tag: string) {
  return {
    /** zset: hubId -> when it is due, ms */
    due: {
      refresh: `${tag}:due:refresh`,
      poll: `${tag}:due:poll`,
      uninstall: `${tag}:due:uninstall`,
      history: `${tag}:due:history`,
    },
    /** zset: hubId of a polled account -> its last reading, or begin of polling, plus what its period is longer than others', ms: no moment of a poll; absent where no scope lets it be read */
    fresh: `${tag}:fresh`,
    /** zset: hubId of an imported account -> 1 while it waits for its first reading, then 0 until all have theirs */
    firstReadings: `${tag}:first-readings`,
    /** zset: hubId -> since when its polls fail, ms */
    pollFailing: `${tag}:poll-failing`,
    /** zset, all at 0: domain in lower case and hubId of each account, those without a domain last; see `nameOf` */
    domains: `${tag}:domains`,
    /** zset: hubId -> how near its nearest limit is, below 0 where one is reached; only accounts that are near one */
    nearest: `${tag}:nearest`,
    /** zset: hubId -> when its access token ends, ms; only active accounts, which are kept alive */
    expiry: `${tag}:expiry`,
    /** zset per state: hubId -> hubId, so that a page of them is a range */
    state: Object.fromEntries(ACCOUNT_STATES.map((state) => [state, `${tag}:accounts:${state}`])) as Record<
      AccountState,
      string
    >,
    /** set: hubIds with an alert open or pending */
    alerting: `${tag}:alerting`,
    /** hash: alert -> its newest transition, see `lua/include/append-transitions.lua`; until three days after its end */
    news: `${tag}:news`,
    /** zset: alert for whose newest transition it is not decided yet what each receiver is sent -> since when, ms */
    unsent: `${tag}:unsent`,
    /** hash: unsent alert -> place of its news, and the configs by which it is decided, while daemons with others run */
    decided: `${tag}:decided`,
    /** zset: alert that is over -> when that was settled, ms; kept for three days */
    ended: `${tag}:ended`,
    /** string: how often what holds alerts back has changed: a silence, the config, an alert about all accounts */
    holdChanges: `${tag}:hold-changes`,
    /** stream, capped: the newest transitions that were committed */
    transitions: `${tag}:transitions`,
    /** stream, capped: the newest connects, reconnects and uninstalls of accounts */
    accountLog: `${tag}:account-log`,
    /** stream: what happened to accounts, until the receivers that want to know have it on its way */
    accountEvents: `${tag}:account-events`,
    /** hash: open alert -> its last acknowledgement (JSON) */
    acknowledged: `${tag}:acknowledged`,
    /** zset: acknowledged alert, when that is new or a receiver is sent the alert -> next check, ms */
    acknowledgementsDue: `${tag}:due:acknowledgement`,
  }
}

/** Key under which an unreadable value is kept for a while. */
export const asideOf = (key: string): string => `${key}:unreadable`

function accountKeys(tag: string, hubId: number) {
  return {
    /** hash: state, version, times and last outcomes, all short; of a forgotten account its version alone, which expires */
    account: `${tag}:account:${hubId}`,
    /** hash: the encrypted refresh tokens and the granted scopes */
    tokens: `${tag}:tokens:${hubId}`,
    /** string: `version obtainedAt expiresAt domain`, a line's end, the encrypted access token */
    access: `${tag}:access:${hubId}`,
    /** string: what polls know of it, with the numbers of the last reports, see `poll-state-text.ts` */
    poll: `${tag}:poll:${hubId}`,
    /** string, expires: the records behind them (JSON) */
    samples: `${tag}:samples:${hubId}`,
    /** list: what the polls changed or which gap they ended, oldest first, see `stored-changes.ts` */
    history: `${tag}:history:${hubId}`,
    /** hash: series -> state of its alert */
    alerts: `${tag}:alerts:${hubId}`,
    /** list: places of the newest transitions of its alerts in the log, oldest first */
    transitions: `${tag}:transitions:${hubId}`,
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
