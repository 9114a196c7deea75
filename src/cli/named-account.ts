import { InvalidArgumentError } from 'commander'
import { findAccount } from '../accounts/search/find-account.ts'
import type { Parts } from '../app/parts.ts'
import { cleanText } from '../text/clean-text.ts'
import { CommandError } from './io.ts'

/** An account as people name it on the command line: its hub id, or its domain in lower case. */
export type AccountName = number | string

export function parseAccount(text: string): AccountName {
  const name = text.trim().toLowerCase()
  if (name !== '' && !/^\d+$/.test(name)) return name
  const hubId = Number(name)
  if (Number.isSafeInteger(hubId) && hubId > 0) return hubId
  throw new InvalidArgumentError('An account is its hub id, such as 1234567, or its domain.')
}

/** For an argument that may be given several times. */
export function parseAccounts(text: string, before: readonly AccountName[] | undefined): AccountName[] {
  return [...(before ?? []), parseAccount(text)]
}

/** Throws CommandError for a domain that no account has, or several have; whether a hub id is known, its command finds out. */
export async function hubIdOf(parts: Pick<Parts, 'store' | 'keys'>, name: AccountName): Promise<number> {
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
export async function hubIdsOf(parts: Pick<Parts, 'store' | 'keys'>, names: readonly AccountName[]): Promise<number[]> {
  return [...new Set(await Promise.all(names.map((name) => hubIdOf(parts, name))))]
}

export function unknownAccount(hubId: number): CommandError {
  return new CommandError(`there is no account ${hubId}: plimsoll accounts list shows all`)
}
