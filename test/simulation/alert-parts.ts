import { deliver, Turns } from '../../jobs/deliver.ts'
import type { PollWork, RefreshWork } from '../../jobs/job-deps.ts'
import { pollOne } from '../../jobs/poll-limits.ts'
import { sweepAlerts } from '../../jobs/sweep.ts'
import { pollAnnouncer } from '../../src/alerts/kinds/poll-alert.ts'
import { Deliveries } from '../../src/delivery/deliveries.ts'
import { CoverageStore } from '../../src/limits/coverage.ts'
import { PollStore } from '../../src/limits/poll-store.ts'
import { CallShare } from '../../src/limits/polling/call-share.ts'
import { KeptSamples } from '../../src/limits/samples.ts'
import type { Scene } from './daemon.ts'
import type { Process } from './world.ts'

/** What a daemon does about alerts. */
export interface AlertParts {
  poll(hubId: number): Promise<unknown>
  /** From the outbox to jobs that are to deliver; says when something is due next. */
  sweepAlerts(): Promise<number | undefined>
  deliver(deliveryId: string): Promise<void>
}

const DAY = 24 * 3_600_000
const RECEIVER = 'hook'
const RULE = { name: 'properties', on: 'customProperties.overall', warning: { percent: 80 }, critical: { percent: 95 } }
const never = new AbortController().signal

export function alertParts(
  { world, keys, receiver, jobs }: Scene,
  process: Process,
  deps: RefreshWork,
  pages: { installPage: string; pageOf: (hubId: number) => string },
): AlertParts {
  const { store, clock, log } = deps
  const queues = {
    wake: async () => {},
    deliver: {
      addBulk: async (added: { data: { deliveryId: string } }[]) => {
        // A job is known by its delivery: there is one at a time.
        for (const { data } of added) if (!jobs.includes(data.deliveryId)) jobs.push(data.deliveryId)
      },
    },
  } as never
  const polling: PollWork = {
    ...{ ...deps, queues, polls: new PollStore(store, keys), callBudget: undefined, alertAfter: 1_800_000 },
    share: new CallShare(store, keys, { requests: 1_000, perMs: 10_000 }, clock),
    stillPolling: async () => {},
    announcePoll: pollAnnouncer({ ...pages, scopes: ['oauth'], opensLimits: true, repeatEveryMs: DAY }),
    coverage: new CoverageStore(store, keys, { objective: 0.95, freshnessMs: DAY }),
    polling: { every: 60_000, soonest: 60_000, associations: [], pairsPerPoll: 20, accounts: [] },
    samples: new KeptSamples(store, keys, { records: 'full', keepMs: DAY }),
    alerts: {
      ...{ rules: [RULE], recoverBelow: 3, for: 0, repeatEveryMs: 1_000 * DAY },
      ...{ firstRun: 'alert', pageOf: pages.pageOf },
    },
  }
  const deliveries = new Deliveries(store, keys)
  const work = {
    ...{ clock, log, deliveries, queues, metrics: deps.metrics, random: () => 0.5, turns: new Turns() },
    receivers: new Map([[RECEIVER, receiver.clientFor(world, process, RECEIVER)]]),
    relay: {
      ...{ store, keys, log, routes: [{ to: [RECEIVER] }], receivers: [RECEIVER] },
      silences: { active: async () => [] },
      group: { by: ['rule' as const], waitMs: 30_000, intervalMs: 300_000, max: 200 },
    },
  }
  return {
    poll: (hubId) => pollOne(polling, hubId, 'due', never),
    sweepAlerts: () => sweepAlerts(work),
    deliver: (deliveryId) => deliver(work, { deliveryId }, { stopping: never, abandon: never }),
  }
}
