import type { TokenAnswer } from '../provider/answers.ts'
import type { ProviderClient } from '../provider/client.ts'
import type { ProviderResult } from '../provider/failure.ts'
import type { AlertWrites } from '../redis/steps.ts'
import type { InFlight } from '../runtime/concurrency.ts'
import type { Secret } from '../runtime/secret.ts'
import type { RefreshFailure } from './after-failure.ts'
import { hasNoTokenYet, planRefresh, type RefreshSettings, type TokenTimes } from './plan-refresh.ts'
import type { AnswerToStore, Lease, RefreshContext } from './token-store.ts'
import { type StoreAnswerDeps, storeAnswer } from './unstored.ts'
import { openToken } from './vault.ts'

export interface RedeemDeps extends StoreAnswerDeps {
  provider: Pick<ProviderClient, 'refresh'>
  settings: RefreshSettings
  inFlight: InFlight
}

/** A refresh token that is to be redeemed, by the one who has the account's lease. */
export interface RedeemJob {
  hubId: number
  owner: string
  context: Pick<RefreshContext, 'generation' | 'grants' | 'refreshToken' | 'previousToken' | 'state' | 'times'>
  /** What is reported when it works. */
  recovered: AlertWrites
}

/** What came of it. */
export type Redeemed =
  | {
      /**
       * - `lost`: newer tokens were stored meanwhile; those count.
       * - `uninstalled`: the account was, meanwhile.
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
  /** The lease ended before the request was sent: another worker may have the account. */
  | { is: 'too-late' }
  /** The process ended before Redis took the answer: it is sealed, for the next start. */
  | { is: 'left' }

/** From the refresh token to the stored answer: what must not be torn apart, or the account may be lost. */
export async function redeemAndStore(
  deps: RedeemDeps,
  job: RedeemJob,
  lease: Pick<Lease, 'isHeld'>,
): Promise<Redeemed> {
  const { refreshToken, previousToken } = job.context
  let [current, refusal]: [Secret?, RefreshFailure?] = []
  // The token before the last one is kept until its successor has worked: that this one is refused is the case for it.
  for (const sealed of previousToken === undefined ? [refreshToken] : [refreshToken, previousToken]) {
    const opened = openToken(deps.vault, sealed, job.hubId, 'refresh')
    if (!opened.ok) return { is: 'failed', failure: opened.failure }
    const sent = opened.value
    current ??= sent
    await deps.inFlight.enter('urgent')
    let [sentAt, result]: [number, ProviderResult<TokenAnswer>?] = [0]
    try {
      // It may have waited for its turn: a token that another worker has redeemed meanwhile must not be sent again. A
      // provider may take that for theft, and end the account's whole grant.
      if (!lease.isHeld()) return { is: 'too-late' }
      sentAt = deps.clock.now()
      result = await deps.provider.refresh(sent)
    } finally {
      deps.inFlight.leave()
    }
    if (result.ok) {
      const answeredAt = deps.clock.now()
      const kept = answerToStore(deps.settings, job, { sentAt, sent, current, answer: result.value })
      deps.unstored.keep(kept, deps.clock)
      const is = await storeAnswer(deps, kept)
      if (is === 'left') return { is }
      const rotated = !isSame(result.value.refreshToken ?? sent, sent)
      return { is, sentAt, unstoredMs: deps.clock.now() - answeredAt, rotated }
    }
    refusal ??= result.failure
    // Only what was refused counts as refused; that the other one could not be asked just now is no answer.
    if (result.failure.class !== 'rejected') return { is: 'failed', failure: result.failure }
  }
  return { is: 'failed', failure: refusal as RefreshFailure }
}

interface Answered {
  sentAt: number
  /** The refresh token that was redeemed, and the one that is stored. */
  sent: Secret
  current: Secret
  answer: TokenAnswer
}

function answerToStore(settings: RefreshSettings, job: RedeemJob, answered: Answered): AnswerToStore {
  const { hubId, owner, context, recovered } = job
  const { generation, grants, state } = context
  const { sentAt, sent, current, answer } = answered
  const times: TokenTimes = { obtainedAt: sentAt, expiresAt: sentAt + answer.lifetimeMs }
  const next = answer.refreshToken ?? sent
  return {
    ...{ hubId, owner, generation, grants, access: answer.accessToken },
    // Written only where it is another one: most providers return the same, and encrypting it again would be for nothing.
    refresh: isSame(next, current) ? undefined : next,
    isOfPrevious: !isSame(sent, current) && !isSame(next, sent),
    hadNoPrevious: context.previousToken === undefined,
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
