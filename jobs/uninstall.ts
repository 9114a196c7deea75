import { runUninstall, type UninstallDeps } from '../src/accounts/uninstall.ts'
import type { Metrics } from '../src/runtime/metrics.ts'
import { type EachAccountDeps, eachAccount } from './each-account.ts'
import type { ChunkJob } from './queues.ts'

export interface UninstallJobDeps extends UninstallDeps, EachAccountDeps {
  metrics: Metrics
}

/** A chunk of accounts whose refresh token is to be deleted at the provider. */
export function uninstall(deps: UninstallJobDeps, { hubIds }: ChunkJob, signal: AbortSignal): Promise<void> {
  return eachAccount(deps, 'uninstall', hubIds, signal, async (hubId) => {
    const outcome = await runUninstall(deps, hubId)
    deps.metrics.uninstalls.inc({ outcome: outcome.is })
  })
}
