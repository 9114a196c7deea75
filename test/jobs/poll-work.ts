import type { PollWork } from '../../jobs/job-deps.ts'
import { DueSets } from '../../src/accounts/due-sets.ts'
import { CoverageStore } from '../../src/limits/coverage.ts'
import { PollStore } from '../../src/limits/poll-store.ts'
import type { PollSettings } from '../../src/limits/polling/poll-settings.ts'
import { SampleStore } from '../../src/limits/samples.ts'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { createMetrics } from '../../src/runtime/metrics.ts'
import { announcePoll, office, pageOf } from '../accounts/connected.ts'
import { openEndpoint } from '../support/endpoint.ts'
import type { FakeAnswers } from '../support/fake-provider.ts'
import { HandClock } from '../support/hand-clock.ts'
import { servicesOf } from '../support/services.ts'

export const EVERY_MS = 900_000
const HOUR = 3_600_000

/** Each account every quarter of an hour, and no pair. */
export function pollSettings(more: Partial<PollSettings> = {}): PollSettings {
  return {
    ...{ every: EVERY_MS, soonest: EVERY_MS, reports: ['customProperties', 'associations'] },
    ...{ associations: [], pairsPerPoll: 20, accounts: [] },
    ...more,
  }
}

/** By no rule, at once, to nobody again for a day. */
export function alertSettings(more: Partial<PollWork['alerts']> = {}): PollWork['alerts'] {
  return {
    rules: [],
    recoverBelow: 3,
    for: 0,
    repeatEveryMs: 24 * HOUR,
    firstRun: 'alert',
    pageOf,
    page: 'https://x/',
    ...more,
  }
}

/** What a poll takes, on a real Redis, with a provider that does what the test says. */
export function pollWork(
  store: Store,
  keys: Keys,
  does: FakeAnswers,
  { clock = new HandClock(), ...changes }: Partial<Omit<PollWork, 'clock'>> & { clock?: HandClock } = {},
) {
  const { deps, provider, logged } = office(store, keys, does, clock)
  const due = new DueSets(store, keys)
  const polls = new PollStore(store, keys)
  const work: PollWork = {
    ...deps,
    ...servicesOf(store, keys),
    ...{ due, metrics: createMetrics(), polls, callBudget: undefined },
    endpoint: openEndpoint(store, keys, clock),
    queues: { wake: async () => {} } as never,
    share: { requests: 1_000, perMs: 10_000 },
    pauseCalls: (hubId, until) => polls.pauseCalls(hubId, clock.now(), until),
    stillPolling: () => {},
    random: () => 0.5,
    announcePoll,
    alertAfter: HOUR / 2,
    coverage: new CoverageStore(store, keys, { objective: 0.95, freshnessMs: 26 * HOUR }),
    polling: pollSettings(),
    samples: new SampleStore(store, keys, { records: 'full', keepMs: 24 * HOUR }),
    alerts: alertSettings(),
    ...changes,
  }
  return { work, due, clock, provider, logged }
}
