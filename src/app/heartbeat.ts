import { longestPauses } from '../../jobs/clock.ts'
import type { HeartbeatSettings } from '../../jobs/job-deps.ts'
import { createPinger } from '../heartbeat/ping.ts'
import type { Parts } from './parts.ts'

/** Undefined where no heartbeat is configured. The caller closes its pinger. */
export function openHeartbeat({ config, coverage }: Parts, startedAt: number): HeartbeatSettings | undefined {
  if (config.heartbeat === undefined) return undefined
  const { url, every, tokens, overdueRefresh, outboxAge } = config.heartbeat
  const { heartbeat: _, ...sweeps } = longestPauses(config.schedule)
  return {
    everyMs: every,
    bounds: { coverage: coverage.settings, tokens, overdueRefreshMs: overdueRefresh, outboxAgeMs: outboxAge, sweeps },
    pinger: createPinger(url),
    daemon: { startedAt, receivers: new Set(Object.keys(config.receivers)) },
  }
}
