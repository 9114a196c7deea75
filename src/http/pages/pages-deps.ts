import type { Directory } from '../../accounts/search/directory.ts'
import type { AckLinks } from '../../alerts/acknowledge/ack-links.ts'
import type { GroupSettings } from '../../alerts/groups/group.ts'
import type { SilenceStore } from '../../alerts/silences/silence-store.ts'
import type { History } from '../../limits/history/history.ts'
import type { KeptSamples } from '../../limits/history/kept-samples.ts'
import type { FleetStatusDeps } from '../../views/fleet-status.ts'
import type { Judging } from '../../views/series-because.ts'
import type { HealthReport } from '../health.ts'

/** What the pages are made from. */
export interface PagesDeps extends FleetStatusDeps {
  directory: Directory
  /** The config's names for some accounts. */
  tags: Readonly<Record<string, readonly string[]>>
  history: History
  samples: KeptSamples
  silences: SilenceStore
  ackLinks: AckLinks
  /** Names of all receivers. */
  receivers: readonly string[]
  /** How alerts are grouped into messages. */
  group: GroupSettings
  /** What levels are decided by. */
  judging: Judging
  health: () => Promise<HealthReport>
}
