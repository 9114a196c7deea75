import type { AccountSort, Place } from './account-query.ts'

/** A place as it stands in addresses: `1234567`, or `1234567~` and what the account is ordered by. */
export function placeText({ hubId, key }: Place): string {
  return key === undefined ? String(hubId) : `${hubId}~${key}`
}

/** Undefined for what is no place in a list of that order. */
export function parsePlace(text: string, sort: AccountSort): Place | undefined {
  const [, id = '', , key] = /^(0|[1-9]\d{0,15})(~(.{1,300}))?$/su.exec(text) ?? []
  const hubId = Number(id)
  if (id === '' || !Number.isSafeInteger(hubId)) return undefined
  if (key === undefined) return { hubId }
  if (sort === 'hubId') return undefined
  if (sort === 'domain') return { hubId, key }
  const number = Number(key)
  return Number.isFinite(number) && key.trim() !== '' ? { hubId, key: number } : undefined
}
