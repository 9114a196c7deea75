import type { CodeDeps } from '../accounts/connect-account.ts'
import type { InstallSettings } from '../accounts/install.ts'
import type { AckLinks } from '../alerts/acknowledge.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import type { HealthReport } from '../checks/health-report.ts'
import type { MailLinks } from '../delivery/describe/mail-links.ts'
import type { OperationDeps } from '../operations/deps.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Brand } from './brand.ts'
import type { AfterInstall } from './pages/install/after-install.ts'

/** Services and actions of pages, API and metrics. A function takes those that it uses. */
export interface WebDeps extends OperationDeps {
  ackLinks: AckLinks
  /** Links of an alert, as in its mails. */
  links: MailLinks
  install: InstallSettings & { marketplaceInstall: boolean }
  /** Undefined: a page reports the success. */
  afterInstall: AfterInstall | undefined
  /** Services that turn codes into accounts, and sign links. */
  connect: CodeDeps
  brand: Brand
  health: () => Promise<HealthReport>
  isDaemon: true
  /** The audit of sign-ins; `actions` write to it themselves. */
  audit: AuditLog
  log: Logger
  /** How long the data of an uninstalled account are kept. */
  uninstallKeepMs: number
  /** An account was just connected: its first poll should not wait. */
  connected(hubId: number): Promise<void>
}
