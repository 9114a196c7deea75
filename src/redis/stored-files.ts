import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The files in which the private Redis keeps its data, in its folder. Redis 6 has a single one. */
const FOLDER = 'appendonlydir'
const SINGLE = 'appendonly.aof'
const MANIFEST = 'appendonly.aof.manifest'

export interface StoredFiles {
  /** The folder, or the single file, by its name. */
  name: typeof FOLDER | typeof SINGLE
  /** File for Redis' own check of an append-only file. */
  file: string
  /** Data that only a backup gives back; undefined: none. */
  lost: string | undefined
}

/** Undefined: there is no data. */
export function storedFiles(folder: string): StoredFiles | undefined {
  const all = join(folder, FOLDER)
  const names = existsSync(all) ? readdirSync(all).filter((name) => /\.(aof|rdb|manifest)$/.test(name)) : []
  if (names.length > 0) return { name: FOLDER, file: join(all, MANIFEST), lost: lostOf(all, names) }
  const file = join(folder, SINGLE)
  return existsSync(file) ? { name: SINGLE, file, lost: undefined } : undefined
}

/** Without its manifest Redis takes the other files for none, and begins with no data. */
function lostOf(folder: string, names: readonly string[]): string | undefined {
  if (!names.includes(MANIFEST)) return `the list of its files, ${MANIFEST}, is missing`
  const lines = readFileSync(join(folder, MANIFEST), 'latin1').split('\n').filter(Boolean)
  if (lines.length === 0) return `the list of its files, ${MANIFEST}, is empty`
  const files = lines.map((line) => /^file (\S+) seq \d+ type ([bhi])(?: .*)?$/.exec(line))
  if (files.includes(null)) return `the list of its files, ${MANIFEST}, is damaged`
  // Files of history may be deleted already.
  const gone = files.find((found) => found?.[2] !== 'h' && !names.includes(found?.[1] ?? ''))
  return gone == null ? undefined : `${gone[1]} is missing`
}
