import type { Tags } from '../accounts/match-account.ts'
import type { SilenceStore } from '../alerts/silence-store.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import type { CheckBounds } from '../checks/facts.ts'
import type { Metrics } from '../runtime/metrics.ts'
import type { ViewDeps } from '../views/view-deps.ts'
import type { Actions } from './actions.ts'

/** Services of operations. A function takes those that it uses. */
export interface OperationDeps extends ViewDeps {
  /** The names of all accounts, for searching. */
  /** The config's names for some accounts. */
  tags: Tags
  silences: SilenceStore
  /** The address at which people reach this server. */
  publicUrl: string
  bounds: CheckBounds
  metrics: Metrics
  /** Actions write to it themselves. */
  audit: AuditLog
  actions: Actions
  /** Aborts when the process ends. */
  stop: AbortSignal
}
