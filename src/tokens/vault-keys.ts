import { randomBytes } from 'node:crypto'
import { join, resolve } from 'node:path'
import { refusesWrites } from '../redis/away.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { NO_ACCOUNT, untilWritten } from '../redis/steps.ts'
import { atInterval } from '../runtime/concurrency.ts'
import { openDataFolder, readOwnFile, writeOnce } from '../runtime/data-folder.ts'
import type { Logger } from '../runtime/logger.ts'
import { Secret } from '../runtime/secret.ts'
import { type Vault, VaultError, type VaultKey } from './vault.ts'

/** The configured keys are not those that stored tokens need. */
export class KeysError extends VaultError {
  /** All that is wrong, one line each, with the way out. */
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

/** The stored facts about keys. */
interface KnownKeys {
  /** By key id: a known value, encrypted with that key. */
  canaries: ReadonlyMap<string, Buffer>
  /** Ids of keys that stored values may be encrypted with: each was the first key of a process. */
  used: readonly string[]
}

/**
 * Checks whether the configured keys open the stored values, by known values before any token is touched; new keys are then
 * registered. A second key that no process has written with yet is registered but not used: a process without it goes on.
 * Throws KeysError. `missing`: whether a used key may be absent, as for a rekey, which repairs that.
 */
export async function checkKeys(
  store: Store,
  keys: Keys,
  vault: Vault,
  missing: 'refused' | 'allowed' = 'refused',
): Promise<void> {
  await untilWritten('the known keys', async () => {
    const known = await readKnownKeys(store, keys)
    const problems = judgeKeys(known, vault, missing)
    if (problems.length > 0) throw new KeysError(problems)
    return register(store, keys, vault, { known, missing })
  })
}

async function register(
  store: Store,
  keys: Keys,
  vault: Vault,
  { known, missing }: { known: KnownKeys; missing: 'refused' | 'allowed' },
): Promise<'registered' | 'stale'> {
  try {
    return await store.registerKeys(
      keys.vault.canaries,
      keys.vault.used,
      missing === 'allowed' ? 'yes' : 'no',
      ...vault.keyIds.flatMap((id) => [
        id,
        known.canaries.get(id) ?? '',
        vault.seal(new Secret('plimsoll'), NO_ACCOUNT, 'canary', id),
      ]),
    )
  } catch (error) {
    // Redis may refuse writes, as when its disk is full: stored values can be read all the same.
    const [first = ''] = vault.keyIds
    const isKnown = known.used.includes(first) && vault.keyIds.every((id) => known.canaries.has(id))
    if (isKnown && refusesWrites(error)) return 'registered'
    throw error
  }
}

/** The problems of the keys in `vault`, one line each. */
export function judgeKeys(known: KnownKeys, vault: Vault, missing: 'refused' | 'allowed'): string[] {
  const problems = new Set<string>()
  const canaries = vault.keyIds.flatMap((id) => known.canaries.get(id) ?? [])
  for (const canary of canaries) {
    try {
      vault.open(canary, NO_ACCOUNT, 'canary')
    } catch (error) {
      if (!(error instanceof VaultError)) throw error
      problems.add(error.message)
    }
  }
  if (missing === 'allowed') return [...problems]
  for (const id of known.used) {
    if (vault.keyIds.includes(id)) continue
    problems.add(
      `stored tokens may be encrypted with key ${id}, which is not configured: add it to encryption.keys, ` +
        'or run plimsoll keys rekey with it first',
    )
  }
  return [...problems]
}

export async function readKnownKeys(store: Store, keys: Keys): Promise<KnownKeys> {
  const [canaries, used] = await Promise.all([
    store.hgetallBuffer(keys.vault.canaries),
    store.smembers(keys.vault.used),
  ])
  return { canaries: new Map(Object.entries(canaries)), used }
}

/** Before a key is made: one that is lost must not be replaced by one that opens nothing. Throws KeysError. */
export async function checkNothingIsSealed(store: Store, keys: Keys, file: string): Promise<void> {
  const { canaries, used } = await readKnownKeys(store, keys)
  const sealedWith = [...new Set([...canaries.keys(), ...used])].sort()
  if (sealedWith.length === 0) return
  const which = sealedWith.includes('k1')
    ? `restore k1 from your backup to ${file}`
    : `name the keys in encryption.keys again (${sealedWith.join(', ')})`
  throw new KeysError([
    `tokens are stored, but their key is gone, and no new one is made, which would open none: ${which}`,
  ])
}

/**
 * The key of an installation whose config names none: made at the first start, in the data folder, readable by this user only.
 * With `made` the caller logs that it must be backed up.
 */
export function ownKey(dataDir: string): { key: VaultKey; file: string; made: boolean } {
  const file = ownKeyFile(dataDir)
  openDataFolder(dataDir, 'keys')
  const made = writeOnce(file, () => `${randomBytes(32).toString('base64')}\n`)
  const key = Buffer.from(readOwnFile(file).text.trim(), 'base64')
  if (key.length !== 32) throw new Error(`${file} must hold 32 bytes in base64 on one line: restore it from a backup`)
  return { key: { id: 'k1', key }, file, made }
}

export function ownKeyFile(dataDir: string): string {
  return join(resolve(dataDir), 'keys', 'k1')
}

/**
 * Which process encrypts with which key. A rekey must know it: a daemon that still has the old key first may write
 * nothing for half an hour, and then a value that no process can read once that key is gone; so may a long import.
 */
export interface Writer {
  /** The machine and the process; of one that is no daemon its command, too. */
  daemon: string
  keyId: string
  /** Other keys that encrypt values in its own data folder: none of them may go, whatever is in Redis. */
  needs: readonly string[]
}

const REPORT_EVERY_MS = 3_000
/** A process that has not reported for so long is dead. */
export const SILENCE_S = 10

interface WriterDeps {
  store: Store
  keys: Keys
  vault: Vault
  log: Logger
  /** Asked before each report: ids of other keys that encrypt values in the process's own data folder. */
  needs?: () => readonly string[]
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
    const writers = await reportWriter(deps, daemon, deps.vault.keyIds[0], deps.needs?.())
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
  // Errors are ignored here: the jobs log that Redis is away, and the next report comes soon.
  const end = atInterval(report, REPORT_EVERY_MS)
  return {
    report,
    stop: async () => {
      end()
      // A process that does not report counts as gone soon anyway.
      await reportWriter(deps, daemon, '', [deps.vault.keyIds[0]]).catch(() => undefined)
    },
  }
}

export function liveWriters(deps: Pick<WriterDeps, 'store' | 'keys'>): Promise<Writer[]> {
  return reportWriter(deps, '', '') // Without a name nothing is reported: the answer is the list.
}

async function reportWriter(
  { store, keys }: Pick<WriterDeps, 'store' | 'keys'>,
  daemon: string,
  keyId: string,
  needs: readonly string[] = [],
) {
  const { used, writers: all, written } = keys.vault
  const writers = await store.reportWriter(used, all, written, daemon, keyId, SILENCE_S, ...needs)
  return writers.map(([name, id, ...needs]): Writer => ({ daemon: name, keyId: id, needs }))
}
