import { closeSync, cpSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { openDataFolder } from '../runtime/data-folder.ts'
import { checkAppendOnlyFile, lockFolder } from './server-program.ts'
import { storedFiles } from './stored-files.ts'

/** Outcome of a repair of the append-only file. */
export interface Repair {
  /** Damaged from there to its end, which is gone now; of a file of so many bytes. */
  cutBytes: number
  ofBytes: number
  /** Path of the copy of the damaged file. */
  copy: string
}

/**
 * Cuts off the end of the append-only file from the first damage on; undefined where it is whole. Throws where Redis' own
 * program can't repair it, with all as it was, or where a server is at work on it.
 */
export function repairAppendOnlyFile(dataDir: string, now: number): Repair | undefined {
  const folder = openDataFolder(dataDir, 'redis')
  const stored = storedFiles(folder)
  if (stored === undefined) return undefined
  const lock = lockFolder(folder, 'exclusive')
  if (lock === undefined) throw new Error(`a redis-server runs in ${folder}: stop the daemons, then repair`)
  try {
    if (stored.lost !== undefined) throw unrepairable(folder, stored.lost)
    if (checkAppendOnlyFile(stored.file).isWhole) return undefined
    const original = join(folder, stored.name)
    const copy = join(folder, `damaged-${new Date(now).toISOString().replaceAll(':', '')}`)
    copyFolder(original, copy)
    const { isWhole, output } = checkAppendOnlyFile(stored.file, 'fix')
    const [, ofBytes, cutBytes] = /from (\d+) bytes, with (\d+) bytes/.exec(output) ?? []
    if (isWhole) return { cutBytes: Number(cutBytes ?? 0), ofBytes: Number(ofBytes ?? 0), copy }
    putBack(copy, original)
    throw unrepairable(folder, `redis-check-aof: ${output.trim().split('\n').at(-1)}`)
  } finally {
    closeSync(lock)
  }
}

function unrepairable(folder: string, why: string): Error {
  return new Error(
    `the data in ${folder} can't be repaired: restore the folder from a backup. It is unchanged. The cause: ${why}`,
  )
}

function copyFolder(from: string, to: string): void {
  try {
    cpSync(from, to, { recursive: true })
  } catch (error) {
    rmSync(to, { recursive: true, force: true })
    throw error
  }
}

/** By renaming: the disk may be full. What was tried may have been cut all the same. */
function putBack(copy: string, original: string): void {
  const tried = `${copy}-tried`
  renameSync(original, tried)
  renameSync(copy, original)
  rmSync(tried, { recursive: true, force: true })
}
