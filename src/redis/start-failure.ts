import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** The list of the files in which the private Redis keeps its data. Redis 6 has a single file in its place. */
function manifestIn(folder: string): string {
  return join(folder, 'appendonlydir', 'appendonly.aof.manifest')
}

/** True where the folder has data of a server. */
export function hasData(folder: string): boolean {
  return (
    isWithoutManifest(folder) || [manifestIn(folder), join(folder, 'appendonly.aof')].some((file) => existsSync(file))
  )
}

/** Redis takes the other files for none then, and would begin with no data. */
export function isWithoutManifest(folder: string): boolean {
  const all = join(folder, 'appendonlydir')
  const isData = (name: string) => /\.(aof|rdb)$/.test(name)
  return !existsSync(manifestIn(folder)) && existsSync(all) && readdirSync(all).some(isData)
}

/** No part of a file that can be cut off: its base, or the list of its files. */
const LOST =
  /append only file \S+\.base\.|Internal error in RDB|Terminating server after rdb file reading failure|Wrong signature trying to load|AOF manifest|AOF file .* doesn't exist|Unable to obtain the AOF file|Error reading the RDB preamble/
const DAMAGED = /Bad file format reading the append only file|Unexpected end of file reading the append only file/

/** Why the private server ended at its start, with the way out. `ended`: how its process ended; `logged`: what it wrote to its log since it was started. */
export function explainStart(folder: string, ended: string, logged: string): Error {
  if (LOST.test(logged)) return lostData(folder, `its data can't be read${lastLogLine(logged)}`)
  const why = DAMAGED.test(logged) ? damageIn(folder) : `${ended}${lastLogLine(logged)}`
  return new Error(`the embedded Redis did not start: ${why}; see ${folder}/redis.log`)
}

/** `why`: what only a backup gives back. */
export function lostData(folder: string, why: string): Error {
  return new Error(
    `the embedded Redis did not start: ${why}: restore the folder ${folder} from a backup; see ${folder}/redis.log`,
  )
}

function damageIn(folder: string): string {
  const manifest = manifestIn(folder)
  const file = existsSync(manifest) ? manifest : join(folder, 'appendonly.aof')
  return (
    'its append-only file is damaged, mostly after its disk was full or the machine went down. Copy the folder, then cut the ' +
    `damaged part off: redis-check-aof --fix ${file}. What was written after it is lost: accounts whose tokens were refreshed ` +
    'then may have to be connected again. A backup may be the better choice'
  )
}

/** The last thing that it complained about: `1234:M 24 Nov 2026 00:17:28.519 # Can't open ...`. */
function lastLogLine(logged: string): string {
  const complaint = [...logged.matchAll(/^\d+:\w .{10,40}? # (.*)$/gm)].at(-1)?.[1] ?? logged.trim().split('\n').at(-1)
  return complaint === undefined || complaint === '' ? '' : ` (${complaint.slice(0, 300)})`
}
