import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import { suggest } from '../../text/suggest.ts'

/** An account by what a search compares. */
export interface NamedAccount {
  hubId: number
  /** In lower case; '' where the provider doesn't send it. */
  domain: string
}

type InRedis = { store: Store; keys: Keys }

/** So many names take Redis a few ms; then others have their turn. */
const READ_AT_ONCE = 2_000

/** Begins the names of accounts without a domain: they come last. */
export const NAMELESS = '\uffff'

/** The member of `keys.domains` as `lua/include/account-step.lua` makes it. */
export function nameOf({ hubId, domain }: NamedAccount): string {
  return domain === '' ? `${NAMELESS}${String(hubId).padStart(16, '0')}` : `${domain} ${hubId}`
}

/** Undefined for what Plimsoll did not write. */
export function accountOf(name: string): NamedAccount | undefined {
  const [, domain = '', id = ''] = /^(?:(.*) |\uffff)(\d{1,16})$/su.exec(name) ?? []
  return id === '' ? undefined : { hubId: Number(id), domain }
}

/** All accounts in the order of their domains, some at a time. */
export async function* readNames({ store, keys }: InRedis): AsyncGenerator<NamedAccount[]> {
  for (let after = '-'; ; ) {
    const names = await store.zrangebylex(keys.domains, after, '+', 'LIMIT', 0, READ_AT_ONCE)
    yield names.map(accountOf).filter((one) => one !== undefined)
    if (names.length < READ_AT_ONCE) return
    after = `(${names.at(-1)}`
  }
}

type FoundAccount =
  | { is: 'found'; hubId: number }
  | { is: 'several'; hubIds: number[] }
  /** `near`: a few domains with what was given in them, or one that is nearly it. */
  | { is: 'unknown'; near: string[] }

const MOST_NEAR = 3

/** The account with this domain, in lower case. Where there is none, all domains are read for one that is meant. */
export async function findAccount({ store, keys }: InRedis, domain: string): Promise<FoundAccount> {
  // An account that is not identified yet has none: no name leads to it.
  if (domain.trim() === '') return { is: 'unknown', near: [] }
  const names = await store.zrangebylex(keys.domains, `[${domain} `, `(${domain}!`)
  const same = names.flatMap((name) => accountOf(name) ?? []).filter((one) => one.domain === domain)
  const [hubId, ...others] = same.map((one) => one.hubId)
  if (hubId !== undefined)
    return others.length === 0 ? { is: 'found', hubId } : { is: 'several', hubIds: [hubId, ...others] }
  const domains: string[] = []
  for await (const some of readNames({ store, keys })) domains.push(...some.map((one) => one.domain))
  const near = domains.filter((known) => known.includes(domain))
  const mistyped = near.length > 0 ? undefined : suggest(domain, domains)
  return { is: 'unknown', near: mistyped === undefined ? near.slice(0, MOST_NEAR) : [mistyped] }
}
