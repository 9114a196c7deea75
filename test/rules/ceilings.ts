import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeLines, type Source } from './sources.ts'

const FILE = join(import.meta.dirname, 'ceilings.json')

/** Most code lines of each room: neither blank nor comment. The numbers may only fall. */
export function ceilingFaults(sources: readonly Source[]): string[] {
  const ceilings = readCeilings()
  return [...linesByRoom(sources)].flatMap(([room, lines]) => {
    const ceiling = ceilings[room]
    if (ceiling === undefined) return [`${room} is a new room of ${lines} lines: give it a ceiling in ceilings.json`]
    return lines > ceiling ? [`${room} has ${lines} code lines, ${lines - ceiling} more than its ceiling`] : []
  })
}

export function lowerCeilings(sources: readonly Source[]): void {
  const before = readCeilings()
  const after = [...linesByRoom(sources)].map(([room, lines]) => [room, Math.min(lines, before[room] ?? lines)])
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(after), undefined, 2)}\n`)
}

function readCeilings(): Record<string, number> {
  return JSON.parse(readFileSync(FILE, 'utf8'))
}

/** Rooms are folders: `src/tokens`, `jobs`, `config`; `src` has the files that are in no folder. */
function linesByRoom(sources: readonly Source[]): Map<string, number> {
  const rooms = Map.groupBy(sources, ({ path }) => /^src\/[^/]+(?=\/)|^[^/]+/.exec(path)?.[0] ?? path)
  return new Map(
    [...rooms].sort().map(([room, files]) => [room, files.reduce((sum, file) => sum + codeLines(file), 0)]),
  )
}
