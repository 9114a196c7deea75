import type { TokenAnswer } from '../provider/answers.ts'
import type { ProviderClient } from '../provider/client.ts'
import type { ProviderFailure } from '../provider/failure.ts'
import type { Store } from '../redis/connect.ts'
import type { AccountState } from '../redis/keys.ts'
import { type AlertWrites, NO_ALERT_WRITES } from '../redis/steps.ts'
import type { Clock } from '../runtime/clock.ts'
import type { InFlight } from '../runtime/in-flight.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Secret } from '../runtime/secret.ts'
import { afterFailure, type NextStep } from './after-failure.ts'
import type { Standing, TokenEndpoint } from './endpoint/token-endpoint.ts'
import { keepLease, newLeaseOwner } from './lease.ts'
import { hasNoTokenYet, planRefresh, type RefreshSettings, type TokenTimes } from './plan-refresh.ts'
import type { NewTokens, RefreshContext, TokenStore } from './token-store.ts'
import type { Vault } from './vault.ts'

/** What the alerts room says when an account's tokens can no longer be kept alive, or can again. */
export interface TokenAnnouncer {
  /** It has failed for long; it may come back by itself. */
  failing(account: AnnouncedAccount, reason: string): AlertWrites
  reauthorize(account: AnnouncedAccount, reason: string): AlertWrites
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
  /** When a worker died at a refresh of it: what the provider answered then may be lost. Null = never. */
  interruptedAt: number | null
}

export interface RefreshDeps {
  provider: ProviderClient
  tokens: TokenStore
  store: Store
  vault: Vault
  /** The door to the provider's token endpoint. */
  endpoint: TokenEndpoint
  announce: TokenAnnouncer
  settings: RefreshSettings
  /** Accounts of this process whose new tokens Redis has refused to take so far: nobody may redeem the old ones. */
  unstored: Set<number>
  inFlight: InFlight
  clock: Clock
  random: () => number
  log: Logger
}

export type RefreshOutcome =
  | {
      is: 'refreshed'
      late: boolean
      lateMs: number
      expired: boolean
      /** From the provider's answer until it was stored, ms: a process that dies in between may take the answer along. */
      unstoredMs: number
    }
  /** Not due: somebody else was faster. */
  | { is: 'fresh' }
  /** Another worker is at it. */
  | { is: 'held' }
  /** Unknown, or being uninstalled. */
  | { is: 'gone' }
  /** Somebody wrote newer tokens meanwhile; theirs count. */
  | { is: 'lost' }
  /** The token endpoint is closed to everybody until then. */
  | { is: 'waiting'; until: number }
  /** `alerted`: an alert was committed. */
  | { is: 'failed'; failure: ProviderFailure; state: AccountState; alerted: boolean; rejectedAt: number | null }

/**
 * Refreshes one account, if it is due and nobody else is at it: lease, redeem, store. `refused` is the generation of
 * tokens that look good still but were refused, or are about to expire: those are refreshed although they are not due.
 */
export async function refreshAccount(deps: RefreshDeps, hubId: number, refused?: string): Promise<RefreshOutcome> {
  if (deps.unstored.has(hubId)) return { is: 'held' }
  // Before the lease: nobody else is kept from the account while this worker stands in line.
  const admission = await deps.endpoint.enter()
  if (admission.is === 'closed') return { is: 'waiting', until: admission.until }
  const owner = newLeaseOwner()
  const begun = await deps.tokens.begin(hubId, owner, deps.clock.now())
  if (begun.is !== 'begun') {
    deps.endpoint.leave()
    return begun
  }
  const { context } = begun

  const { dueAt } = planRefresh(hubId, context.times, deps.settings)
  // After a failure the next attempt has a moment of its own, whoever comes along before it.
  const plannedAt = context.retryAt ?? (refused === context.generation ? 0 : dueAt)
  if (deps.clock.now() < plannedAt) {
    deps.endpoint.leave()
    await deps.tokens.leave(hubId, owner, plannedAt)
    return { is: 'fresh' }
  }
  if (context.interruptedAt !== null) {
    const died = new Date(context.interruptedAt).toISOString()
    deps.log.warn({ code: 'token.interrupted', hubId, died }, 'a worker died at the refresh of this account')
  }
  const stopRenewing = keepLease(deps.store, deps.tokens.leaseKey(hubId), owner, context.leaseMs)
  try {
    return await redeemAndStore(deps, { hubId, owner, context }, dueAt)
  } catch (error) {
    await deps.tokens.release(hubId, owner).catch(() => undefined) // It ends by itself; the first error is the news.
    throw error
  } finally {
    stopRenewing()
  }
}

async function redeemAndStore(deps: RefreshDeps, attempt: Attempt, dueAt: number): Promise<RefreshOutcome> {
  const { hubId, context } = attempt
  const current = deps.vault.open(context.refreshToken, hubId, 'refresh')
  const first = await redeem(deps, current)
  if (first.result.ok)
    return storeAnswer(deps, { ...attempt, dueAt, sentAt: first.sentAt, current }, first.result.value)

  // The token before the last one is kept until its successor has worked: here is the case for it.
  if (first.result.failure.class === 'rejected' && context.previousToken !== undefined) {
    const previous = deps.vault.open(context.previousToken, hubId, 'refresh')
    const { sentAt, result } = await redeem(deps, previous)
    if (result.ok) {
      const answer = { ...result.value, refreshToken: result.value.refreshToken ?? previous }
      return storeAnswer(deps, { ...attempt, dueAt, sentAt, current }, answer)
    }
    // Only what was refused counts as refused; that the other one could not be asked just now is no answer.
    if (result.failure.class !== 'rejected') return recordFailure(deps, attempt, result.failure)
  }
  return recordFailure(deps, attempt, first.result.failure)
}

function redeem(deps: RefreshDeps, refreshToken: Secret) {
  return deps.inFlight.run('urgent', async () => {
    const sentAt = deps.clock.now()
    return { sentAt, result: await deps.provider.refresh(refreshToken) }
  })
}

interface Attempt {
  hubId: number
  owner: string
  context: RefreshContext
}

async function storeAnswer(
  deps: RefreshDeps,
  attempt: Attempt & { dueAt: number; sentAt: number; current: Secret },
  answer: TokenAnswer,
): Promise<RefreshOutcome> {
  const { hubId, owner, context, sentAt } = attempt
  const times: TokenTimes = { obtainedAt: sentAt, expiresAt: sentAt + answer.lifetimeMs }
  deps.endpoint.succeeded()
  const isFirst = hasNoTokenYet(context.times)
  const stopped = isFirst || context.state === 'reauthorize' || context.state === 'parked'
  const answeredAt = deps.clock.now()
  const stored = await storeWithoutFail(deps, hubId, owner, {
    generation: context.generation,
    access: deps.vault.seal(answer.accessToken, hubId, 'access'),
    refresh: changedRefreshToken(deps, attempt, answer),
    times,
    refreshAt: planRefresh(hubId, times, deps.settings).dueAt,
    pollAt: stopped ? sentAt : 'unchanged',
    alerts: deps.announce.recovered({ ...announced(attempt), now: sentAt }),
  })
  if (stored === 'uninstalled') return { is: 'gone' }
  if (stored === 'lost') return { is: 'lost' }
  if (context.state !== 'active') {
    deps.log.info({ code: 'token.recovered', hubId, before: context.state }, 'the account is active again')
  }
  return {
    is: 'refreshed',
    late: !isFirst && sentAt >= planRefresh(hubId, context.times, deps.settings).lateAt,
    lateMs: isFirst ? 0 : Math.max(0, sentAt - attempt.dueAt),
    expired: !isFirst && context.state === 'active' && sentAt >= context.times.expiresAt,
    unstoredMs: deps.clock.now() - answeredAt,
  }
}

/** A refused write is tried again four times a second for ten minutes: sooner than the next sweep comes by. */
const STORE_AGAIN_MS = 250
const STORE_ATTEMPTS = 2_400

/**
 * The provider may have ended the old refresh token already: these tokens exist nowhere but here. A connection that is
 * lost is waited for by the store itself; a Redis that refuses writes (out of memory, read-only, no replicas) is asked
 * again, loudly. It refuses to renew the lease too, so this process remembers by itself whom it is holding.
 */
async function storeWithoutFail(deps: RefreshDeps, hubId: number, owner: string, tokens: NewTokens) {
  for (let attempt = 1; ; attempt++) {
    try {
      const stored = await deps.tokens.storeTokens(hubId, owner, tokens)
      deps.unstored.delete(hubId)
      return stored
    } catch (error) {
      deps.unstored.add(hubId)
      if (attempt % 20 === 1) {
        deps.log.error({ code: 'token.not-stored', hubId, attempt, err: error }, 'new tokens could not be stored yet')
      }
      if (attempt === STORE_ATTEMPTS) {
        deps.unstored.delete(hubId)
        throw error
      }
      await deps.clock.wait(STORE_AGAIN_MS)
    }
  }
}

/** Sealed only where it is another one: most providers return the same, and sealing it again would be for nothing. */
function changedRefreshToken(deps: RefreshDeps, attempt: Attempt & { current: Secret }, answer: TokenAnswer) {
  const { hubId, current } = attempt
  if (answer.refreshToken === undefined || answer.refreshToken.reveal() === current.reveal()) return undefined
  return deps.vault.seal(answer.refreshToken, hubId, 'refresh')
}

async function recordFailure(deps: RefreshDeps, attempt: Attempt, failure: ProviderFailure): Promise<RefreshOutcome> {
  const { hubId, owner, context } = attempt
  const standing = await standingAfter(deps, attempt, failure)
  const now = deps.clock.now()
  const next = afterFailure({ hubId, ...context, failure, standing }, deps.settings, now, deps.random())
  const alerts = alertsFor(deps, attempt, next, failure, now)
  const recorded = await deps.tokens.recordFailure(hubId, owner, {
    generation: context.generation,
    state: next.state,
    refreshAt: next.refreshAt,
    pollAt: next.pollAt,
    fields: failureFields(next, failure, now),
    alerts,
  })
  if (recorded === 'lost') return { is: 'lost' }
  const reauthorize = next.alert === 'reauthorize'
  const log = failure.class === 'client' || reauthorize ? 'error' : 'warn'
  deps.log[log](
    { code: `token.${reauthorize ? 'reauthorize' : failure.class}`, hubId, reason: failure.code, state: next.state },
    failure.message,
  )
  const alerted = alerts.messages.length > 0
  return { is: 'failed', failure, state: next.state, alerted, rejectedAt: next.rejectedAt }
}

/** Accounts that are known to be dead say nothing about the endpoint, except that they cost an error. */
async function standingAfter(deps: RefreshDeps, { hubId, context }: Attempt, failure: ProviderFailure) {
  if (context.state !== 'reauthorize') return deps.endpoint.failed(hubId, failure)
  deps.endpoint.noteOthers(0, 1)
  return NOTHING_WRONG
}

const NOTHING_WRONG: Standing = { fleetTrouble: false, lastSuccessAt: 0, fleet: 0, until: 0 }

function alertsFor(
  deps: RefreshDeps,
  attempt: Attempt,
  next: NextStep,
  failure: ProviderFailure,
  now: number,
): AlertWrites {
  if (next.alert === 'none') return NO_ALERT_WRITES
  return deps.announce[next.alert]({ ...announced(attempt), now }, failure.message)
}

function announced({ hubId, context }: Attempt): Omit<AnnouncedAccount, 'now'> {
  const { hubDomain, refreshedAt, tokenAlert, interruptedAt, times } = context
  return { hubId, hubDomain, refreshedAt, tokenAlert, interruptedAt, expiresAt: times.expiresAt }
}

function failureFields(next: NextStep, failure: ProviderFailure, now: number): Record<string, string> {
  return {
    failures: String(next.failures),
    failureClass: failure.class,
    failureReason: failure.message,
    failureAt: String(now),
    rejectedAt: next.rejectedAt === null ? '' : String(next.rejectedAt),
    retryAt: String(Math.round(next.refreshAt)),
    parkedUntil: next.state === 'parked' ? String(Math.round(next.refreshAt)) : '',
  }
}
