import type { Services } from '../app/services.ts'
import { AdminTokenStore } from '../http/access/admin-tokens.ts'
import { countOf } from '../text/format-number.ts'
import { type Rekeyed, rekeyAll } from '../tokens/rekey.ts'
import type { Writer } from '../tokens/vault-keys.ts'
import type { CommonOptions } from './arguments.ts'
import { CommandError, type Io, printJson } from './io.ts'
import type { JsonOf } from './json-shapes.ts'
import { showProgress } from './progress.ts'
import { say } from './say.ts'
import { withParts } from './with-parts.ts'

/** `plimsoll keys rekey`. */
export async function rekey(io: Io, options: CommonOptions): Promise<void> {
  const progress = showProgress(io, 'accounts')
  const watcher = {
    progress: progress.at,
    waiting: (writers: readonly Writer[]) => {
      progress.clear()
      io.err(`waiting for processes that still encrypt with another key: ${writers.map(writerText).join(', ')}\n`)
    },
    signal: io.stop,
  }
  // A key that is missing may be one that nothing is encrypted with any more: this command finds out.
  const work = async (parts: Services) => {
    const rekeyed = await rekeyAll(parts, watcher)
    // Every daemon has the first key by now: none takes for a stranger's what is sealed with it.
    if (rekeyed.is === 'clean') await new AdminTokenStore(parts.store, parts.keys, parts.vault).sealAnew()
    return rekeyed
  }
  const needs = { ...options, missingKeys: 'allowed', writesAs: 'keys rekey', stops: 'by itself' } as const
  const rekeyed = await withParts(io, needs, work).finally(progress.end)
  if (options.json === true) printJson(io, 'keys rekey', jsonOf(rekeyed))
  else say(io, ...summaryOf(rekeyed))
  failUnlessDone(rekeyed)
}

function jsonOf({ is, keyId, writers, writingKeys, ...counts }: Rekeyed): JsonOf<'keys rekey'> {
  return { outcome: is, key: keyId, ...counts, ...(is === 'writing' ? { writingKeys, writers } : {}) }
}

function summaryOf({ is, keyId, accounts, replaced, unopened, removable }: Rekeyed): string[] {
  const done = `${countOf(accounts, 'account')}: ${countOf(replaced, 'value')} encrypted anew with key ${keyId}`
  const named = unopened.map(
    ({ hubId, fields, reason }) => `account ${hubId}: ${fields.join(', ')} left as it was: ${reason}`,
  )
  const everything = is === 'clean' && unopened.length === 0 ? [`everything is encrypted with key ${keyId}`] : []
  const after =
    removable.length === 0
      ? []
      : [
          `nothing is encrypted with key ${removable.join(', ')}: it may be taken out of encryption.keys everywhere, then send each daemon SIGHUP`,
        ]
  return [done, ...named, ...everything, ...after]
}

function failUnlessDone({ is, unopened, writers, writingKeys }: Rekeyed): void {
  if (is === 'stopped') throw new CommandError('stopped: run it again, it goes on where it was')
  if (is === 'writing') {
    const who = writers.length === 0 ? '' : ` (${writers.map(({ daemon }) => daemon).join(', ')})`
    throw new CommandError(
      `another process still writes with key ${writingKeys.join(', ')}${who}: send a daemon SIGHUP, let a command end, then run this again`,
    )
  }
  if (unopened.length > 0) {
    throw new CommandError(
      `no configured key opens tokens of ${countOf(unopened.length, 'account')}: add the key to encryption.keys, or have the customer connect again`,
    )
  }
}

function writerText({ daemon, keyId }: Writer): string {
  return `${daemon} with key ${keyId}`
}
