import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import { suggest } from '../../text/suggest.ts'
import { Directory } from './directory.ts'

export type FoundAccount =
  | { is: 'found'; hubId: number }
  | { is: 'several'; hubIds: number[] }
  /** `near`: a few domains with what was given in them, or one that is nearly it. */
  | { is: 'unknown'; near: string[] }

const MOST_NEAR = 3

/** The account with this domain, in lower case. All domains are read, so it is for one question and not for each of many. */
export async function findAccount(
  { store, keys }: { store: Store; keys: Keys },
  domain: string,
): Promise<FoundAccount> {
  const entries = (await new Directory(store, keys).read()).flat()
  const [hubId, ...others] = entries.filter((entry) => entry.domain === domain).map((entry) => entry.hubId)
  if (hubId !== undefined)
    return others.length === 0 ? { is: 'found', hubId } : { is: 'several', hubIds: [hubId, ...others] }
  const domains = entries.map((entry) => entry.domain)
  const near = domains.filter((known) => known.includes(domain)).sort()
  const mistyped = near.length > 0 ? undefined : suggest(domain, domains)
  return { is: 'unknown', near: mistyped === undefined ? near.slice(0, MOST_NEAR) : [mistyped] }
}
