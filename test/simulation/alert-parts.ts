import { deliverDue } from '../../jobs/deliver.ts'
import type { PollWork, RefreshWork } from '../../jobs/job-deps.ts'
import { pollLimits, pollWanted } from '../../jobs/poll-limits.ts'
import { sweepAlerts } from '../../jobs/sweep.ts'
import { storeAcknowledgement } from '../../src/alerts/acknowledge.ts'
import type { GroupBy } from '../../src/alerts/deps.ts'
import { pollAnnouncer } from '../../src/alerts/kinds/poll-alert.ts'
import { openStatesOf } from '../../src/alerts/open-alerts.ts'
import { recheckWaiting } from '../../src/alerts/sending/read-due.ts'
import { SilenceStore } from '../../src/alerts/silence-store.ts'
import { Deliveries } from '../../src/delivery/deliveries.ts'
import { CoverageStore } from '../../src/limits/coverage.ts'
import { PollStore } from '../../src/limits/poll-store.ts'
import { SampleStore } from '../../src/limits/samples.ts'
import { InForce } from '../../src/runtime/concurrency.ts'
import { pollClaimed } from '../support/committed-poll.ts'
import { POLL_EVERY_MS, type Scene } from './daemon.ts'
import type { Process } from './world.ts'

/** What a config says about alerts. */
export interface AlertConfig {
  /** Percent. */
  warning: number
  critical: number
  by: readonly GroupBy[]
  /** How long a message waits for more, and after the one before, ms. */
  waitMs: number
  intervalMs: number
  /** No message is sent in these hours. */
  quiet?: { from: string; to: string }
}

/** What a daemon does about alerts. */
export interface AlertParts {
  poll(hubId: number): Promise<unknown>
  pollMany(hubIds: readonly number[]): Promise<void>
  pollDue(): Promise<void>
  /** From the outbox to deliveries, and a job that sends those that are due; says when something is due next. */
  sweepAlerts(): Promise<number | undefined>
  deliver(): Promise<void>
  /** The alert of an account, or another one, is held back for a while. */
  silence(hubId: number, ms: number): Promise<unknown>
  /** Returns its id, if there was one. */
  endSilence(): Promise<string | undefined>
  acknowledge(hubId: number): Promise<unknown>
  /** SIGHUP: takes over the config as it is now. */
  reloadAlerts(): Promise<unknown>
  /** Receivers that are switched off get what they were not given. */
  replay(): Promise<unknown>
}

const DAY = 24 * 3_600_000
const never = new AbortController().signal

export function alertParts(
  { world, keys, receivers, config }: Scene,
  process: Process,
  deps: RefreshWork,
  pages: { pageOf: (hubId: number) => string },
): AlertParts {
  const { store, clock, log } = deps
  const deliveries = new Deliveries(store, keys)
  const silences = new SilenceStore(store, keys, {})
  const polls = new PollStore(store, keys)
  const common: Omit<PollWork, 'alerts'> = {
    ...deps,
    polls,
    alertAfter: 1_800_000,
    share: { requests: 1_000, perMs: 10_000 },
    pauseCalls: (hubId, until) => polls.pauseCalls(hubId, clock.now(), until),
    stillPolling: () => {},
    announcePoll: pollAnnouncer({ ...pages, scopes: ['oauth'], opensLimits: true, repeatEveryMs: DAY }),
    coverage: new CoverageStore(store, keys, { objective: 0.95, freshnessMs: DAY }),
    polling: {
      every: POLL_EVERY_MS,
      soonest: POLL_EVERY_MS,
      reports: ['customProperties'],
      associations: [],
      pairsPerPoll: 20,
      accounts: [],
    },
    samples: new SampleStore(store, keys, { records: 'full', keepMs: DAY }),
  }
  /** As the config says now. */
  const services = () => {
    const { warning, critical, by, waitMs, intervalMs, quiet } = config.alerts
    const rule = {
      name: 'properties',
      on: 'customProperties.overall',
      warning: { percent: warning },
      critical: { percent: critical },
    }
    const names = [...receivers.keys()]
    const hours = quiet === undefined ? {} : { quiet: [{ ...quiet, timeZone: 'UTC' }] }
    return {
      polling: {
        ...common,
        alerts: {
          rules: [rule],
          recoverBelow: 3,
          for: 0,
          repeatEveryMs: 1_000 * DAY,
          firstRun: 'alert',
          pageOf: pages.pageOf,
          page: 'https://x/',
        },
      } satisfies PollWork,
      sending: {
        store,
        keys,
        clock,
        log,
        deliveries,
        queues: deps.queues,
        metrics: deps.metrics,
        random: () => 0.5,
        due: deps.due,
        movement: deps.movement,
        receivers: new Map([...receivers].map(([name, receiver]) => [name, receiver.clientFor(world, process)])),
        sending: {
          store,
          keys,
          log,
          silences,
          routes: [{ to: names, ...hours }],
          receivers: names,
          group: { by, waitMs, intervalMs, max: 200 },
        },
      },
    }
  }
  const inForce = new InForce(services())
  const enableAll = () => deliveries.enable([...inForce.value.sending.receivers.values()], clock.now())
  return {
    poll: (hubId) => inForce.run(({ polling }) => pollWanted(polling, hubId, never)),
    pollMany: (hubIds) => inForce.run(({ polling }) => pollClaimed(polling, hubIds)),
    pollDue: () => inForce.run(({ polling }) => pollLimits(polling, never)),
    sweepAlerts: () => inForce.run(({ sending }) => sweepAlerts(sending)),
    deliver: () =>
      inForce.run((services) => {
        const goesOn = () => services === inForce.value
        return deliverDue({ ...services.sending, goesOn }, { stopping: never, abandon: never })
      }),
    silence: (hubId, ms) => {
      const [createdAt, matchers] = [clock.now(), [{ name: 'account' as const, value: String(hubId) }]]
      return silences.add({ matchers, author: 'ada', comment: '', createdAt, endsAt: createdAt + ms })
    },
    endSilence: async () => {
      const [first] = await silences.active(clock.now())
      if (first !== undefined) await silences.end(first.id, clock.now())
      return first?.id
    },
    acknowledge: async (hubId) => {
      const [open] = await openStatesOf(store, keys, hubId)
      if (open === undefined) return 'not open'
      const seen = { id: open.id, hubId, level: open.state.level }
      return storeAcknowledgement({ store, keys, acknowledgeForMs: DAY }, seen, { by: 'ada' }, clock.now())
    },
    reloadAlerts: async () => {
      const { receivers } = inForce.value.sending
      void inForce.replace(services()).then(() => Promise.all([...receivers.values()].map((one) => one.close())))
      await Promise.all([recheckWaiting({ store, keys }), enableAll()])
    },
    replay: async () => {
      await enableAll()
      return deliveries.replay({ since: 0, receiver: undefined }, clock.now())
    },
  }
}
