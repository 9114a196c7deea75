import type { Store } from '../../redis/connect.ts'
import { ACCOUNT_STATES, type Keys } from '../../redis/keys.ts'
import { suggest } from '../../text/suggest.ts'

/** An account by what a search compares. */
export interface DirectoryEntry {
  hubId: number
  /** In lower case; '' where the provider doesn't send it. */
  domain: string
}

/** So many accounts take Redis a few ms; then others have their turn. */
const READ_AT_ONCE = 2_000

/**
 * All accounts with their domains, in memory: to read 100,000 records for each search takes Redis a fifth of a second. They
 * are read anew when their version shows that an account came, left or got another domain, so this never lists yesterday. Some 10 MB for 100,000 accounts, from the first search on.
 */
export class Directory {
  readonly #store: Store
  readonly #keys: Keys
  #known: { version: string | null; entries: readonly DirectoryEntry[] } | undefined
  /** The read that is under way, or came last, and the one that begins after it. */
  #last: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#keys = keys
  }

  /** The accounts as they are now. */
  async read(): Promise<readonly DirectoryEntry[]> {
    await this.#look()
    return this.#known?.entries ?? []
  }

  /** So that a first search need not wait: called when a page with a search form is opened. */
  async warm(): Promise<void> {
    if (this.#known === undefined) await this.read()
  }

  /**
   * One after the other: a first search that came twice would be twice the work. A caller during a read shares
   * the next one: so no caller gets older data than its call, or waits for a Redis that is away once for each before it.
   */
  #look(): Promise<void> {
    this.#next ??= this.#last
      .catch(() => undefined)
      .then(() => {
        this.#last = this.#next ?? this.#last
        this.#next = undefined
        return this.#refresh()
      })
    return this.#next
  }

  async #refresh(): Promise<void> {
    const version = await this.#store.get(this.#keys.domainsVersion)
    if (this.#known === undefined || this.#known.version !== version)
      this.#known = { version, entries: await this.#readAll() }
  }

  async #readAll(): Promise<DirectoryEntry[]> {
    const entries: DirectoryEntry[] = []
    for (let after = '-inf'; ; ) {
      const [json, next] = await this.#store.readDomains(this.#keys.alerting, after, READ_AT_ONCE, ...ACCOUNT_STATES)
      const found = JSON.parse(json) as string[]
      for (let n = 0; n < found.length; n += 2) {
        entries.push({ hubId: Number(found[n]), domain: (found[n + 1] ?? '').toLowerCase() })
      }
      if (next === '') return entries
      after = next
    }
  }
}

type FoundAccount =
  | { is: 'found'; hubId: number }
  | { is: 'several'; hubIds: number[] }
  /** `near`: a few domains with what was given in them, or one that is nearly it. */
  | { is: 'unknown'; near: string[] }

const MOST_NEAR = 3

/** The account with this domain, in lower case. All domains are read, so it is for one question and not for each of many. */
export async function findAccount(directory: Directory, domain: string): Promise<FoundAccount> {
  // An account that is not identified yet has none: no name leads to it.
  if (domain.trim() === '') return { is: 'unknown', near: [] }
  const entries = await directory.read()
  const [hubId, ...others] = entries.filter((entry) => entry.domain === domain).map((entry) => entry.hubId)
  if (hubId !== undefined)
    return others.length === 0 ? { is: 'found', hubId } : { is: 'several', hubIds: [hubId, ...others] }
  const domains = entries.map((entry) => entry.domain)
  const near = domains.filter((known) => known.includes(domain)).sort()
  const mistyped = near.length > 0 ? undefined : suggest(domain, domains)
  return { is: 'unknown', near: mistyped === undefined ? near.slice(0, MOST_NEAR) : [mistyped] }
}
