import { CommandError } from './io.ts'

const WHY: Readonly<Record<string, (name: string) => string>> = {
  ENOENT: (name) => `there is no file ${name}`,
  EACCES: (name) => `this user may not read ${name}`,
  EISDIR: (name) => `${name} is a folder: it takes a file`,
}

/** Why a file that was named on the command line can't be read. */
export function unreadable(name: string, error: unknown): CommandError {
  const { code = '' } = error as NodeJS.ErrnoException
  return new CommandError(WHY[code]?.(name) ?? `${name} can't be read (${code})`)
}
