import { configFingerprint } from '../../config/in-force.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { DaemonStore } from '../heartbeat/daemon-store.ts'
import type { Role } from '../heartbeat/roles.ts'
import { atInterval } from '../runtime/concurrency.ts'
import type { Parts } from './parts.ts'

const REPORT_EVERY_MS = 10_000

export interface DaemonReports {
  /** Reports at once: the config is another one now. */
  report(): Promise<void>
  stop(): Promise<void>
}

type Reporter = Pick<Parts, 'store' | 'keys' | 'clock' | 'vault' | 'config'>

/** Reports at an interval that this daemon runs, and by which config, until it is stopped. */
export async function startDaemonReports(
  parts: () => Reporter,
  name: string,
  roles: ReadonlySet<Role>,
): Promise<DaemonReports> {
  const { store, keys, clock } = parts()
  const daemons = new DaemonStore(store, keys)
  const startedAt = clock.now()
  const report = () => {
    const { config, vault } = parts()
    const inForce = configFingerprint(config, vault.derive('config'))
    return daemons.report({
      ...{ name, version: packageJson.version, startedAt, lastSeenAt: clock.now() },
      config: inForce,
      roles: [...roles],
    })
  }
  await report()
  // No Redis: the jobs log it, and the next report comes soon.
  const end = atInterval(report, REPORT_EVERY_MS)
  return {
    report,
    stop: async () => {
      end()
      // A daemon that does not report is soon shown as silent.
      await daemons.leave(name).catch(() => undefined)
    },
  }
}
