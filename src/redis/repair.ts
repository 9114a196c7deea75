import { closeSync, cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { openDataFolder } from '../runtime/data-folder.ts'
import { checkAppendOnlyFile, takeServerLock } from './server-program.ts'

/** What a repair of the append-only file came to. */
export interface Repair {
  /** Damaged from there to its end, which is gone now; of a file of so many bytes. */
  cutBytes: number
  ofBytes: number
  /** Where the file is as it was. */
  copy: string
}

/**
 * Cuts off the end of the append-only file from the first damage on; undefined where it is whole. Throws where Redis' own
 * program can't repair it, or a server is at work on it.
 */
export function repairAppendOnlyFile(dataDir: string, now: number): Repair | undefined {
  const folder = openDataFolder(dataDir, 'redis')
  // Redis 6 has a single file.
  const name = ['appendonlydir', 'appendonly.aof'].find((one) => existsSync(join(folder, one)))
  if (name === undefined) return undefined
  const lock = takeServerLock(join(folder, 'server.lock'))
  if (lock === undefined) throw new Error(`a redis-server is at work in ${folder}: stop the daemons, then repair`)
  try {
    const file = join(folder, name, ...(name === 'appendonlydir' ? ['appendonly.aof.manifest'] : []))
    if (checkAppendOnlyFile(file).isWhole) return undefined
    const copy = join(folder, `damaged-${new Date(now).toISOString().replaceAll(':', '')}`)
    cpSync(join(folder, name), copy, { recursive: true })
    const { isWhole, said } = checkAppendOnlyFile(file, 'fix')
    const [, ofBytes, cutBytes] = /from (\d+) bytes, with (\d+) bytes/.exec(said) ?? []
    if (isWhole) return { cutBytes: Number(cutBytes ?? 0), ofBytes: Number(ofBytes ?? 0), copy }
    throw new Error(
      `${file} can't be repaired: restore the folder ${folder} from a backup. redis-check-aof: ${said.trim()}`,
    )
  } finally {
    closeSync(lock)
  }
}
