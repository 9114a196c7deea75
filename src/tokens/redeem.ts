import type { TokenAnswer } from '../provider/answers.ts'
import type { ProviderClient } from '../provider/client.ts'
import type { ProviderResult } from '../provider/failure.ts'
import type { AlertWrites } from '../redis/steps.ts'
import type { InFlight } from '../runtime/concurrency.ts'
import type { Secret } from '../runtime/secret.ts'
import { isElsewhere, type RefreshFailure } from './after-failure.ts'
import type { PutAside, TokenDeps } from './pending-tokens.ts'
import { hasNoTokenYet, planRefresh, type RefreshSettings, type TokenTimes } from './plan-refresh.ts'
import type { AnswerToStore, ClaimedRefresh, RefreshContext } from './token-store.ts'
import { openToken } from './vault.ts'

export interface RedeemDeps extends TokenDeps {
  provider: Pick<ProviderClient, 'refresh'>
  settings: RefreshSettings
  inFlight: InFlight
  /** How long one call to the provider may take. */
  callMs: number
  putAside?: PutAside
}

/** With the current refresh token, and with the one before, if the current one is refused. */
const CALLS = 2

/** How long a refresh has its account, ms: longer than its calls may take. Where its worker dies, it is due again then. */
export function refreshClaimMs(callMs: number): number {
  const besideMs = Math.min(Math.max(callMs / 2, 1_000), 5_000)
  return Math.round(CALLS * callMs + besideMs)
}

/** A refresh token to redeem, of an account that was claimed. */
export interface RedeemJob extends ClaimedRefresh {
  context: Pick<RefreshContext, 'version' | 'refreshToken' | 'previousTokens' | 'state' | 'times' | 'mayBeForeign'>
  /** Alerts that are reported when it works. */
  recovered: AlertWrites
}

/** The outcome of redeeming a token. */
export type Redeemed =
  | {
      /**
       * - `lost`: newer tokens were stored first; those count.
       * - `uninstalled`: the account was uninstalled first.
       */
      is: 'stored' | 'lost' | 'uninstalled'
      /** When the request went out. */
      sentAt: number
      /** From the provider's answer until it was stored, ms. */
      unstoredMs: number
      /** Another refresh token came back: the one that was sent is good for nothing any more. */
      rotated: boolean
    }
  | { is: 'failed'; failure: RefreshFailure }
  /** Too little of the claim was left for a request: none was made. */
  | { is: 'too-late' }
  /** The process ended before Redis took the answer: it is sealed, for the next start. */
  | { is: 'left' }

/**
 * From the refresh token to the stored answer: a break in between may lose the account. The tokens before the last one are kept
 * until it has worked: that this one is refused is the case for them.
 */
export async function redeemAndStore(deps: RedeemDeps, job: RedeemJob): Promise<Redeemed> {
  const { refreshToken, previousTokens } = job.context
  const opened = openToken(deps.vault, refreshToken, job.hubId, 'refresh')
  if (!opened.ok) return { is: 'failed', failure: opened.failure }
  const current = opened.value
  let outcome = await redeem(deps, job, { sent: current, current }, CALLS)
  if (!isRefused(outcome)) return outcome
  for (const sealed of previousTokens) {
    const before = openToken(deps.vault, sealed, job.hubId, 'refresh')
    if (!before.ok) outcome = { is: 'failed', failure: before.failure }
    // A provider may give one token for all grants of an account.
    if (!before.ok || isSame(before.value, current)) continue
    const redeemed = await redeem(deps, job, { sent: before.value, current }, 1)
    // The refusals took all the time there was.
    if (redeemed.is === 'too-late') return outcome
    // Only a refusal counts as refused; that another token could not be tried just now is no answer.
    if (!isRefused(redeemed)) return redeemed
  }
  return outcome
}

function isRefused(redeemed: Redeemed): boolean {
  if (redeemed.is !== 'failed' || redeemed.failure.class !== 'rejected') return false
  return !isElsewhere(redeemed.failure)
}

/** The refresh token that is redeemed, and the one that is stored. */
export interface Sent {
  sent: Secret
  current: Secret
}

/** `calls`: as many as must have time yet. */
async function redeem(deps: RedeemDeps, job: RedeemJob, tokens: Sent, calls: number): Promise<Redeemed> {
  const { clock, inFlight, pending, callMs } = deps
  const place = inFlight.enter('urgent')
  if (place !== undefined) await place
  let sentAt: number
  let result: ProviderResult<TokenAnswer>
  try {
    // The call may have waited for its turn: a token that another worker has redeemed since must not be sent again. A provider
    // may take that for theft, and end the account's whole grant.
    if (job.age() + calls * callMs >= refreshClaimMs(callMs)) return { is: 'too-late' }
    sentAt = clock.now()
    result = await deps.provider.refresh(tokens.sent)
  } finally {
    inFlight.leave()
  }
  if (!result.ok) return { is: 'failed', failure: result.failure }
  const answeredAt = clock.now()
  const is = await pending.store(answerToStore(deps.settings, job, tokens, sentAt, result.value), deps.putAside)
  if (is === 'left') return { is }
  const rotated = !isSame(result.value.refreshToken ?? tokens.sent, tokens.sent)
  return { is, sentAt, unstoredMs: clock.now() - answeredAt, rotated }
}

export function answerToStore(
  settings: RefreshSettings,
  { hubId, claim, context, recovered }: Omit<RedeemJob, 'age'>,
  { sent, current }: Sent,
  sentAt: number,
  answer: TokenAnswer,
): AnswerToStore {
  const { version, state } = context
  const times: TokenTimes = { obtainedAt: sentAt, expiresAt: sentAt + answer.lifetimeMs }
  const next = answer.refreshToken ?? sent
  return {
    hubId,
    claim,
    version,
    access: answer.accessToken,
    // Written only where it is another one: most providers return the same, and encrypting it again would be for nothing.
    refresh: isSame(next, current) ? undefined : next,
    isOfPrevious: !isSame(sent, current) && !isSame(next, sent),
    mayBeForeign: context.mayBeForeign,
    times,
    refreshAt: planRefresh(hubId, times, settings).dueAt,
    // An account whose tokens did not work, or that had none, is not polled.
    pollAt: hasNoTokenYet(context.times) || state === 'reauthorize' || state === 'parked' ? sentAt : 'unchanged',
    alerts: recovered,
  }
}

function isSame(one: Secret, other: Secret): boolean {
  return one.reveal() === other.reveal()
}
