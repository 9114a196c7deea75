import { openState } from '../src/alerts/kinds/notified-alert.ts'
import { describeCalls, judgeCalls } from '../src/heartbeat/failed-calls.ts'
import type { JobDeps } from './job-deps.ts'

type FailedCallsWork = Pick<JobDeps, 'failedCalls' | 'announceFleet' | 'queues' | 'clock' | 'log'>

/** The share of the whole app's calls that failed: too high, it is one alert for all accounts. */
export async function sweepFailedCalls(deps: FailedCallsWork): Promise<undefined> {
  const { failedCalls, announceFleet, queues, clock, log } = deps
  const now = clock.now()
  const [counts, stored] = await Promise.all([failedCalls.read(now), failedCalls.alertState()])
  const open = openState({ stored })?.level
  const level = judgeCalls(counts, failedCalls.limits, open === 'ok' ? undefined : open)
  const is = level === undefined ? 'over' : 'firing'
  const writes = announceFleet({ trouble: 'calls', is, stored, level, message: describeCalls(counts, level), now })
  // The second of two daemons that sweep at once finds the alert open.
  if (writes.changes.length === 0 || (await failedCalls.changeAlert(writes)) === 'stale') return
  if (level === undefined)
    log.info({ code: 'calls.recovered', ...counts }, 'few enough calls to the provider fail again')
  else log.error({ code: 'calls.failing', level, ...counts }, 'too many calls to the provider fail')
  await queues.wake('alerts', now)
}
