import { findAccount } from '../accounts/search/directory.ts'
import type { Services } from '../app/services.ts'
import { cleanText } from '../text/clean-text.ts'
import type { AccountArgument } from './arguments.ts'
import { CommandError } from './io.ts'

/** Throws CommandError for a domain that no account has, or several have; whether a hub id is known, its command finds out. */
export async function hubIdNamed(parts: Pick<Services, 'store' | 'keys'>, name: AccountArgument): Promise<number> {
  if (typeof name === 'number') return name
  const found = await findAccount(parts, name)
  if (found.is === 'found') return found.hubId
  if (found.is === 'several') {
    throw new CommandError(`accounts ${found.hubIds.join(', ')} have the domain ${cleanText(name)}: give a hub id`)
  }
  const { near } = found
  const hint =
    near.length === 0
      ? 'plimsoll accounts list shows all'
      : `did you mean ${near.map((one) => cleanText(one)).join(' or ')}?`
  throw new CommandError(`no account has the domain ${cleanText(name)}: ${hint}`)
}

/** Each account once, in the order given. */
export async function hubIdsNamed(
  parts: Pick<Services, 'store' | 'keys'>,
  names: readonly AccountArgument[],
): Promise<number[]> {
  return [...new Set(await Promise.all(names.map((name) => hubIdNamed(parts, name))))]
}

export function noSuchAccount(hubId: number): CommandError {
  return new CommandError(`there is no account ${hubId}: plimsoll accounts list shows all`)
}
