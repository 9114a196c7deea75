import { resolve } from 'node:path'
import type { Issue } from './explain.ts'
import { groupsWith, twinOf } from './names.ts'
import { groupAt, pathInFile, removeAt } from './places.ts'
import { type Path, renderPath, unknownName } from './problems.ts'
import { readContent } from './read-content.ts'
import { settings } from './schema.ts'
import type { Source } from './source.ts'

export interface FileAccess {
  /** Folder that relative paths start from. */
  folder: string
  readFile: (path: string) => string
}

/** Names that the schema does not have: those of secrets' files, which are read, and unknown ones. */
export function settleNames(source: Source, { path, unknown = [], message }: Issue, world: FileAccess): void {
  const known = message.split(',')
  const at = pathInFile(source, path)
  for (const key of unknown) {
    if (known.includes(key)) readTwin(source, [...at, key], world)
    else reportName(source, [...at, key], sayUnknown(key, known, at))
    removeAt(source, [...at, key])
  }
}

function sayUnknown(key: string, known: readonly string[], path: Path): string {
  const message = unknownName(key, known)
  const homes = message.includes('did you mean') || path.length > 1 ? [] : groupsWith(key, settings.shape)
  return homes.length === 0 ? message : `unknown here; did you mean ${homes.join(' or ')}?`
}

/** Before what is wrong with its value. */
function reportName(source: Source, path: Path, message: string): void {
  const place = renderPath(path)
  source.problems.unshift({ path: place, ...source.names.get(place), message })
}

/** Puts the secret that a file holds in its place; where it can't be read, the schema's message names what is allowed. */
function readTwin(source: Source, path: Path, { folder, readFile }: FileAccess): void {
  const place = renderPath(path)
  const group = groupAt(source, path.slice(0, -1))
  const key = String(path.at(-1))
  const name = key.slice(0, -twinOf('').length)
  const secret = renderPath([...path.slice(0, -1), name])
  const given = group[key]
  if (given === undefined) return
  if (group[name] !== undefined) {
    reportName(source, path, `is set beside ${name}: keep one of the two`)
    return
  }
  const isPath = typeof given === 'string' && given !== ''
  const file = isPath ? resolve(folder, given) : ''
  if (!isPath) source.problems.push({ path: place, ...source.values.get(place), message: 'must be the path of a file' })
  const { text = '', fault } = isPath ? readContent(file, readFile) : {}
  const held = text.replace(/(\r?\n)+$/, '')
  const why = fault ?? (held.trim() === '' ? 'the file is empty' : undefined)
  // A path from a variable may be the secret itself, by mistake.
  const shown = source.foreign.has(place) ? undefined : file
  source.twins.set(secret, {
    place,
    file: shown ?? 'FILE',
    ...(why !== undefined && { fault: shown === undefined ? why : `${why}: ${shown}` }),
  })
  source.foreign.add(secret)
  group[name] = why === undefined ? held : ''
}
