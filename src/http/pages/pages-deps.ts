import type { InstallSettings } from '../../accounts/install.ts'
import type { Tags } from '../../accounts/match-account.ts'
import type { Directory } from '../../accounts/search/directory.ts'
import type { AckLinks } from '../../alerts/acknowledge.ts'
import type { SilenceStore } from '../../alerts/silence-store.ts'
import type { History } from '../../limits/history/history.ts'
import type { KeptSamples } from '../../limits/samples.ts'
import type { Vault } from '../../tokens/vault.ts'
import type { QueueDepth } from '../../views/fleet-health.ts'
import type { FleetStatusDeps } from '../../views/fleet-status.ts'
import type { ExplanationDeps } from '../../views/read-explanation.ts'
import type { HealthReport } from '../health.ts'
import type { QueueBoardRoutes } from './queues/queue-board.ts'

/** What the pages are made from. */
export interface PagesDeps extends FleetStatusDeps {
  directory: Directory
  /** The config's names for some accounts. */
  tags: Tags
  history: History
  samples: KeptSamples
  silences: SilenceStore
  ackLinks: AckLinks
  /** Names of all receivers. */
  receivers: ExplanationDeps['receivers']
  queueDepths: () => Promise<QueueDepth[]>
  queueBoard: QueueBoardRoutes
  /** What levels are decided by, how alerts are grouped, and who gets them. */
  explain: ExplanationDeps['explain']
  /** What links are signed by. */
  connect: { vault: Pick<Vault, 'deriveEach'> }
  publicUrl: string
  install: Pick<InstallSettings, 'installUrl'>
  health: () => Promise<HealthReport>
}
