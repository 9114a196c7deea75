import type { Account } from '../accounts/account.ts'
import { formatCount } from '../text/format-number.ts'
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

/** In a sentence for people; undefined: all of its last reports could be read. */
export function gapsText({ gaps: [first, ...others] }: Pick<Account, 'gaps'>): string | undefined {
  if (first === undefined) return undefined
  return `read with gaps: ${first}${others.length === 0 ? '' : `, and ${formatCount(others.length)} more`}`
}

/** In a sentence for people; undefined: all of its object types are watched. */
export function leftOutText({ objectTypesLeftOut: count }: Pick<Account, 'objectTypesLeftOut'>): string | undefined {
  if (count === 0) return undefined
  return `${formatCount(count)} are not watched: more than are kept of one account, or ids that are too long`
}
