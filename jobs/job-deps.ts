import type { FinishDeps } from '../src/accounts/finish-grant.ts'
import type { Registry } from '../src/accounts/registry.ts'
import type { UninstallDeps } from '../src/accounts/uninstall.ts'
import type { AlertsDeps } from '../src/alerts/deps.ts'
import type { DigestSchedule, DigestStore } from '../src/alerts/digest-store.ts'
import type { DeliveryAnnouncer } from '../src/alerts/kinds/delivery-alert.ts'
import type { FleetAnnouncer } from '../src/alerts/kinds/fleet-alert.ts'
import type { OpenAlertSettings } from '../src/alerts/open-alert-message.ts'
import type { Route } from '../src/alerts/route.ts'
import type { Deliveries } from '../src/delivery/deliveries.ts'
import type { Receiver } from '../src/delivery/receiver.ts'
import type { ReceiverStore } from '../src/delivery/receiver-health.ts'
import type { WatchedDaemon } from '../src/heartbeat/heartbeat-facts.ts'
import type { HeartbeatStore } from '../src/heartbeat/heartbeat-store.ts'
import type { HeartbeatBounds } from '../src/heartbeat/judge-heartbeat.ts'
import type { Pinger } from '../src/heartbeat/ping.ts'
import type { CoverageStore } from '../src/limits/coverage.ts'
import type { History } from '../src/limits/history/history.ts'
import type { Keep } from '../src/limits/history/resolutions.ts'
import type { TendingRounds } from '../src/limits/history/tending-rounds.ts'
import type { ClockWatch } from '../src/runtime/clock.ts'
import type { PollLimitsDeps } from './poll-limits.ts'
import type { RefreshTokensDeps } from './refresh-tokens.ts'

export interface DigestSettings extends OpenAlertSettings {
  /** Of the receivers that get one. */
  schedules: ReadonlyMap<string, DigestSchedule>
  routes: readonly Route[]
  /** The most alerts that one shows. */
  max: number
}

export interface HeartbeatSettings {
  everyMs: number
  bounds: HeartbeatBounds
  pinger: Pinger
  daemon: WatchedDaemon
}

export interface DrillSettings {
  everyMs: number | 'never'
  unprovenAfterMs: number | 'never'
}

type JobsOfAccounts = PollLimitsDeps & RefreshTokensDeps & UninstallDeps & FinishDeps

/** All that jobs and sweeps work with. Each names the part that it takes. */
export interface JobDeps extends JobsOfAccounts {
  registry: Registry
  relay: AlertsDeps
  deliveries: Deliveries
  receivers: ReadonlyMap<string, Receiver>
  receiverStore: ReceiverStore
  /** Undefined where the receiver has all its places taken. */
  turns: { take<T>(receiver: string, atATime: number, work: () => Promise<T>): Promise<T | undefined> }
  drill: DrillSettings
  announceDelivery: DeliveryAnnouncer
  /** The page of deliveries: test messages link to it. */
  deliveriesPage: string
  announceFleet: FleetAnnouncer
  coverage: CoverageStore
  history: History
  historyKeep: Keep
  rounds: TendingRounds
  heartbeats: HeartbeatStore
  /** Undefined: no heartbeat is sent. */
  heartbeat: HeartbeatSettings | undefined
  digests: DigestStore
  digest: DigestSettings
  clockWatch: ClockWatch
}
