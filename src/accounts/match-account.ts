import { fits } from '../text/pattern.ts'

/** The names of an account in settings. */
export interface AccountName {
  hubId: number
  /** Empty where the provider doesn't send it. */
  hubDomain: string
}

/** A name that the config gives to some accounts. */
export interface Tag {
  name: string
  /** hubIds, or patterns of domains such as `*.example.com`. */
  accounts: readonly string[]
}

/** Which accounts are meant: all that is given must fit, of a list one. Nothing given means every account. */
export interface AccountMatch {
  /** hubIds, or patterns of domains such as `*.example.com`. */
  account?: readonly string[] | undefined
  tag?: readonly Tag[] | undefined
}

export function matchesAccount({ account, tag }: AccountMatch, subject: AccountName): boolean {
  return (
    (account?.some((wanted) => isAccount(wanted, subject)) ?? true) &&
    (tag?.some(({ accounts }) => accounts.some((wanted) => isAccount(wanted, subject))) ?? true)
  )
}

/** True where a hubId or a pattern of domains, as the config writes them, means this account. */
export function isAccount(wanted: string, { hubId, hubDomain }: AccountName): boolean {
  return wanted === String(hubId) || fits(wanted.toLowerCase(), hubDomain.toLowerCase())
}

/** Which accounts carry each tag: hubIds and patterns of domains. */
export type Tags = Readonly<Record<string, readonly string[]>>

type Named = { readonly match: { readonly tag?: readonly string[] | undefined } }
type Resolved<T extends Named> = Omit<T, 'match'> & {
  match: Omit<T['match'], 'tag'> & { tag?: readonly Tag[] }
}

/** Settings that name tags, each with the accounts that carry it. A tag without a definition is carried by none. */
export function withTags<T extends Named>(settings: readonly T[], tags: Tags): Resolved<T>[] {
  const tagOf = (name: string): Tag => ({ name, accounts: Object.hasOwn(tags, name) ? (tags[name] ?? []) : [] })
  return settings.map((setting) => {
    const { tag, ...match } = setting.match
    const resolved = { ...match, ...(tag === undefined ? {} : { tag: tag.map(tagOf) }) }
    return { ...setting, match: resolved } as Resolved<T>
  })
}
