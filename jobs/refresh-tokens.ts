import type { Metrics } from '../src/runtime/metrics.ts'
import { type RefreshDeps, type RefreshOutcome, refreshAccount } from '../src/tokens/refresh-account.ts'
import { type EachAccountDeps, eachAccount } from './each-account.ts'
import type { ChunkJob, Queues } from './queues.ts'

export interface RefreshOneDeps extends RefreshDeps {
  queues: Queues
  metrics: Metrics
}

export interface RefreshTokensDeps extends RefreshOneDeps, EachAccountDeps {}

/** A chunk of accounts whose tokens are due. */
export function refreshTokens(deps: RefreshTokensDeps, { hubIds }: ChunkJob, signal: AbortSignal): Promise<void> {
  return eachAccount(deps, 'refresh', hubIds, signal, async (hubId) => {
    await refreshOne(deps, hubId)
  })
}

/** One account, counted, and told where somebody must act; also for whoever asks for a token between two ticks. */
export async function refreshOne(deps: RefreshOneDeps, hubId: number, refused?: string): Promise<RefreshOutcome> {
  const outcome = await refreshAccount(deps, hubId, refused)
  deps.metrics.refreshes.inc({ outcome: outcome.is })
  if (outcome.is === 'refreshed' && outcome.expired) {
    deps.metrics.tokensExpired.inc()
    deps.log.warn({ code: 'token.expired', hubId, lateMs: outcome.lateMs }, 'the token had expired before its refresh')
  }
  if (outcome.is === 'failed' && outcome.reauthorize) await deps.queues.wake('alerts', deps.clock.now())
  return outcome
}
