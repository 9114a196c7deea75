import type { ProviderClient } from '../provider/client.ts'
import type { ProviderFailure } from '../provider/failure.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { type AlertWrites, accountStepKeys, stepJson } from '../redis/steps.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { keepLease, newLeaseOwner, REFRESH_LEASE } from '../tokens/lease.ts'
import type { Vault } from '../tokens/vault.ts'

export interface UninstallDeps {
  provider: ProviderClient
  store: Store
  keys: Keys
  vault: Vault
  /** What closes the account's open alerts, from their states as stored. */
  closeAlerts: (
    account: { hubId: number; hubDomain: string },
    states: Record<string, string>,
    now: number,
  ) => AlertWrites
  clock: Clock
  log: Logger
}

/** The tombstone: at once nothing works for this account any more. The rest is the job's. */
export async function beginUninstall(
  deps: Pick<UninstallDeps, 'store' | 'keys' | 'closeAlerts' | 'clock' | 'log'>,
  hubId: number,
  reason: string,
): Promise<'begun' | 'already' | 'unknown'> {
  const { account, alerts } = deps.keys.account(hubId)
  for (;;) {
    const [hubDomain, states] = await Promise.all([deps.store.hget(account, 'hubDomain'), deps.store.hgetall(alerts)])
    const now = deps.clock.now()
    const begun = await deps.store.beginUninstall(
      ...accountStepKeys(deps.keys, hubId),
      ...[hubId, now, reason, Object.keys(states).length],
      stepJson(deps.closeAlerts({ hubId, hubDomain: hubDomain ?? '' }, states, now)),
    )
    if (begun === 'stale') continue
    if (begun === 'begun') deps.log.info({ code: 'uninstall.begun', hubId, reason }, 'uninstall begun')
    return begun
  }
}

export type UninstallOutcome =
  | { is: 'finished' | 'reconnected' }
  /** A refresh under way must end first, or left a token that must be deleted too. */
  | { is: 'again'; at: number }
  | { is: 'failed'; failure: ProviderFailure; at: number }

/** One attempt to delete the refresh token (interface 4.4) and forget the account; tried until it works. */
export async function runUninstall(deps: UninstallDeps, hubId: number): Promise<UninstallOutcome> {
  const { account, tokens, lease } = deps.keys.account(hubId)
  const owner = newLeaseOwner()
  const { longestMs } = REFRESH_LEASE
  if ((await deps.store.set(lease, owner, 'PX', longestMs, 'NX')) === null) return again(deps, hubId)

  const stopRenewing = keepLease(deps.store, lease, owner, longestMs)
  try {
    const [[state, tokenOf], sealed] = await Promise.all([
      deps.store.hmget(account, 'state', 'tokenOf'),
      deps.store.hgetBuffer(tokens, 'refresh'),
    ])
    // A token that belongs to another account is that account's to keep.
    if (state === 'uninstalling' && sealed !== null && tokenOf == null) {
      const deleted = await deps.provider.deleteRefreshToken(deps.vault.open(sealed, hubId, 'refresh'))
      if (!deleted.ok) return await recordFailure(deps, hubId, deleted.failure)
    }
    return await finish(deps, hubId, sealed)
  } finally {
    stopRenewing()
    await deps.store.releaseLease(lease, owner)
  }
}

async function finish(deps: UninstallDeps, hubId: number, deleted: Buffer | null): Promise<UninstallOutcome> {
  const finished = await deps.store.finishUninstall(
    ...accountStepKeys(deps.keys, hubId),
    ...[hubId, deps.clock.now(), deleted ?? ''],
  )
  if (finished === 'again') return { is: 'again', at: deps.clock.now() }
  // The new connection may have been given the very token that was just deleted: a refresh now tells.
  if (finished === 'reconnected') await refreshNow(deps, hubId)
  if (finished === 'finished') deps.log.info({ code: 'uninstall.finished', hubId }, 'refresh token deleted')
  return { is: finished }
}

async function refreshNow(deps: UninstallDeps, hubId: number): Promise<void> {
  const due = deps.keys.partition(deps.keys.partitionOf(hubId)).due.refresh
  await deps.store.zadd(due, 'XX', deps.clock.now(), hubId)
}

async function again(deps: UninstallDeps, hubId: number): Promise<UninstallOutcome> {
  const at = deps.clock.now() + 1_000
  await plan(deps, hubId, at)
  return { is: 'again', at }
}

async function recordFailure(deps: UninstallDeps, hubId: number, failure: ProviderFailure): Promise<UninstallOutcome> {
  const { account } = deps.keys.account(hubId)
  const failures = await deps.store.hincrby(account, 'uninstallFailures', 1)
  const at = deps.clock.now() + (failure.retryAfterMs ?? Math.min(2_000 * 2 ** Math.min(failures - 1, 12), 3_600_000))
  await Promise.all([deps.store.hset(account, 'uninstallFailureReason', failure.message), plan(deps, hubId, at)])
  deps.log.warn({ code: 'uninstall.failed', hubId, reason: failure.code, failures }, failure.message)
  return { is: 'failed', failure, at }
}

async function plan(deps: UninstallDeps, hubId: number, at: number): Promise<void> {
  const due = deps.keys.partition(deps.keys.partitionOf(hubId)).due.uninstall
  await deps.store.zadd(due, 'XX', Math.round(at), hubId)
}
