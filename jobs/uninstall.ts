import { runUninstall } from '../src/accounts/uninstall.ts'
import { ChunkClaims } from './chunk-claims.ts'
import { eachAccount } from './each-account.ts'
import type { UninstallWork } from './job-deps.ts'
import type { ChunkJob } from './queues.ts'

/** A chunk of accounts whose refresh token is to be deleted at the provider, or whose time as uninstalled ones is over. */
export function uninstall(deps: UninstallWork, chunk: ChunkJob, signal: AbortSignal): Promise<void> {
  return eachAccount(deps, new ChunkClaims(deps, { kind: 'uninstall', ...chunk }), signal, async (hubId) => {
    const outcome = await deps.movement.inHand('uninstall', hubId, () => runUninstall(deps, hubId))
    deps.metrics.uninstalls.inc({ outcome: outcome.is })
    const mayHaveSaidSo = outcome.is === 'finished' || (outcome.is === 'failed' && outcome.announced)
    if (mayHaveSaidSo) await deps.queues.wake('alerts', deps.clock.now())
  })
}
