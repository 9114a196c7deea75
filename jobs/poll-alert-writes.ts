import type { PollAnnouncer } from '../src/alerts/kinds/poll-alert.ts'
import type { CoverageStore } from '../src/limits/coverage-store.ts'
import type { PollContext } from '../src/limits/poll-context.ts'
import { failingAfter, type PollOutcome } from '../src/limits/polling/poll-outcome.ts'
import type { AlertWrites } from '../src/redis/steps.ts'

export interface PollAlertDeps {
  announcePoll: PollAnnouncer
  /** Polls in a row that must fail before that is told. */
  alertAfter: number
  coverage: CoverageStore
}

/** What a poll changes about the account's poll alert, to be committed with the rest. */
export async function pollAlertWrites(
  { announcePoll, alertAfter, coverage }: PollAlertDeps,
  hubId: number,
  context: PollContext,
  outcome: PollOutcome,
  now: number,
): Promise<AlertWrites> {
  const wouldTell = failingAfter(context, outcome, now).count >= alertAfter
  const { hubDomain, alertStates, pollFailures, pollFailingSince, pollBlockedSince } = context
  return announcePoll({
    ...{ hubId, hubDomain, outcome, now, pollFailures, pollFailingSince, pollBlockedSince },
    pollAlert: alertStates.poll ?? '',
    isFleetTrouble: wouldTell && (await coverage.fleetSpeaks(now)),
  })
}
