import type { PollRules } from '../../jobs/read-poll.ts'
import { NO_ALERT_WRITES } from '../../src/redis/steps.ts'
import { pageOf } from '../accounts/connected.ts'
import { EVERY_MS } from './polled.ts'

/** What polls are decided by where nothing is watched, and nothing announced. */
export const POLL_RULES: PollRules = {
  alerts: { rules: [], recoverBelow: 3, for: 0, repeatEveryMs: EVERY_MS, firstRun: 'alert', pageOf },
  samples: { records: 'full', keepMs: 24 * 3_600_000 },
  share: { requests: 10, perMs: 10_000 },
  coverage: { objective: 0.95, freshnessMs: 26 * 3_600_000 },
  alertAfter: 1_800_000,
  announcePoll: () => NO_ALERT_WRITES,
  announce: { failing: () => NO_ALERT_WRITES },
}
