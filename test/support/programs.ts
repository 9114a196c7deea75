import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Whether this machine has a program: a test that needs one that set-up can't bring everywhere says so in its name. */
export function isOnPath(program: string): boolean {
  return findProgram([program]) !== undefined
}

interface Elsewhere {
  /** What whoever runs the tests has named; it comes first. */
  given?: string | undefined
  /** Where set-up may have left one; it comes last. */
  fetched?: string
}

/** Where the first of these programs is; undefined: nowhere. */
export function findProgram(names: readonly string[], { given, fetched }: Elsewhere = {}): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const onPath = folders.flatMap((folder) => names.map((name) => join(folder, name)))
  return [given, ...onPath, fetched].find((path) => path !== undefined && isExecutable(path))
}

function isExecutable(path: string): boolean {
  if (path === '') return false
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
