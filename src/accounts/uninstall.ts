import type { ProviderClient } from '../provider/client.ts'
import type { ProviderFailure } from '../provider/failure.ts'
import type { Store } from '../redis/connect.ts'
import { asideOf, type Keys } from '../redis/keys.ts'
import { type AlertWrites, NO_ACCOUNT, NO_ALERT_WRITES, stepJson, untilWritten } from '../redis/steps.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { isElsewhere } from '../tokens/after-failure.ts'
import type { AnnouncedSubject, RefreshOutcome } from '../tokens/refresh-account.ts'
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

/** A refresh that failed. */
export type FailedAttempt = Omit<Extract<RefreshOutcome, { is: 'failed' }>, 'is'>

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

/**
 * `again`: a refresh under way left a token that must be deleted too. `lost`: another worker was faster. `kept`: its time as an
 * uninstalled account is not over.
 */
interface UninstallOutcome {
  is: Purged | 'finished' | 'failed' | 'again' | 'lost'
  /** The alert about one that failed was opened just now. */
  announced?: boolean
}

type Read = [tokens?: Record<string, Buffer>, record?: (string | null)[], tokenAlert?: string]

/** One attempt to delete the refresh token (interface 4.4), tried until it works; later the account is forgotten. */
export async function runUninstall(deps: UninstallDeps, { hubId, claim }: Claimed): Promise<UninstallOutcome> {
  const { store, keys, clock, log } = deps
  const { account, tokens, alerts } = keys.account(hubId)
  // At one moment: tokens of a new connection, or of another account, are never taken for those of the old one.
  const reading = store.multi().hgetallBuffer(tokens)
  reading.hmget(account, 'state', 'hubDomain', 'uninstallAskedAt', 'uninstallAttempts', 'tokenOf').hget(alerts, 'token')
  // Another type counts as nothing.
  const [held = {}, record = [], tokenAlert] = ((await reading.exec()) ?? []).map(
    ([, read]) => read ?? undefined,
  ) as Read
  const { refresh, scopes: _, ...previous } = held
  const [state, hubDomain, askedAt, attempts, tokenOf] = record
  if (state !== 'uninstalling') return { is: await purgeAccount(deps, hubId) }
  // Earlier ones may be alive: each is kept until its successor has worked. Those of another account stay with that account.
  const doomed = [...Object.values(previous), refresh].filter((one) => one !== undefined && tokenOf == null)
  const deleted = await deleteTokens(deps, hubId, doomed as Buffer[])
  const now = clock.now()
  const subject = { hubId, hubDomain: hubDomain ?? '', tokenAlert: tokenAlert ?? '', now }
  const next =
    deleted.is === 'failed'
      ? afterFailedDeletion(deps, subject, { askedAt: Number(askedAt), attempts: Number(attempts) }, deleted.failure)
      : { at: now + deps.uninstallKeepMs, reason: '', alerts: deps.announce.deleted(subject) }
  const is = await store.recordDeletion(
    keys.own(hubId),
    hubId,
    claim,
    now,
    refresh ?? '',
    deleted.is,
    next.reason,
    next.at,
    stepJson(next.alerts),
  )
  if (deleted.is === 'failed') {
    const { code: reason, message } = deleted.failure
    if (is === 'failed') log.warn({ code: 'uninstall.failed', hubId, reason, attempts: Number(attempts) + 1 }, message)
    return { is, announced: is === 'failed' && next.alerts.entries.length > 0 }
  }
  if (is === 'finished') {
    log.info({ code: 'uninstall.finished', hubId, ending: deleted.is }, 'refresh token deleted')
    if (deps.uninstallKeepMs === 0) await purgeAccount(deps, hubId)
  }
  return { is }
}

type Deleted = { is: 'deleted' | 'was-gone' } | { is: 'failed'; failure: UninstallFailure }

async function deleteTokens({ vault, provider }: UninstallDeps, hubId: number, sealed: Buffer[]): Promise<Deleted> {
  let is: 'deleted' | 'was-gone' = 'was-gone'
  for (const one of sealed) {
    const opened = openToken(vault, one, hubId, 'refresh')
    const deleted = opened.ok ? await provider.deleteRefreshToken(opened.value) : opened
    if (!deleted.ok) return { is: 'failed', failure: deleted.failure }
    if (deleted.value === 'deleted') is = 'deleted'
  }
  return { is }
}

const HOUR = 3_600_000

function afterFailedDeletion(
  { announce }: UninstallDeps,
  subject: AnnouncedSubject,
  { askedAt, attempts }: { askedAt: number; attempts: number },
  { message: reason, retryAfterMs }: UninstallFailure,
) {
  const { now } = subject
  const at = Math.round(now + (retryAfterMs ?? Math.min(2_000 * 2 ** Math.min(attempts, 12), HOUR)))
  // The provider asked for a pause beyond the hour: no attempt at its end could report it.
  const isLong = now + (retryAfterMs ?? 0) - askedAt >= HOUR
  return { at, reason, alerts: isLong ? announce.undeleted(subject, { askedAt, reason }) : NO_ALERT_WRITES }
}

type Purged = 'purged' | 'kept' | 'reconnected' | 'unknown'

/** Forgets an uninstalled account once its time is over. One that was connected again meanwhile is left alone. */
export async function purgeAccount(
  deps: Pick<UninstallDeps, 'store' | 'keys' | 'clock' | 'log'>,
  hubId: number,
): Promise<Purged> {
  // All keys of an account: none is to be left behind.
  const own = Object.values(deps.keys.account(hubId)).flatMap((key) => [key, asideOf(key)])
  const purged = await deps.store.purgeAccount(deps.keys.own(hubId), hubId, deps.clock.now(), ...own)
  if (purged === 'purged') deps.log.info({ code: 'account.forgotten', hubId }, 'uninstalled account forgotten')
  return purged
}
