import { createHmac } from 'node:crypto'
import { isSameText } from './secret.ts'

/** Signed parameters of links of one kind, in this order, each with its pattern. */
export interface SignedParameters<Name extends string> {
  /** Part of what is signed, so that a link of one kind is worth nothing as another. */
  purpose: string
  parameters: Readonly<Record<Name, RegExp>>
}

/** Links of one kind to a path of this server. */
export interface LinkKind<Name extends string> extends SignedParameters<Name> {
  path: string
}

export type ReadLink<Name extends string> =
  /** `query`: the link's own, and nothing that came along with it. */
  | { is: 'good'; query: string; values: Record<Name, string> }
  | { is: 'expired' }
  /** Not signed here, or changed since. */
  | { is: 'forged' }

/** A path that lets its holder do what it names, until a moment (ms, rounded up to seconds). */
export function signedPath<Name extends string>(
  kind: LinkKind<Name>,
  values: Record<Name, string>,
  key: Buffer,
  untilMs: number,
): string {
  return `${kind.path}?${signedQuery(kind, values, key, untilMs)}`
}

/** The same for another server, which checks it by the same key. */
export function signedQuery<Name extends string>(
  kind: SignedParameters<Name>,
  values: Record<Name, string>,
  key: Buffer,
  untilMs: number,
): URLSearchParams {
  return queryOf(kind, values, key, Math.ceil(untilMs / 1_000))
}

/** The fault of a link is shown only if it was signed with one of the keys. */
export function readSigned<Name extends string>(
  kind: LinkKind<Name>,
  query: unknown,
  keys: readonly Buffer[],
  now: number,
): ReadLink<Name> {
  // A parameter that is given twice is a list.
  const given = new Map<string, unknown>(Object.entries(query ?? {}))
  const named = namesOf(kind).map((name): [Name, unknown] => [name, given.get(name)])
  const isWellFormed = (entry: [Name, unknown]): entry is [Name, string] =>
    typeof entry[1] === 'string' && kind.parameters[entry[0]].test(entry[1])
  const [until, signature] = [given.get('until'), given.get('signature')]
  if (!named.every(isWellFormed) || typeof until !== 'string' || typeof signature !== 'string') return { is: 'forged' }
  if (!/^[1-9]\d{0,11}$/.test(until)) return { is: 'forged' }
  const values = Object.fromEntries(named) as Record<Name, string>
  const key = keys.find((one) => isSameText(signature, sign(kind, values, one, Number(until))))
  if (key === undefined) return { is: 'forged' }
  if (now >= Number(until) * 1_000) return { is: 'expired' }
  return { is: 'good', values, query: String(queryOf(kind, values, key, Number(until))) }
}

function namesOf<Name extends string>(kind: SignedParameters<Name>): Name[] {
  return Object.keys(kind.parameters) as Name[]
}

function queryOf<Name extends string>(
  kind: SignedParameters<Name>,
  values: Record<Name, string>,
  key: Buffer,
  until: number,
) {
  const signature = sign(kind, values, key, until)
  return new URLSearchParams({ ...values, until: String(until), signature })
}

function sign<Name extends string>(
  kind: SignedParameters<Name>,
  values: Record<Name, string>,
  key: Buffer,
  until: number,
) {
  const signed = [kind.purpose, ...namesOf(kind).map((name) => values[name]), until].join(':')
  return createHmac('sha256', key).update(signed).digest('base64url')
}
