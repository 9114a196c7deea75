import type { Tag } from '../accounts/match-account.ts'
import { suggest } from '../text/suggest.ts'
import type { OperationDeps } from './deps.ts'
import { textField } from './input.ts'
import type { Listed } from './operation.ts'
import { wrongField } from './refusal.ts'

/* Searches of several lists, and how their pages go on: the same words everywhere. */

export const ALERT_LEVELS = ['warning', 'critical'] as const

export const TAG = textField('only accounts with this tag of the config').optional()

/** A tag that the config has. */
export function tagNamed({ tags }: Pick<OperationDeps, 'tags'>, name: string | undefined): Tag | undefined {
  if (name === undefined) return undefined
  const accounts = Object.hasOwn(tags, name) ? tags[name] : undefined
  if (accounts !== undefined) return { name, accounts }
  const [known, near] = [Object.keys(tags), suggest(name, Object.keys(tags))]
  const hint = near === undefined ? `; allowed: ${known.join(', ')}` : `, did you mean "${near}"?`
  throw wrongField('tag', `is no tag of the config${known.length === 0 ? '' : hint}`)
}

/** The items of a page, and where the next one begins. */
export function pageOfList<T>(rest: readonly T[], limit: number, placeOf: (last: T) => string): Listed<T> {
  const items = rest.slice(0, limit)
  const last = rest.length > limit ? items.at(-1) : undefined
  return { items, next: last && placeOf(last) }
}

/** The number and the id that a place of `number.id` has, in a list that is ordered by both. */
export function numberAndId(place: string): [number: number, id: string] {
  const dot = place.indexOf('.')
  return [Number(place.slice(0, dot)), place.slice(dot + 1)]
}
