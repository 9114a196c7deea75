import { twinOf } from './names.ts'
import { type ConfigProblem, type Path, renderPath } from './problems.ts'
import { SECRET_REQUIRED } from './secrets.ts'
import type { Source } from './source.ts'
import { asGroup } from './values.ts'

export function valueAt(data: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, step) => {
    return Array.isArray(value) ? value[Number(step)] : asGroup(value)[String(step)]
  }, data)
}

/** A group of the file's own values, which are filled in in place. */
export function groupAt({ data }: Source, path: Path): Record<PropertyKey, unknown> {
  return (valueAt(data, path) ?? {}) as Record<PropertyKey, unknown>
}

export function removeAt(source: Source, path: Path): void {
  delete groupAt(source, path.slice(0, -1))[path.at(-1) ?? '']
}

/** The path as the file has it: the only entry of a list may stand in place of the list. */
export function pathInFile({ data }: Source, path: Path): Path {
  let value = data
  return path.filter((step) => {
    if (typeof step === 'number' && !Array.isArray(value)) return false
    value = valueAt(value, [step])
    return true
  })
}

/** True where the value, or what it is part of, came from outside the file. */
export function isForeign(source: Source, path: Path): boolean {
  return beginnings(pathInFile(source, path)).some((place) => source.foreign.has(place))
}

/** A problem at the setting that is in the file; a problem of a secret's file is reported where that file is named. */
export function locate(source: Source, path: Path, message: string): ConfigProblem {
  const places = beginnings(pathInFile(source, path))
  const twin = places.map((place) => source.twins.get(place)).find((one) => one !== undefined)
  const name = String(path.findLast((step) => typeof step === 'string'))
  if (twin === undefined) {
    const nearest = places.find((place) => source.values.has(place))
    const shown = message === SECRET_REQUIRED ? `required, here or in a file that ${twinOf(name)} names` : message
    return { path: places[0] ?? '', ...(nearest !== undefined && source.values.get(nearest)), message: shown }
  }
  const { place, fault, file } = twin
  const make = /to make one: (.*)$/.exec(message)?.[1]
  const hint = make === undefined ? `write the secret into it, or give ${name} here` : `to make one: ${make} > ${file}`
  const shown = fault === undefined ? `content of the file: ${message}` : `${fault}; ${hint}`
  return { path: place, ...source.values.get(place), message: shown }
}

/** A path and those of all that it is part of, the longest first. */
function beginnings(path: Path): string[] {
  return path.map((_, index) => renderPath(path.slice(0, path.length - index)))
}
