import type { CodeDeps } from '../accounts/connect-account.ts'
import type { InstallSettings } from '../accounts/install.ts'
import type { AckLinks } from '../alerts/acknowledge.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import type { Who } from '../audit/audited.ts'
import type { CheckBounds } from '../checks/facts.ts'
import type { HealthReport } from '../checks/health-report.ts'
import type { MailLinks } from '../delivery/describe/mail-links.ts'
import type { AttemptOutcome } from '../delivery/receiver.ts'
import type { Actions } from '../operations/actions.ts'
import type { OperationDeps } from '../operations/deps.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Metrics } from '../runtime/metrics.ts'
import type { AccessTokenAnswer } from '../tokens/access-token.ts'
import type { ViewDeps } from '../views/view-deps.ts'
import type { Brand } from './brand.ts'
import type { AfterInstall } from './pages/install/after-install.ts'

/** Services and actions of pages, API and metrics. A function takes those that it uses. */
export interface WebDeps extends OperationDeps, Pick<ViewDeps, 'queueDepths'> {
  ackLinks: AckLinks
  /** Links of an alert, as in its mails. */
  links: MailLinks
  install: InstallSettings & { marketplaceInstall: boolean }
  /** Undefined: a page reports the success. */
  afterInstall: AfterInstall | undefined
  /** Services that turn codes into accounts, and sign links. */
  connect: CodeDeps
  brand: Brand
  /** The address at which people reach this server. */
  publicUrl: string
  actions: WebActions
  health: () => Promise<HealthReport>
  bounds: CheckBounds
  /** The watch over the clock of this daemon. */
  daemon: { clockSteadyForMs(): number }
  /** The audit of sign-ins; `actions` write to it themselves. */
  audit: AuditLog
  metrics: Metrics
  log: Logger
}

/** Actions that only a daemon does. */
export interface WebActions extends Actions {
  /** The signed address that connects this account and no other. */
  reconnectLink(hubId: number, who: Who): { url: string }
  /** A valid access token, refreshed if need be on a connection that waits. */
  accessToken(hubId: number, who: Who): Promise<AccessTokenAnswer>
  /** Sends a test message; undefined: no receiver has this name. */
  testReceiver(name: string, who: Who): Promise<TestedReceiver | undefined>
}

export interface TestedReceiver {
  outcome: AttemptOutcome
  ms: number
  /** `enabled`: it was switched off before; `away`: without a Redis nothing could be noted. */
  noted: 'recorded' | 'enabled' | 'away'
  /** Advice after a failure. */
  fix: string | undefined
}
