import { stepJson } from '../redis/steps.ts'
import { defined } from '../runtime/defined.ts'
import type { Secret } from '../runtime/secret.ts'
import { takeIntent } from '../tokens/parked-grants.ts'
import { openToken, type Vault } from '../tokens/vault.ts'
import type { AccountRow, ReadLine } from './account-rows.ts'
import type { ConnectDeps } from './connect-account.ts'

type Importing = Pick<ConnectDeps, 'store' | 'keys' | 'vault' | 'clock'>

export interface ImportOptions {
  /** True to overwrite accounts that are known. */
  replace: boolean
  /** After the line that is being read the import ends when this is true. */
  stop: AbortSignal
  onBad: (problem: BadLine) => void
  /** So many more lines are done. */
  onProgress: (lines: number) => void
}

export interface BadLine {
  line: number
  problem: string
}

export interface ImportSummary {
  imported: number
  /** Known already and left as they were. */
  kept: number
  /** Kept accounts that are uninstalled, or being uninstalled. */
  keptUninstalled: number
  replaced: number
  bad: number
  /** True: stopped before the end of the file. */
  stopped: boolean
}

/** Steps under way at a time. */
const BATCH = 250

/**
 * Takes accounts in, each wholly or not at all. What is known is kept, so an import that was cut off is run again from
 * the start. Only the numbers of lines and accounts are kept in memory.
 */
export async function importRows(
  deps: Importing,
  lines: AsyncIterable<ReadLine>,
  options: ImportOptions,
): Promise<ImportSummary> {
  const summary: ImportSummary = { imported: 0, kept: 0, keptUninstalled: 0, replaced: 0, bad: 0, stopped: false }
  const firstLines = new Map<number, number>()
  let version: number | undefined
  let batch: Promise<void>[] = []
  try {
    for await (const read of lines) {
      const checked = check(deps.vault, read, firstLines)
      if ('problem' in checked) {
        summary.bad++
        options.onBad({ line: read.line, problem: checked.problem })
      } else {
        version ??= await takeIntent(deps)
        const step = importOne(deps, checked, { version, ...options }).then((outcome) => {
          if (outcome === 'uninstalled') summary.keptUninstalled++
          summary[outcome === 'uninstalled' ? 'kept' : outcome]++
        })
        step.catch(() => undefined) // It may fail while the next line is waited for: its batch finds out.
        batch.push(step)
      }
      options.onProgress(1)
      summary.stopped = options.stop.aborted
      if (summary.stopped) break
      if (batch.length < BATCH) continue
      await Promise.all(batch)
      batch = []
    }
  } catch (error) {
    // With its sender the file ends, too.
    if (!options.stop.aborted) throw error
    summary.stopped = true
  }
  await Promise.all(batch)
  return summary
}

/** A sealed token is opened, which proves the key, and sealed anew with the key that writes. */
function check(vault: Vault, read: ReadLine, firstLines: Map<number, number>): { problem: string } | Accepted {
  if ('problem' in read) return read
  const { hubId, token } = read.row
  const opened =
    token.is === 'clear' ? { ok: true as const, value: token.value } : openToken(vault, token.value, hubId, 'refresh')
  if (!opened.ok) return { problem: `has a sealedRefreshToken that can't be opened: ${opened.failure.message}` }
  const first = firstLines.get(hubId)
  if (first !== undefined) return { problem: `names the account ${hubId} of line ${first} again` }
  firstLines.set(hubId, read.line)
  return { row: read.row, token: opened.value }
}

interface Accepted {
  row: AccountRow
  token: Secret
}

function importOne(
  { store, keys, vault, clock }: Importing,
  { row, token }: Accepted,
  { replace, version }: { replace: boolean; version: number },
) {
  const { hubId, hubDomain, user, contact, connectedAt } = row
  const now = clock.now()
  const fields = { hubDomain, user, connectedAt: String(connectedAt ?? now), metadataDue: '1', tokenDriftMs: '' }
  return store.importAccount(
    keys.own(hubId),
    hubId,
    now,
    vault.seal(token, hubId, 'refresh'),
    replace ? 'replace' : '',
    // A file without contacts takes none away.
    stepJson({ ...fields, ...defined({ contact }) }),
    version,
  )
}
