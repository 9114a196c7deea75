import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Whether this machine has a program: a test that needs one that set-up can't bring everywhere says so in its name. */
export function isOnPath(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
