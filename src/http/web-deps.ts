import type { CodeDeps } from '../accounts/connect-account.ts'
import type { InstallSettings } from '../accounts/install.ts'
import type { AckLinks } from '../alerts/acknowledge.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import type { CheckBounds } from '../checks/facts.ts'
import type { HealthReport } from '../checks/health-report.ts'
import type { MailLinks } from '../delivery/describe/mail-links.ts'
import type { OperationDeps } from '../operations/deps.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Metrics } from '../runtime/metrics.ts'
import type { ViewDeps } from '../views/view-deps.ts'
import type { Actions } from './actions.ts'
import type { Brand } from './brand.ts'
import type { AfterInstall } from './pages/install/after-install.ts'

/** What pages, API and metrics are made from, and what they may ask for. A function takes what it uses of it. */
export interface WebDeps extends OperationDeps, Pick<ViewDeps, 'queueDepths'> {
  ackLinks: AckLinks
  /** Where an alert leads to, as its mails have it. */
  links: MailLinks
  queueBoard: QueueBoardRoutes
  install: InstallSettings
  /** Undefined: a page reports the success. */
  afterInstall: AfterInstall | undefined
  /** How a code becomes an account, and what links are signed by. */
  connect: CodeDeps
  brand: Brand
  /** Where people reach this server. */
  publicUrl: string
  actions: Actions
  health: () => Promise<HealthReport>
  bounds: CheckBounds
  /** The watch over the clock of this daemon. */
  daemon: { evenMs(): number }
  /** Where sign-ins are noted; what `actions` do they note themselves. */
  audit: AuditLog
  metrics: Metrics
  log: Logger
}

/** What shows the jobs of the queues, for the server: its files, its settings, and its reads. */
export interface QueueBoardRoutes {
  /** The page as it comes with the package. */
  page: string
  /** Scripts, styles and pictures: where they are, and their names. */
  files: { folder: string; names: readonly string[] }
  config(): Promise<object>
  reads: readonly {
    /** Below the board's own address. */
    path: string
    answer(params: Record<string, string>, query: Record<string, string>): Promise<{ status: number; body: unknown }>
  }[]
}
