import { deliver, Turns } from '../../jobs/deliver.ts'
import type { PollWork } from '../../jobs/job-deps.ts'
import type { DeliverJob } from '../../jobs/queues.ts'
import { sweepAlerts } from '../../jobs/sweep.ts'
import { DueSets } from '../../src/accounts/due-sets.ts'
import type { GroupSettings } from '../../src/alerts/deps.ts'
import type { Rule } from '../../src/alerts/evaluation/rules.ts'
import { Deliveries } from '../../src/delivery/deliveries.ts'
import type { AttemptOutcome, OutgoingDelivery, Receiver } from '../../src/delivery/receiver.ts'
import { CoverageStore } from '../../src/limits/coverage.ts'
import { PollStore } from '../../src/limits/poll-store.ts'
import { SampleStore } from '../../src/limits/samples.ts'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { createMetrics } from '../../src/runtime/metrics.ts'
import { announcePoll, HUB, office, pageOf } from '../accounts/connected.ts'
import { properties } from '../limits/reports.ts'
import { seedAccount } from './accounts.ts'
import { pollClaimed } from './committed-poll.ts'
import { openEndpoint } from './endpoint.ts'
import type { HandClock } from './hand-clock.ts'
import { logLines } from './log-lines.ts'
import { servicesOf } from './services.ts'

/** What a receiver says to each message. */
export type Says = (delivery: OutgoingDelivery) => AttemptOutcome

const DAY = 24 * 3_600_000

/**
 * The whole way of an alert, from a poll of one account to its receivers, through the jobs' own code and a real Redis; time
 * is moved by hand.
 */
export async function openAlertPath(
  { store, keys, clock }: { store: Store; keys: Keys; clock: HandClock },
  { rules, group, says }: { rules: readonly Rule[]; group: GroupSettings; says: Record<string, Says> },
) {
  let usage = 0
  const { deps } = office(
    store,
    keys,
    { customProperties: async () => ({ ok: true, value: properties(usage) }) },
    clock,
  )
  await seedAccount(store, keys, { obtainedAt: clock.now(), lifeMs: 1_000 * DAY })
  const metrics = createMetrics()
  const jobs: DeliverJob[] = []
  const woken: number[] = []
  const queues = {
    wake: async (_kind: string, at: number) => void woken.push(at),
    deliver: { addBulk: async (added: { data: DeliverJob }[]) => void jobs.push(...added.map(({ data }) => data)) },
  }
  const polling: PollWork = {
    ...deps,
    ...{ due: new DueSets(store, keys), metrics, random: () => 0.5, polls: new PollStore(store, keys) },
    ...servicesOf(store, keys, 4),
    ...{ endpoint: openEndpoint(store, keys, clock), queues: queues as never },
    share: { requests: 1_000, perMs: 10_000 },
    ...{ pauseCalls: async () => {}, stillPolling: () => {} },
    ...{ announcePoll, alertAfter: 1_800_000 },
    coverage: new CoverageStore(store, keys, { objective: 0.95, freshnessMs: DAY }),
    polling: {
      ...{ every: 60_000, soonest: 60_000, reports: ['customProperties'] },
      ...{ associations: [], pairsPerPoll: 20, accounts: [] },
    },
    callBudget: undefined,
    samples: new SampleStore(store, keys, { records: 'full', keepMs: DAY }),
    alerts: {
      rules,
      recoverBelow: 3,
      for: 0,
      repeatEveryMs: 1_000 * DAY,
      firstRun: 'alert',
      pageOf,
      page: 'https://x/',
    },
  }
  const receivers = Object.entries(says).map(([name, outcome]): [string, Receiver] => [
    name,
    { name, type: 'webhook', send: async (delivery) => outcome(delivery), close: async () => undefined },
  ])
  const deliveries = new Deliveries(store, keys)
  const work = {
    ...{ clock, deliveries, metrics, random: () => 0.5, log: logLines().log, queues: queues as never },
    ...{ receivers: new Map(receivers), turns: new Turns() },
    sending: {
      ...{ store, keys, group, log: logLines().log, silences: { active: async () => [] } },
      ...{ routes: [{ to: Object.keys(says) }], receivers: Object.keys(says) },
    },
  }
  const never = new AbortController().signal

  /** Does all that is due now, and says when something is due next. */
  async function doWhatIsDue(): Promise<number | undefined> {
    const next = await sweepAlerts(work)
    for (const job of jobs.splice(0)) await deliver(work, job, { stopping: never, abandon: never })
    const moments = [...(next === undefined ? [] : [next]), ...woken.splice(0)]
    return moments.length === 0 ? undefined : Math.min(...moments)
  }

  return {
    deliveries,
    poll: async (now: number) => {
      usage = now
      await pollClaimed(polling, [HUB])
    },
    /** Whatever is due meanwhile is done at its moment. */
    live: async (ms: number) => {
      const end = clock.now() + ms
      for (;;) {
        const next = await doWhatIsDue()
        if (next !== undefined && next <= clock.now()) continue
        if (clock.now() >= end) return
        clock.move(Math.min(next ?? end, end) - clock.now())
      }
    },
  }
}
