import type { DueSets } from '../accounts/due-sets.ts'
import type { Registry } from '../accounts/registry.ts'
import type { GroupSettings } from '../alerts/deps.ts'
import type { AlertSettings } from '../alerts/evaluation/decide.ts'
import type { Route } from '../alerts/route.ts'
import type { SilenceStore } from '../alerts/silence-store.ts'
import type { Deliveries } from '../delivery/deliveries.ts'
import type { ReceiverStore } from '../delivery/receiver-health.ts'
import type { FailedCalls } from '../heartbeat/failed-calls.ts'
import type { CoverageStore } from '../limits/coverage.ts'
import type { History } from '../limits/history/history.ts'
import type { Retention } from '../limits/history/resolutions.ts'
import type { SampleStore } from '../limits/samples.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import type { Clock } from '../runtime/clock.ts'
import type { QueueDepth } from './fleet-health.ts'

/** All that views are made of; each names what it reads. */
export interface ViewDeps {
  store: Store
  keys: Keys
  clock: Clock
  registry: Registry
  due: DueSets
  samples: SampleStore
  history: History
  historyKeep: Retention
  coverage: CoverageStore
  failedCalls: FailedCalls
  silences: Pick<SilenceStore, 'active'>
  deliveries: Deliveries
  receiverStore: ReceiverStore
  /** Names of all receivers of the config. */
  receivers: readonly string[]
  /** Settings of levels, of groups and of receivers. */
  explain: RuleSet
  queueDepths: () => Promise<QueueDepth[]>
}

/** Settings that decide which alerts are sent: rules, how they are judged, the receivers, the messages. */
export interface RuleSet extends Omit<AlertSettings, 'pageOf'> {
  routes: readonly Route[]
  group: GroupSettings
}
