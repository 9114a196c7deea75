import { Secret } from '../src/runtime/secret.ts'
import { type Path, renderPath } from './problems.ts'
import { isGroup } from './relations.ts'
import type { Config } from './schema.ts'

/** Where two configs differ, as paths of settings: `provider.clientSecret`, `thresholds[2].warning.percent`. */
export function changedPaths(before: Config, after: Config): string[] {
  return differences(before, after, [])
}

function differences(before: unknown, after: unknown, path: Path): string[] {
  if (isPlain(before) && isPlain(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)])
    return [...names].flatMap((name) => differences(before[name], after[name], [...path, name]))
  }
  // Lists of one length are compared entry by entry; where one was added, all that follow have moved.
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return before.flatMap((entry, index) => differences(entry, after[index], [...path, index]))
  }
  return isSame(before, after) ? [] : [renderPath(path)]
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return isGroup(value) && !(value instanceof Secret)
}

function isSame(before: unknown, after: unknown): boolean {
  if (before instanceof Secret && after instanceof Secret) return before.reveal() === after.reveal()
  return before === after
}
