/** Why the private server ended at its start, with the way out. */
export class ServerStartError extends Error {
  /** The append-only file is damaged: `plimsoll start --repair` cuts the damaged part off. */
  readonly isDamaged: boolean

  constructor(message: string, isDamaged: boolean) {
    super(message)
    this.isDamaged = isDamaged
  }
}

/** No part of a file that can be cut off: its base, or the list of its files. */
const LOST =
  /append only file \S+\.base\.|Internal error in RDB|Terminating server after rdb file reading failure|Wrong signature trying to load|AOF manifest|AOF file .* doesn't exist|Error reading the RDB preamble/
const DAMAGED = /Bad file format reading the append only file|Unexpected end of file reading the append only file/

/** `ended`: how its process ended; `logged`: what it wrote to its log since it was started. */
export function explainStart(folder: string, ended: string, logged: string): ServerStartError {
  if (LOST.test(logged)) return damagedStart(folder, `its data can't be read${lastLogLine(logged)}`)
  const isDamaged = DAMAGED.test(logged)
  const why = isDamaged ? DAMAGE : `${ended}${lastLogLine(logged)}`
  return new ServerStartError(`the embedded Redis did not start: ${why}; see ${folder}/redis.log`, isDamaged)
}

/** `why`: what only a backup gives back. */
export function damagedStart(folder: string, why: string): ServerStartError {
  const hint = `restore the folder ${folder} from a backup; start --repair can't help; see ${folder}/redis.log`
  return new ServerStartError(`the embedded Redis did not start: ${why}: ${hint}`, false)
}

const DAMAGE =
  'its append-only file is damaged, mostly after its disk was full or the machine went down. plimsoll start --repair keeps a ' +
  'copy, cuts the damaged part off (redis-check-aof --fix), and reports how much that was. What was written after it is lost: ' +
  'accounts whose tokens were refreshed then may have to be connected again. A backup may be the better choice'

/** The last thing that it complained about: `1234:M 24 Nov 2026 00:17:28.519 # Can't open ...`. */
function lastLogLine(logged: string): string {
  const complaint = [...logged.matchAll(/^\d+:\w .{10,40}? # (.*)$/gm)].at(-1)?.[1] ?? logged.trim().split('\n').at(-1)
  return complaint === undefined || complaint === '' ? '' : ` (${complaint.slice(0, 300)})`
}
