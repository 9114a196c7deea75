import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { atInterval } from '../runtime/concurrency.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Vault } from './vault.ts'

/**
 * Which process encrypts with which key. A rekey must know it: a daemon that still has the old key first may write
 * nothing for half an hour, and then a value that no process can read once that key is gone; so may a long import.
 */
export interface Writer {
  /** The machine and the process; of one that is no daemon its command, too. */
  daemon: string
  keyId: string
}

const REPORT_EVERY_MS = 3_000
/** A process that has not reported for so long is dead. */
export const SILENCE_S = 10

export interface WriterDeps {
  store: Store
  keys: Keys
  vault: Vault
  log: Logger
}

export interface WriterReports {
  /** Reports at once: the key is another one now. */
  report(): Promise<void>
  stop(): Promise<void>
}

/** Reports at an interval which key this process encrypts with, and logs which keys of others it lacks. */
export async function startWriterReports(deps: WriterDeps, daemon: string): Promise<WriterReports> {
  let lacking: string[] = []
  const report = async () => {
    const writers = await say(deps, daemon, deps.vault.keyIds[0])
    const strange = writers.filter(({ keyId }) => !deps.vault.keyIds.includes(keyId))
    for (const { daemon: other, keyId } of strange) {
      if (lacking.includes(keyId)) continue
      deps.log.error(
        { code: 'vault.key-missing', key: keyId, writer: other },
        `another process (${other}) encrypts with key ${keyId}, which is not configured here: add it to encryption.keys and send this daemon SIGHUP`,
      )
    }
    lacking = strange.map(({ keyId }) => keyId)
  }
  await report()
  // No Redis: the jobs log it, and the next report comes soon.
  const end = atInterval(report, REPORT_EVERY_MS)
  return {
    report,
    stop: async () => {
      end()
      // A process that does not report counts as gone soon anyway.
      await say(deps, daemon, '').catch(() => undefined)
    },
  }
}

export function liveWriters(deps: Pick<WriterDeps, 'store' | 'keys'>): Promise<Writer[]> {
  return say(deps, '', '')
}

async function say({ store, keys }: Pick<WriterDeps, 'store' | 'keys'>, daemon: string, keyId: string) {
  const { used, writers: all, written } = keys.vault
  const writers = await store.reportWriter(used, all, written, daemon, keyId, SILENCE_S)
  return writers.map(([name, id]): Writer => ({ daemon: name, keyId: id }))
}
