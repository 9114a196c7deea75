import type { TokenAnswer } from '../provider/answers.ts'
import type { ProviderClient } from '../provider/client.ts'
import type { ProviderFailure } from '../provider/failure.ts'
import type { AlertWrites } from '../redis/steps.ts'
import type { Clock } from '../runtime/clock.ts'
import type { InFlight } from '../runtime/in-flight.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Secret } from '../runtime/secret.ts'
import type { Lease } from './lease.ts'
import { planRefresh, type RefreshSettings, type TokenTimes } from './plan-refresh.ts'
import type { NewTokens, TokenStore } from './token-store.ts'
import type { Vault } from './vault.ts'

export interface RedeemDeps {
  provider: Pick<ProviderClient, 'refresh'>
  tokens: TokenStore
  vault: Vault
  settings: RefreshSettings
  /** Accounts of this process whose new tokens Redis has refused to take so far: nobody may redeem the old ones. */
  unstored: Set<number>
  inFlight: InFlight
  clock: Clock
  log: Logger
}

/** A refresh token that is to be redeemed, by the one who has the account's lease. Plain data. */
export interface RedeemJob {
  hubId: number
  /** Who has the account's lease, and how long one is, ms. */
  owner: string
  leaseMs: number
  generation: string
  refreshToken: Buffer
  /** The one before, while its successor has not worked yet. */
  previousToken: Buffer | undefined
  /** Nobody polls the account: its tokens did not work, or it had none. */
  restartPoll: boolean
  /** What is told when it works. */
  recovered: AlertWrites
}

/** What came of it. Plain data. */
export type Redeemed =
  | {
      /**
       * - `lost`: somebody wrote newer tokens meanwhile; theirs count.
       * - `uninstalled`: the account was, meanwhile.
       */
      is: 'stored' | 'lost' | 'uninstalled'
      /** When the request went out. */
      sentAt: number
      expiresAt: number
      /** From the provider's answer until it was stored, ms. */
      unstoredMs: number
      /** Another refresh token came back: the one that was sent is good for nothing any more. */
      rotated: boolean
    }
  | { is: 'failed'; failure: ProviderFailure }
  /** The lease ended before the request was sent: somebody else may be at it. */
  | { is: 'too-late' }

/** From the refresh token to the stored answer: what must not be torn apart, or the account may be lost. */
export async function redeemAndStore(
  deps: RedeemDeps,
  job: RedeemJob,
  lease: Pick<Lease, 'isHeld'>,
): Promise<Redeemed> {
  const current = deps.vault.open(job.refreshToken, job.hubId, 'refresh')
  const first = await redeem(deps, current, lease)
  if (first === 'too-late') return { is: 'too-late' }
  if (first.result.ok) return storeAnswer(deps, job, { ...first, sent: current, current, answer: first.result.value })

  // The token before the last one is kept until its successor has worked: here is the case for it.
  if (first.result.failure.class === 'rejected' && job.previousToken !== undefined) {
    const previous = deps.vault.open(job.previousToken, job.hubId, 'refresh')
    const second = await redeem(deps, previous, lease)
    if (second === 'too-late') return { is: 'too-late' }
    if (second.result.ok) {
      return storeAnswer(deps, job, { ...second, sent: previous, current, answer: second.result.value })
    }
    // Only what was refused counts as refused; that the other one could not be asked just now is no answer.
    if (second.result.failure.class !== 'rejected') return { is: 'failed', failure: second.result.failure }
  }
  return { is: 'failed', failure: first.result.failure }
}

function redeem(deps: RedeemDeps, refreshToken: Secret, lease: Pick<Lease, 'isHeld'>) {
  return deps.inFlight.run('urgent', async () => {
    // It may have waited for its turn: a token that somebody else has redeemed meanwhile must not be sent again. A
    // provider may take that for theft, and end the account's whole grant.
    if (!lease.isHeld()) return 'too-late' as const
    const sentAt = deps.clock.now()
    return { sentAt, result: await deps.provider.refresh(refreshToken) }
  })
}

interface Answered {
  sentAt: number
  /** The refresh token that was redeemed, and the one that is stored. */
  sent: Secret
  current: Secret
  answer: TokenAnswer
}

async function storeAnswer(deps: RedeemDeps, job: RedeemJob, answered: Answered): Promise<Redeemed> {
  const { hubId, owner, generation, restartPoll, recovered } = job
  const { sentAt, sent, current, answer } = answered
  const times: TokenTimes = { obtainedAt: sentAt, expiresAt: sentAt + answer.lifetimeMs }
  const next = answer.refreshToken ?? sent
  const answeredAt = deps.clock.now()
  const is = await storeWithoutFail(deps, hubId, owner, {
    generation,
    access: deps.vault.seal(answer.accessToken, hubId, 'access'),
    // Sealed only where it is another one: most providers return the same, and sealing it again would be for nothing.
    refresh: isSame(next, current) ? undefined : deps.vault.seal(next, hubId, 'refresh'),
    times,
    refreshAt: planRefresh(hubId, times, deps.settings).dueAt,
    pollAt: restartPoll ? sentAt : 'unchanged',
    alerts: recovered,
  })
  const unstoredMs = deps.clock.now() - answeredAt
  return { is, sentAt, expiresAt: times.expiresAt, unstoredMs, rotated: !isSame(next, sent) }
}

function isSame(one: Secret, other: Secret): boolean {
  return one.reveal() === other.reveal()
}

/** A refused write is tried again four times a second for ten minutes: sooner than the next sweep comes by. */
const STORE_AGAIN_MS = 250
const STORE_ATTEMPTS = 2_400

/**
 * The provider may have ended the old refresh token already: these tokens exist nowhere but here. A connection that is
 * lost is waited for by the store itself; a Redis that refuses writes (out of memory, read-only, no replicas) is asked
 * again, loudly. It refuses to renew the lease too, so this process remembers by itself whom it is holding.
 */
async function storeWithoutFail(deps: RedeemDeps, hubId: number, owner: string, tokens: NewTokens) {
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
