import { deflateSync, inflateSync } from 'node:zlib'
import type { Change } from './change.ts'

/*
 * Redis holds the history of an account as a list: a line of JSON for each change since it was last thinned out, and before
 * these all older ones as one block, a list of the same JSON, compressed. A month of changes is 40 kB as lines, and 4 kB as a block.
 */

export function encodeChange(change: Change): string {
  return JSON.stringify(change)
}

export function encodeBlock(changes: readonly Change[]): Buffer {
  return deflateSync(JSON.stringify(changes))
}

/** Lines and blocks in any order, oldest change first. Throws for what is neither. */
export function decodeChanges(stored: readonly Buffer[]): Change[] {
  return stored.flatMap((one) => {
    const isLine = one[0] === LINE_START
    const changes = isLine ? [JSON.parse(one.toString())] : JSON.parse(inflateSync(one).toString())
    return (changes as Change[]).map(withUndefined)
  })
}

const LINE_START = '{'.charCodeAt(0)

/** A series that did not exist is null in JSON. */
function withUndefined({ before, ...change }: Change): Change {
  return { ...change, before: before.map(([id, was]) => [id, was ?? undefined]) }
}
