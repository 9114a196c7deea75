import { runUninstall } from '../src/accounts/uninstall.ts'
import type { UninstallWork } from './job-deps.ts'
import { accountFailed, workOff } from './work-off.ts'

const AT_ONCE = 32
/** Until its call begins, and from its answer until that is written. */
const LONGEST_WAIT_MS = 20_000

/** Accounts whose refresh token is to be deleted at the provider, or whose time as uninstalled ones is over. */
export function uninstall(deps: UninstallWork, signal: AbortSignal): Promise<void> {
  const { due, clock, movement, metrics, queues } = deps
  return workOff(deps, signal, {
    atOnce: AT_ONCE,
    claim: (most) => due.claim('uninstall', most, deps.callMs + LONGEST_WAIT_MS),
    work: async (account) => {
      const outcome = await movement.inHand('uninstall', account.hubId, () => runUninstall(deps, account))
      metrics.uninstalls.inc({ outcome: outcome.is })
      if (outcome.is === 'finished' || outcome.announced) await queues.wake('alerts', clock.now())
    },
    failed: ({ hubId }, error) => accountFailed(deps, 'uninstall', hubId, error),
  })
}
