import type { AccountState, DueKind } from '../../redis/keys.ts'
import type { Tag } from '../match-account.ts'

/**
 * Orders of a list of accounts. Accounts without such a value come last, by hubId. `worst`: those `ahead`, then by
 * state, then by the nearest limit.
 */
export const ACCOUNT_SORTS = ['worst', 'domain', 'nearest', 'poll'] as const
export type AccountSort = (typeof ACCOUNT_SORTS)[number]

/** `open`: of any level. */
export const ALERT_FILTERS = ['open', 'warning', 'critical'] as const
export type AlertFilter = (typeof ALERT_FILTERS)[number]

/** Which accounts are searched: all that is given must hold. */
export interface AccountFilter {
  /** How a hubId begins, or a part of a domain; '' = everything. */
  text: string
  state?: AccountState | undefined
  /** Their newest reading is older than this moment, ms. */
  staleBefore?: number | undefined
  /** Due since a moment or longer, ms. */
  overdue?: { kind: DueKind; since: number } | undefined
  alert?: AlertFilter | undefined
  tag?: Tag | undefined
}

export interface AccountOrder {
  /** By their hubIds where it is not given: in that order none moves. */
  sort?: AccountSort | undefined
  /** The other way round; accounts that have nothing to be ordered by stay last. */
  descending: boolean
}

/** Accounts that come before all others, worst first: only the caller knows why. */
export interface Ahead {
  places: readonly Place[]
  /** The order of their places; less is worse. */
  compare: (a: Place, b: Place) => number
}

export interface AccountQuery extends AccountFilter, AccountOrder {
  /** Set for the order `worst`. */
  ahead?: Ahead | undefined
  /** Just after, or just before, a place; neither = the beginning. */
  after?: Place | undefined
  before?: Place | undefined
  limit: number
}

/** The place of an account in a list. */
export interface Place {
  hubId: number
  /** Value of the order; undefined where that is its hubId, or where it has no other. */
  key?: string | number | undefined
}

/** How bad an account ahead is, in numbers; or the state of another one and how near it is to a limit. */
const WORST_KEY = /^(-?\d{1,16}(\.\d{1,12})?(_-?\d{1,16}(\.\d{1,12})?)+|[0-5]:(-?\d{1,15}(\.\d{1,12})?)?)$/

/** True for a place of the order `worst` among the accounts ahead. */
export function isAhead({ key }: Place): boolean {
  return String(key ?? '').includes('_')
}

/** A place as it is in addresses: `1234567`, or `1234567~` and what the account is ordered by. */
export function placeText({ hubId, key }: Place): string {
  return key === undefined ? String(hubId) : `${hubId}~${key}`
}

/** Undefined for what is no place in a list of that order. */
export function parsePlace(text: string, sort: AccountSort | undefined): Place | undefined {
  const [, id = '', , key] = /^(0|[1-9]\d{0,15})(~(.{1,300}))?$/su.exec(text) ?? []
  const hubId = Number(id)
  if (id === '' || !Number.isSafeInteger(hubId)) return undefined
  if (key === undefined) return { hubId }
  if (sort === undefined) return undefined
  if (sort === 'domain') return { hubId, key }
  if (sort === 'worst') return WORST_KEY.test(key) ? { hubId, key } : undefined
  const number = Number(key)
  return Number.isFinite(number) && key.trim() !== '' ? { hubId, key: number } : undefined
}
