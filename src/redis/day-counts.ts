import { isOfOtherType } from './answers.ts'
import type { Store } from './connect.ts'

const DAY_MS = 86_400_000

/** Counts by UTC day, in a hash that others may share: `day since 1970:name` -> count. */
export interface DayCounts<Name extends string> {
  key: string
  names: readonly Name[]
  /** How many days count, today among them. */
  days: number
}

/** Adds to the counts of today, in one transaction; those of days that are over leave. */
export async function addToDay<Name extends string>(
  store: Store,
  { key, names, days }: DayCounts<Name>,
  counts: Readonly<Partial<Record<Name, number>>>,
  now: number,
): Promise<void> {
  const today = Math.floor(now / DAY_MS)
  const count = store.multi()
  for (const name of names) if (counts[name]) count.hincrby(key, `${today}:${name}`, counts[name])
  const [error, fields] = (await count.hkeys(key).exec())?.at(-1) ?? [null, []]
  // These few counts are worth no repair: they begin anew.
  if (isOfOtherType(error)) await store.del(key)
  else if (error !== null) throw error
  const old = (fields as string[] | undefined)?.filter((field) => !isOfDays(field, days, today))
  if (old !== undefined && old.length > 0) await store.hdel(key, ...old)
}

/**
 * The counts of these days by name, and how many days there are from the first one that has any to today; what can't be read
 * counts nothing.
 */
export async function readDays<Name extends string>(
  store: Store,
  { key, names, days }: DayCounts<Name>,
  now: number,
): Promise<{ sums: Record<Name, number>; days: number }> {
  const stored = await store.hgetall(key)
  const sums = Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>
  const today = Math.floor(now / DAY_MS)
  let first = today + 1
  for (const [field, count] of Object.entries(stored)) {
    const [day, counted] = field.split(':')
    const name = names.find((one) => one === counted)
    if (name === undefined || !isOfDays(field, days, today) || !/^\d{1,12}$/.test(count)) continue
    sums[name] += Number(count)
    first = Math.min(first, Number(day))
  }
  return { sums, days: today + 1 - first }
}

/** False for a field of a day that is over, or that is none. */
function isOfDays(field: string, days: number, today: number): boolean {
  const day = Number(field.split(':')[0])
  return day > today - days && day <= today + 1
}
