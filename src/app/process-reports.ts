import { configFingerprint } from '../../config/schema/reload.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { recheckWaiting } from '../alerts/sending/read-due.ts'
import { illOf, judgeHealth } from '../checks/health-report.ts'
import { movesSince, type ProcessFacts } from '../checks/process-facts.ts'
import { type Daemon, DaemonStore, type Role } from '../heartbeat/daemons.ts'
import { atInterval } from '../runtime/concurrency.ts'
import { keepKnown } from '../tokens/vault-keys.ts'
import { sweepPauses } from './health.ts'
import type { Services } from './services.ts'

const REPORT_EVERY_MS = 10_000

export interface ProcessReports {
  /** Reports at once: the config, or the key, is another one now. */
  report(): Promise<void>
  stop(): Promise<void>
}

type Reporter = Pick<Services, 'store' | 'keys' | 'clock' | 'vault' | 'log'>
/** A report, but for what is the same in each. */
type Own = Omit<Daemon, 'name' | 'version' | 'startedAt' | 'lastSeenAt' | 'keyId'>

/** Reports at an interval that this daemon runs, what is wrong with it, by which config it works, and which keys it needs. */
export function startDaemonReports(
  current: () => Reporter & Pick<Services, 'config'>,
  name: string,
  roles: ReadonlySet<Role>,
  facts: () => Promise<ProcessFacts>,
  needs: () => readonly string[],
): Promise<ProcessReports> {
  return startReports(current, name, async () => {
    const { config, vault } = current()
    const own = await facts()
    return {
      config: configFingerprint(config, vault.derive('config')),
      roles: [...roles],
      needs: needs(),
      ill: illOf(judgeHealth(own)),
      ...(roles.has('worker') && { sweeps: { since: movesSince(own), pauses: sweepPauses(config) } }),
    }
  })
}

/** `own`: what it reports beside its key. A command that writes tokens does so without a role: a rekey waits for its end. */
export async function startReports(
  current: () => Reporter,
  name: string,
  own: () => Promise<Own>,
): Promise<ProcessReports> {
  const { store, keys, clock, log } = current()
  const daemons = new DaemonStore(store, keys)
  const startedAt = clock.now()
  let lacking: string[] = []
  let others = 0
  const report = async () => {
    const more = await own()
    const { vault } = current()
    const [keyId] = vault.keyIds
    await keepKnown(store, keys, vault)
    await daemons.report({ name, version: packageJson.version, startedAt, lastSeenAt: clock.now(), keyId, ...more })
    const before = others
    others = (await daemons.configs(more.config, clock.now())).others.length
    // Alerts are held back for as long as any config says so: one that no daemon has any more says nothing.
    if (others < before) await recheckWaiting({ store, keys })
    const strange = (await daemons.writers(clock.now())).filter((other) => !vault.keyIds.includes(other.keyId))
    for (const { daemon: writer, keyId: key } of strange) {
      if (lacking.includes(key)) continue
      const message = `another process (${writer}) encrypts with key ${key}, which is not configured here: add it to encryption.keys and send this daemon SIGHUP`
      log.error({ code: 'vault.key-missing', key, writer }, message)
    }
    lacking = strange.map((other) => other.keyId)
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
