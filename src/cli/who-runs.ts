import { userInfo } from 'node:os'
import type { Who } from '../audit/audited.ts'
import type { Io } from './io.ts'

/**
 * The user of this machine who runs the command, for the audit; a user who became root by sudo is named, too. Another user than
 * root could set that variable to any name.
 */
export function whoRuns({ env }: Pick<Io, 'env'>): Who {
  const id = process.getuid?.()
  const user = ownName() || `user id ${id ?? 'unknown'}`
  const { SUDO_USER: before = '' } = id === 0 ? env : {}
  return { name: before === '' || before === user ? user : `${before} as ${user}`, via: 'command' }
}

/** Empty for a user without a name, as in some containers. */
function ownName(): string {
  try {
    return userInfo().username
  } catch {
    return ''
  }
}
