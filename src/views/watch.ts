import type { Account } from '../accounts/account.ts'
import { iso } from '../text/format-time.ts'
import type { AccountShape } from './shapes/account.ts'

const IS = { all: 'cannot be watched', part: 'cannot be watched in part' } as const

/** What keeps an account's limits from being read, as the API tells it; null = nothing that is known. */
export function watchJson({ pollBlocked }: Account): AccountShape['watch'] {
  if (pollBlocked === null) return null
  const { what, since, scopes } = pollBlocked
  return { is: IS[what], because: 'scope missing', since: iso(since), scopes }
}

/** The same in a sentence for people; the scopes are a stranger's words, to be cleaned by whoever shows them. */
export function watchText({ pollBlocked }: Pick<Account, 'pollBlocked'>): string | undefined {
  if (pollBlocked === null) return undefined
  const { what, scopes } = pollBlocked
  const named = scopes.length === 0 ? '' : `; the provider asks for ${scopes.join(', ')}, which need not be right`
  return `${IS[what]}: a scope is missing${named}`
}
