import packageJson from '../../package.json' with { type: 'json' }
import { DaemonStore } from '../heartbeat/daemon-store.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import type { Clock } from '../runtime/clock.ts'

const REPORT_EVERY_MS = 10_000

/** Says now and then that this daemon runs, until it is stopped. */
export async function startDaemonReports(
  { store, keys, clock }: { store: Store; keys: Keys; clock: Clock },
  name: string,
): Promise<{ stop(): Promise<void> }> {
  const daemons = new DaemonStore(store, keys)
  const startedAt = clock.now()
  const report = () => daemons.report({ name, version: packageJson.version, startedAt, lastSeenAt: clock.now() })
  await report()
  let isUnderWay = false
  const timer = setInterval(async () => {
    if (isUnderWay) return
    isUnderWay = true
    // No Redis: whoever is at work logs it, and the next report comes soon.
    await report().catch(() => undefined)
    isUnderWay = false
  }, REPORT_EVERY_MS)
  return {
    stop: async () => {
      clearInterval(timer)
      // Whoever says nothing is soon shown as silent.
      await daemons.leave(name).catch(() => undefined)
    },
  }
}
