import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { accountStepKeys } from '../redis/steps.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'

export interface PurgeDeps {
  store: Store
  keys: Keys
  clock: Clock
  log: Logger
}

/** Forgets an uninstalled account once its time is over. One that was connected again meanwhile is left alone. */
export async function purgeAccount(deps: PurgeDeps, hubId: number): Promise<'purged' | 'kept' | 'unknown'> {
  const shared = [...accountStepKeys(deps.keys, hubId), deps.keys.partition(deps.keys.partitionOf(hubId)).forgotten]
  // Whatever keys an account will ever have: none is to be left behind.
  const own: string[] = Object.values(deps.keys.account(hubId))
  const purged = await deps.store.purgeAccount(
    shared.length + own.length,
    ...[...shared, ...own],
    ...[hubId, deps.clock.now(), own.length],
  )
  if (purged === 'purged') deps.log.info({ code: 'account.forgotten', hubId }, 'uninstalled account forgotten')
  return purged
}
