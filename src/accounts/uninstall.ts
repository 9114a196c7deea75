import type { ProviderClient } from '../provider/client.ts'
import type { ProviderFailure } from '../provider/failure.ts'
import type { Store } from '../redis/connect.ts'
import { type AccountState, asideOf, type DueKind, type Keys } from '../redis/keys.ts'
import { type AlertWrites, NO_ACCOUNT, NO_ALERT_WRITES, stepJson, untilWritten } from '../redis/steps.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { isElsewhere, type RefreshFailure } from '../tokens/after-failure.ts'
import type { AnnouncedSubject } from '../tokens/refresh-account.ts'
import { openToken, type Vault } from '../tokens/vault.ts'
import type { UninstallBy } from './account.ts'
import type { Claimed } from './due-sets.ts'

/** The alerts about a refresh token that can't be deleted for long, and when it is deleted after all. */
export interface UninstallAnnouncer {
  /** Announces an uninstall that was asked for long ago, and whose refresh token can't be deleted. */
  undeleted(account: AnnouncedSubject, uninstall: { askedAt: number; reason: string }): AlertWrites
  deleted(account: AnnouncedSubject): AlertWrites
}

export interface UninstallDeps {
  provider: ProviderClient
  store: Store
  keys: Keys
  vault: Vault
  /** Closes the account's open alerts, from their states as stored. */
  closeAlerts: (
    account: { hubId: number; hubDomain: string },
    states: Record<string, string>,
    now: number,
  ) => AlertWrites
  announce: UninstallAnnouncer
  /** How long record and readings are kept after the end, ms. */
  uninstallKeepMs: number
  clock: Clock
  log: Logger
}

export interface UninstallRequest {
  by: UninstallBy
  reason: string
  /** With `evidence`: since when the refresh token is refused. The request is void once it is refused no more. */
  refusedSince?: number
}

/** Outcome of a refresh that failed. */
export interface FailedAttempt {
  failure: RefreshFailure
  state: AccountState
  /** The alert is new: there was no time yet to connect the account again. */
  alerted: boolean
  /** Since when the refresh token is refused. */
  rejectedAt: number | null
}

/**
 * An account that was never connected again, and whose refresh token is refused once more: after so long
 * that is an uninstall. A provider that does not answer, or refuses the app, is no evidence about the account; an account that is
 * in another data center exists.
 */
export function uninstallAfterRefusal(
  failed: FailedAttempt,
  afterMs: number | 'never',
  now: number,
): UninstallRequest | undefined {
  const { failure, state, alerted, rejectedAt } = failed
  if (afterMs === 'never' || rejectedAt === null || now - rejectedAt < afterMs) return undefined
  if (state !== 'reauthorize' || alerted || failure.class !== 'rejected') return undefined
  if (isElsewhere(failure)) return undefined
  const day = new Date(rejectedAt).toISOString().slice(0, 10)
  return { by: 'evidence', reason: `refresh token refused since ${day}`, refusedSince: rejectedAt }
}

/** `refuted`: it is connected since. */
export type BegunUninstall = 'begun' | 'already' | 'unknown' | 'refuted'

/** The tombstone: at once nothing works for this account any more. The rest is the job's. */
export async function beginUninstall(
  deps: Pick<UninstallDeps, 'store' | 'keys' | 'closeAlerts' | 'clock' | 'log'>,
  hubId: number,
  { by, reason, refusedSince }: UninstallRequest,
): Promise<BegunUninstall> {
  const { account, alerts } = deps.keys.account(hubId)
  // A refused token says nothing about a grant that waits for its account.
  const version = refusedSince === undefined ? await deps.store.takeIntent(deps.keys.own(NO_ACCOUNT)) : ''
  return untilWritten(`the uninstall of account ${hubId}`, async () => {
    const [hubDomain, states] = await Promise.all([deps.store.hget(account, 'hubDomain'), deps.store.hgetall(alerts)])
    const now = deps.clock.now()
    const begun = await deps.store.beginUninstall(
      deps.keys.own(hubId),
      hubId,
      now,
      reason,
      Object.keys(states).length,
      stepJson(deps.closeAlerts({ hubId, hubDomain: hubDomain ?? '' }, states, now)),
      by,
      refusedSince ?? '',
      version,
    )
    if (begun === 'begun') deps.log.info({ code: 'uninstall.begun', hubId, by, reason }, 'uninstall begun')
    return begun
  })
}

/** Why the token could not be deleted: the provider's answer, or that no key opens the token. */
type UninstallFailure = Pick<ProviderFailure, 'code' | 'message' | 'retryAfterMs'>

type UninstallOutcome =
  | { is: 'finished' | 'reconnected' }
  /** The time as an uninstalled account was over, or is not over yet. */
  | { is: 'purged' | 'kept' | 'unknown' }
  /** A refresh under way must end first, or left a token that must be deleted too. */
  | { is: 'again' }
  /** Connected again, or another worker was faster: this attempt's failure is no news. */
  | { is: 'lost' }
  /** `announced`: the alert about it was opened just now. */
  | { is: 'failed'; failure: UninstallFailure; at: number; announced: boolean }

/** One attempt to delete the refresh token (interface 4.4), tried until it works; later the account is forgotten. */
export async function runUninstall(deps: UninstallDeps, account: Claimed): Promise<UninstallOutcome> {
  const { hubId } = account
  const read = await deps.store.readUninstallBuffer(deps.keys.own(hubId), hubId)
  if (Array.isArray(read)) return deleteAndFinish(deps, readAttempt(account, read))
  const is = read.toString()
  if (is === 'over') return { is: await purgeAccount(deps, hubId) }
  if (is !== 'held') return { is: 'reconnected' }
  await planAt(deps, hubId, 'uninstall', deps.clock.now() + 1_000)
  return { is: 'again' }
}

const NOTHING = Buffer.alloc(0)

function readAttempt({ hubId, claim }: Claimed, read: readonly Buffer[]) {
  const [hubDomain, askedAt, attempts, tokenAlert, tokenOf, refresh = NOTHING, ...before] = read
  return {
    claim,
    subject: { hubId, hubDomain: String(hubDomain), tokenAlert: String(tokenAlert) },
    askedAt: Number(askedAt),
    attempts: Number(attempts),
    /** Stored refresh token; empty = there is none. */
    refresh,
    /**
     * Tokens to delete. Earlier ones may be alive still: each is kept until its successor has worked. A token that
     * belongs to another account stays with that account.
     */
    doomed: tokenOf?.length === 0 ? [...before, refresh].filter(({ length }) => length > 0) : [],
  }
}

type Attempt = ReturnType<typeof readAttempt>

async function deleteAndFinish(deps: UninstallDeps, attempt: Attempt): Promise<UninstallOutcome> {
  const { hubId } = attempt.subject
  let ending: 'deleted' | 'was-gone' = 'was-gone'
  for (const sealed of attempt.doomed) {
    const opened = openToken(deps.vault, sealed, hubId, 'refresh')
    if (!opened.ok) return recordFailure(deps, attempt, opened.failure)
    const deleted = await deps.provider.deleteRefreshToken(opened.value)
    if (!deleted.ok) return recordFailure(deps, attempt, deleted.failure)
    if (deleted.value === 'deleted') ending = deleted.value
  }
  const now = deps.clock.now()
  const finished = await deps.store.finishUninstall(
    deps.keys.own(hubId),
    hubId,
    now,
    attempt.refresh,
    ending,
    now + deps.uninstallKeepMs,
    stepJson(deps.announce.deleted({ ...attempt.subject, now })),
  )
  if (finished === 'again') return { is: 'again' }
  // The new connection may have been given the very token that was just deleted: a refresh now shows it.
  if (finished === 'reconnected') await planAt(deps, hubId, 'refresh', deps.clock.now())
  if (finished === 'finished') {
    deps.log.info({ code: 'uninstall.finished', hubId, ending }, 'refresh token deleted')
    if (deps.uninstallKeepMs === 0) await purgeAccount(deps, hubId)
  }
  return { is: finished }
}

async function planAt({ store, keys }: UninstallDeps, hubId: number, kind: DueKind, at: number): Promise<void> {
  await store.zadd(keys.due[kind], 'XX', at, hubId)
}

const HOUR = 3_600_000

async function recordFailure(
  deps: UninstallDeps,
  { subject, claim, askedAt, attempts }: Attempt,
  failure: UninstallFailure,
): Promise<UninstallOutcome> {
  const { hubId } = subject
  const now = deps.clock.now()
  const at = Math.round(now + (failure.retryAfterMs ?? Math.min(2_000 * 2 ** Math.min(attempts, 12), HOUR)))
  // The provider asked for a pause beyond the hour: no attempt at its end could report it.
  const isLong = now + (failure.retryAfterMs ?? 0) - askedAt >= HOUR
  const alerts = isLong
    ? deps.announce.undeleted({ ...subject, now }, { askedAt, reason: failure.message })
    : NO_ALERT_WRITES
  const recorded = await deps.store.recordUninstallFailure(
    deps.keys.own(hubId),
    hubId,
    claim,
    now,
    failure.message,
    at,
    stepJson(alerts),
  )
  if (recorded === 'lost') return { is: 'lost' }
  const facts = { hubId, reason: failure.code, attempts: attempts + 1 }
  deps.log.warn({ code: 'uninstall.failed', ...facts }, failure.message)
  return { is: 'failed', failure, at, announced: alerts.entries.length > 0 }
}

/** Forgets an uninstalled account once its time is over. One that was connected again meanwhile is left alone. */
export async function purgeAccount(
  deps: Pick<UninstallDeps, 'store' | 'keys' | 'clock' | 'log'>,
  hubId: number,
): Promise<'purged' | 'kept' | 'unknown'> {
  // All keys of an account: none is to be left behind.
  const own = Object.values(deps.keys.account(hubId)).flatMap((key) => [key, asideOf(key)])
  const purged = await deps.store.purgeAccount(deps.keys.own(hubId), hubId, deps.clock.now(), ...own)
  if (purged === 'purged') deps.log.info({ code: 'account.forgotten', hubId }, 'uninstalled account forgotten')
  return purged
}
