import type { DueSets } from '../src/accounts/due-sets.ts'
import type { FinishDeps } from '../src/accounts/finish-grant.ts'
import type { IdentifyDeps } from '../src/accounts/identify-account.ts'
import type { Registry } from '../src/accounts/registry.ts'
import type { UninstallDeps } from '../src/accounts/uninstall.ts'
import type { AlertsDeps } from '../src/alerts/deps.ts'
import type { DigestSchedule } from '../src/alerts/digest.ts'
import type { AlertSettings } from '../src/alerts/evaluation/decide.ts'
import type { DeliveryAnnouncer } from '../src/alerts/kinds/delivery-alert.ts'
import type { FleetAnnouncer } from '../src/alerts/kinds/fleet-alert.ts'
import type { PollAnnouncer } from '../src/alerts/kinds/poll-alert.ts'
import type { OpenAlertSettings } from '../src/alerts/open-alert-message.ts'
import type { Deliveries } from '../src/delivery/deliveries.ts'
import type { Receiver } from '../src/delivery/receiver.ts'
import type { ReceiverStore } from '../src/delivery/receiver-health.ts'
import type { FailedCalls } from '../src/heartbeat/failed-calls.ts'
import type { HeartbeatSettings, HeartbeatStore } from '../src/heartbeat/heartbeat.ts'
import type { Movement } from '../src/heartbeat/movement.ts'
import type { CoverageStore } from '../src/limits/coverage.ts'
import type { History } from '../src/limits/history/history.ts'
import type { Retention } from '../src/limits/history/resolutions.ts'
import type { PollStore } from '../src/limits/poll-store.ts'
import type { FetchDeps } from '../src/limits/polling/account-calls.ts'
import type { PollSettings } from '../src/limits/polling/poll-settings.ts'
import type { SampleStore } from '../src/limits/samples.ts'
import type { Metrics } from '../src/runtime/metrics.ts'
import type { TokenEndpoint } from '../src/tokens/endpoint/token-endpoint.ts'
import type { RefreshDeps } from '../src/tokens/refresh-account.ts'
import type { Queues } from './queues.ts'

/** All that jobs and sweeps work with. Each names the part that it takes. */
export interface JobDeps
  extends Omit<RefreshDeps, 'announce'>,
    Omit<IdentifyDeps, 'announce'>,
    Omit<UninstallDeps, 'announce'>,
    Omit<FinishDeps, 'announce'>,
    FetchDeps {
  queues: Queues
  metrics: Metrics
  movement: Movement
  /** Asked by a job before it takes up more; false where another one shall, as by another config. */
  goesOn?: () => boolean
  /** Puts aside what can't be read of an account. */
  putAside: (hubId: number) => Promise<void>
  endpoint: TokenEndpoint
  announce: RefreshDeps['announce'] & UninstallDeps['announce']
  due: DueSets
  polls: PollStore
  polling: PollSettings
  samples: SampleStore
  alerts: AlertSettings & OpenAlertSettings
  announcePoll: PollAnnouncer
  /** How long polls of an account must fail before an alert opens, ms; never less than two of its periods. */
  alertAfter: number
  /** How long a refresh token must have been refused to be taken for an uninstall. */
  uninstallAfterRefusedMs: number | 'never'
  registry: Registry
  sending: AlertsDeps
  deliveries: Deliveries
  receivers: ReadonlyMap<string, Receiver>
  receiverStore: ReceiverStore
  /** Names of those that want to know what happens to accounts, and of acknowledgements. */
  eventReceivers: { accounts: readonly string[]; acknowledgements: readonly string[] }
  /** By which receiver customers are asked to connect again; undefined: they are not. */
  installerMails: string | undefined
  announceDelivery: DeliveryAnnouncer
  announceFleet: FleetAnnouncer
  coverage: CoverageStore
  failedCalls: FailedCalls
  history: History
  historyKeep: Retention
  heartbeats: HeartbeatStore
  /** Undefined: no heartbeat is sent. */
  heartbeat: HeartbeatSettings | undefined
  /** Schedules of the receivers that get a digest. */
  digests: ReadonlyMap<string, DigestSchedule>
}

/** Services of a job on accounts. */
type ChunkWork = 'queues' | 'goesOn' | 'metrics' | 'movement' | 'due' | 'putAside' | 'inFlight' | 'callMs'

export type RefreshWork = Pick<
  JobDeps,
  keyof RefreshDeps | keyof IdentifyDeps | ChunkWork | 'closeAlerts' | 'uninstallAfterRefusedMs'
>

export type PollWork = Pick<
  JobDeps,
  | Exclude<keyof RefreshWork, 'closeAlerts' | 'uninstallAfterRefusedMs'>
  | keyof FetchDeps
  | ('polls' | 'polling' | 'samples' | 'alerts' | 'announcePoll' | 'alertAfter' | 'coverage')
>

export type UninstallWork = Pick<JobDeps, keyof UninstallDeps | ChunkWork>
