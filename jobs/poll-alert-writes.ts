import type { PollAnnouncer } from '../src/alerts/kinds/poll-alert.ts'
import type { CoverageStore } from '../src/limits/coverage-store.ts'
import type { PollContext } from '../src/limits/poll-context.ts'
import { failingAfter, type PollOutcome, tellFailingAt } from '../src/limits/polling/poll-outcome.ts'
import type { AccountPollSettings } from '../src/limits/polling/poll-settings.ts'
import type { AlertWrites } from '../src/redis/steps.ts'

export interface PollAlertDeps {
  announcePoll: PollAnnouncer
  /** How long polls of an account must fail before an alert opens, ms; never less than two of its periods. */
  alertAfter: number
  coverage: CoverageStore
}

/** What a poll changes about the account's poll alert, to be committed with the rest. */
export async function pollAlertWrites(
  { announcePoll, alertAfter, coverage }: PollAlertDeps,
  { hubId, context, settings }: { hubId: number; context: PollContext; settings: AccountPollSettings },
  outcome: PollOutcome,
  now: number,
): Promise<AlertWrites> {
  const { count, since } = failingAfter(context, outcome, now)
  const failsForLong = count > 0 && now >= tellFailingAt(since, settings.everyMs, alertAfter)
  const { hubDomain, alertStates, pollFailures, pollFailingSince, pollBlockedSince } = context
  return announcePoll({
    ...{ hubId, hubDomain, outcome, now, pollFailures, pollFailingSince, pollBlockedSince },
    pollAlert: alertStates.poll ?? '',
    failsForLong,
    isFleetTrouble: failsForLong && (await coverage.fleetSpeaks(now)),
  })
}
