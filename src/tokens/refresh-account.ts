import type { ProviderClient } from '../provider/client.ts'
import type { Store } from '../redis/connect.ts'
import type { AccountState } from '../redis/keys.ts'
import { type AlertWrites, NO_ALERT_WRITES } from '../redis/steps.ts'
import {
  type AfterFailure,
  afterFailure,
  isElsewhere,
  type RefreshFailure,
  UNREADABLE_ANSWER,
} from './after-failure.ts'
import type { EndpointVerdict, TokenEndpoint } from './endpoint/token-endpoint.ts'
import { hasNoTokenYet, LONGEST_PAUSE_MS, latestRefresh, NEVER_MS, planRefresh } from './plan-refresh.ts'
import { type RedeemDeps, type Redeemed, redeemAndStore, refreshClaimMs } from './redeem.ts'
import { keepUnread } from './sealed-tokens.ts'
import type { ClaimedRefresh, ReadRefresh, RefreshContext } from './token-store.ts'

/** The alerts for an account whose tokens can no longer be refreshed, or can again. */
export interface TokenAnnouncer {
  /** The account has failed for long; its refreshes may work again without an operator. */
  failing(account: Omit<AnnouncedAccount, 'interruptedAt'>, reason: string): AlertWrites
  /** `isElsewhere`: the account is in another data center. */
  reauthorize(account: AnnouncedAccount, refusal: { message: string; isElsewhere: boolean }): AlertWrites
  /** The provider's answer could not be read: an operator must decide. */
  unreadable(account: AnnouncedSubject, reason: string): AlertWrites
  recovered(account: AnnouncedSubject): AlertWrites
  /** The account's refresh token belongs to the account `owner`. */
  foreign(account: AnnouncedSubject, owner: number): AlertWrites
}

export interface AnnouncedSubject {
  hubId: number
  hubDomain: string
  /** State of the account's token alert as stored, '' = none. */
  tokenAlert: string
  now: number
}

export interface AnnouncedAccount extends AnnouncedSubject {
  /** When a refresh last worked. */
  refreshedAt: number
  expiresAt: number
  /** When a refresh of it broke off: the provider's answer may be lost. Null = never. */
  interruptedAt: number | null
}

export interface RefreshDeps extends RedeemDeps {
  provider: ProviderClient
  store: Store
  dataDir: string
  /** The door to the provider's token endpoint. */
  endpoint: TokenEndpoint
  announce: TokenAnnouncer
  random: () => number
}

export type RefreshOutcome =
  | {
      is: 'refreshed'
      /** The account was imported: the provider must name the account of its new tokens next. */
      isUnidentified: boolean
      lateMs: number
      expired: boolean
      /** From the provider's answer until it was stored, ms: a process that dies in between may take the answer along. */
      unstoredMs: number
      /** Time left in the access token's life, ms, below 0: it had expired; null where none was kept alive. */
      leftMs: number | null
    }
  /** Not due: another worker was faster; or the provider did not name the account of its tokens. */
  | { is: 'fresh'; isUnidentified: boolean }
  /** Another worker is at it. */
  | { is: 'held' }
  /** Unknown, or being uninstalled. */
  | { is: 'gone' }
  /** Newer tokens were stored first; those count. */
  | { is: 'lost' }
  /** The token endpoint is closed to all accounts until then. */
  | { is: 'waiting'; until: number }
  /** `alerted`: an alert was committed. */
  | { is: 'failed'; failure: RefreshFailure; state: AccountState; alerted: boolean; rejectedAt: number | null }

/** The reason for a refresh. */
export interface Occasion {
  /** The version of tokens that seem good still but were refused, or are about to expire: they are refreshed although not due. */
  refused?: string | undefined
  /** An operator asks for it: also where the refresh token waits for that. */
  isDecided?: boolean
  /** The place in line of the job that the account was claimed by, and what it found. */
  batch?: number
  claimed?: ReadRefresh
}

/** Refreshes one account, if it is due and no other worker has it: claim, redeem, store. */
export async function refreshTokensOf(
  deps: RefreshDeps,
  hubId: number,
  { refused, isDecided = false, batch, claimed }: Occasion = {},
): Promise<RefreshOutcome> {
  if (deps.pending.has(hubId)) return { is: 'held' }
  const admission = await deps.endpoint.enter(batch)
  if (admission.is === 'closed') return { is: 'waiting', until: admission.until }
  const { context, ...ours } = claimed ?? (await claimOne(deps, hubId))
  if (context === 'held' || context === 'gone' || context instanceof Error) {
    deps.endpoint.leave()
    if (context instanceof Error) throw context
    return { is: context }
  }
  const now = deps.clock.now()
  const attempt = attemptAt(deps, ours, context, now)
  const planned = isDecided && context.retryAt === NEVER_MS ? now : plannedAt(attempt, refused, now)
  if (now < planned) return leaveUntil(deps, attempt, planned, now)
  if (context.interruptedAt !== null) {
    const died = new Date(context.interruptedAt).toISOString()
    deps.log.warn({ code: 'token.interrupted', hubId, died }, 'a refresh of this account broke off')
  }
  // A process that hung for longer than its claim must not begin with the account anew: another worker may have it.
  const redeemed = deps.pending.has(hubId)
    ? ({ is: 'too-late' } as const)
    : await deps.pending.hold(hubId, () => redeemAndStore(deps, attempt))
  return redeemed.is === 'stored' ? refreshed(deps, attempt, redeemed) : await outcomeOf(deps, attempt, redeemed)
}

function claimOne({ tokens, callMs }: RefreshDeps, hubId: number): Promise<ReadRefresh> {
  const failed = (context: Error) => ({ hubId, claim: 0, age: () => 0, context })
  return tokens.claimOne(hubId, refreshClaimMs(callMs)).catch(failed)
}

/** Nothing is to be done: the account is put where its plan says. */
async function leaveUntil(deps: RefreshDeps, { hubId, claim, context }: Attempt, planned: number, now: number) {
  deps.endpoint.leave()
  const isUnidentified = canBeIdentified(context)
  const again = planned === NEVER_MS ? now + LONGEST_PAUSE_MS : planned
  await deps.tokens.leave(hubId, claim, isUnidentified ? Math.min(again, askedAgainAt(context, now)) : again)
  return { is: 'fresh' as const, isUnidentified }
}

/**
 * After a failure the next attempt has a moment of its own, or none; earlier callers do not try. Tokens that were stored without a
 * refresh leave an alert open: the next refresh ends it.
 */
function plannedAt({ context, dueAt }: Attempt, refused: string | undefined, now: number): number {
  if (context.retryAt === NEVER_MS) return NEVER_MS
  const isAskedFor = refused === context.version || context.tokenAlert !== ''
  const planned = context.retryAt ?? (isAskedFor ? 0 : dueAt)
  return planned > latestRefresh(context.state, context.times, now) ? now : planned
}

function canBeIdentified({ isUnidentified, times, retryAt }: RefreshContext): boolean {
  return isUnidentified && !hasNoTokenYet(times) && retryAt === null
}

/**
 * An answer may take a while. Later waits are as long as the time without an answer: not every account is asked for all the
 * time.
 */
const LEAST_UNIDENTIFIED_MS = 15_000

function askedAgainAt({ times }: RefreshContext, now: number): number {
  return now + Math.max(LEAST_UNIDENTIFIED_MS, now - times.obtainedAt)
}

interface Attempt extends ClaimedRefresh {
  context: RefreshContext
  /** When its plan had it refreshed, ms. */
  dueAt: number
  /** Alerts that are reported when it works. */
  recovered: AlertWrites
}

function attemptAt(deps: RefreshDeps, claimed: ClaimedRefresh, context: RefreshContext, now: number): Attempt {
  const { dueAt } = planRefresh(claimed.hubId, context.times, deps.settings)
  const attempt = { ...claimed, context, dueAt, recovered: NO_ALERT_WRITES }
  // Nearly always there is none.
  if (context.tokenAlert !== '') attempt.recovered = deps.announce.recovered({ ...announced(attempt), now })
  return attempt
}

async function outcomeOf(deps: RefreshDeps, attempt: Attempt, redeemed: Redeemed): Promise<RefreshOutcome> {
  if (redeemed.is === 'left') return { is: 'held' }
  if (redeemed.is === 'too-late') {
    deps.endpoint.leave()
    await deps.tokens.leave(attempt.hubId, attempt.claim, deps.clock.now())
    return { is: 'held' }
  }
  if (redeemed.is === 'failed') return recordFailure(deps, attempt, withKept(deps, attempt, redeemed.failure))
  deps.endpoint.succeeded(redeemed)
  return { is: redeemed.is === 'uninstalled' ? 'gone' : 'lost' }
}

function refreshed(
  deps: RefreshDeps,
  { hubId, context, dueAt }: Attempt,
  redeemed: Extract<Redeemed, { is: 'stored' | 'lost' | 'uninstalled' }>,
): RefreshOutcome {
  const { sentAt, unstoredMs } = redeemed
  deps.endpoint.succeeded(redeemed)
  if (context.state !== 'active') {
    deps.log.info({ code: 'token.recovered', hubId, before: context.state }, 'the account is active again')
  }
  const isFirst = hasNoTokenYet(context.times)
  return {
    is: 'refreshed',
    isUnidentified: context.isUnidentified || context.hubDomain.trim() === '',
    lateMs: isFirst ? 0 : Math.max(0, sentAt - dueAt),
    expired: !isFirst && context.state === 'active' && sentAt >= context.times.expiresAt,
    unstoredMs,
    leftMs: isFirst || !isKeptAlive(context.state) ? null : context.times.expiresAt - sentAt,
  }
}

/** The others wait: for the moment that the provider named, or for their customers to connect them again. */
function isKeptAlive(state: AccountState): boolean {
  return state === 'active' || state === 'failing'
}

/** An answer that can't be read may hold the only refresh token that works, unless it is known that they do not rotate. */
function withKept(deps: RefreshDeps, { hubId, context }: Attempt, failure: RefreshFailure): RefreshFailure {
  if (!('unread' in failure && failure.unread !== undefined && deps.endpoint.mayRotate)) return failure
  const { unread, message, ...others } = failure
  const kept = keepUnread(deps, deps.dataDir, { ...unread, holder: hubId, version: context.version })
  return {
    ...others,
    code: UNREADABLE_ANSWER,
    message: `the provider's answer could not be read (${message}); ${kept}`,
  }
}

async function recordFailure(deps: RefreshDeps, attempt: Attempt, failure: RefreshFailure): Promise<RefreshOutcome> {
  const { hubId, claim, context } = attempt
  const standing = await standingAfter(deps, attempt, failure)
  const now = deps.clock.now()
  const next = afterFailure({ hubId, ...context, failure, standing }, deps.settings, now, deps.random())
  const alerts = alertsFor(deps, attempt, next, { failure, now })
  const fields = { ...failureFields(next, failure, now), ...brokenOff(deps, context, failure, now) }
  const recorded = await deps.tokens.recordFailure(hubId, claim, context.version, { ...next, fields, alerts })
  if (recorded === 'lost') return { is: 'lost' }
  const reauthorize = next.alert === 'reauthorize'
  const isUnreadable = next.alert === UNREADABLE_ANSWER
  const isGrave = failure.class === 'client' || failure.class === 'unopened' || reauthorize || isUnreadable
  deps.log[isGrave ? 'error' : 'warn'](
    {
      code: `token.${reauthorize ? 'reauthorize' : isUnreadable ? 'unreadable' : failure.class}`,
      hubId,
      reason: failure.code,
      state: next.state,
    },
    failure.message,
  )
  const alerted = alerts.entries.length > 0
  return { is: 'failed', failure, state: next.state, alerted, rejectedAt: next.rejectedAt }
}

/** Failures of accounts that are known to be dead are no evidence about the endpoint. */
async function standingAfter(deps: RefreshDeps, { hubId, context }: Attempt, failure: RefreshFailure) {
  if (failure.class === 'unopened') {
    deps.endpoint.leave()
    return NOTHING_WRONG
  }
  if (context.state === 'reauthorize') return NOTHING_WRONG
  return deps.endpoint.failed(hubId, failure, hasNoTokenYet(context.times))
}

const NOTHING_WRONG: EndpointVerdict = { fleetTrouble: false, lastSuccessAt: 0, fleet: 0, until: 0 }

function alertsFor(
  deps: RefreshDeps,
  attempt: Attempt,
  next: AfterFailure,
  { failure, now }: { failure: RefreshFailure; now: number },
): AlertWrites {
  if (next.alert === 'none') return NO_ALERT_WRITES
  const account = { ...announced(attempt), now }
  if (next.alert === 'reauthorize')
    return deps.announce.reauthorize(account, { message: failure.message, isElsewhere: isElsewhere(failure) })
  if (next.alert === UNREADABLE_ANSWER) return deps.announce.unreadable(account, failure.message)
  return deps.announce.failing(account, failure.message)
}

function announced({ hubId, context }: Pick<Attempt, 'hubId' | 'context'>): Omit<AnnouncedAccount, 'now'> {
  const { hubDomain, refreshedAt, tokenAlert, interruptedAt, times } = context
  return { hubId, hubDomain, refreshedAt, tokenAlert, interruptedAt, expiresAt: times.expiresAt }
}

/** After a call without a readable answer the provider may have ended the token that we hold. */
function brokenOff(deps: RefreshDeps, { interruptedAt }: RefreshContext, failure: RefreshFailure, now: number) {
  const isUnanswered = failure.class !== 'unopened' && (failure.status === 0 || failure.status === 200)
  return deps.endpoint.rotates && isUnanswered && interruptedAt === null ? { interruptedAt: String(now) } : {}
}

function failureFields(next: AfterFailure, failure: RefreshFailure, now: number): Record<string, string> {
  return {
    failures: String(next.failures),
    failureClass: next.alert === UNREADABLE_ANSWER ? UNREADABLE_ANSWER : failure.class,
    failureReason: failure.message,
    failureAt: String(now),
    rejectedAt: next.rejectedAt === null ? '' : String(next.rejectedAt),
    retryAt: String(next.alert === UNREADABLE_ANSWER ? NEVER_MS : Math.round(next.refreshAt)),
    parkedUntil: next.state === 'parked' ? String(Math.round(next.refreshAt)) : '',
  }
}
