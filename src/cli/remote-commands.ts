import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RemoteCommand } from '../operations/describe-commands.ts'

/** Written by the build: the operations themselves are most of the program, and a command needs only their description. */
const BUILT = join(import.meta.dirname, 'remote-commands.json')

/** The commands that the API answers. */
export async function readRemoteCommands(): Promise<readonly RemoteCommand[]> {
  if (existsSync(BUILT)) return JSON.parse(readFileSync(BUILT, 'utf8'))
  const [{ OPERATIONS }, { describeCommands }] = await Promise.all([
    import('../operations/all-operations.ts'),
    import('../operations/describe-commands.ts'),
  ])
  return describeCommands(OPERATIONS)
}
