import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { unlessOfOtherType } from '../redis/other-type.ts'
import { AUDIT_KEPT_MS, type AuditAction, type AuditEntry, PART_NAMES, type Part } from './audited.ts'
import { decodeAudited } from './stored-entry.ts'

export interface AuditQuery {
  /** From when on, ms. */
  since?: number | undefined
  /** Part of a name, in any case. */
  who?: string | undefined
  hubId?: number | undefined
  action?: AuditAction | undefined
}

export interface AuditPage {
  /** Newest first. */
  entries: AuditEntry[]
  /** The place of the last one, where there are more. */
  next: string | undefined
}

/** Read at a time of each part. */
const CHUNK = 200

/** The id of the entry that came last: what Redis takes as one, and a part that there is. */
export const AUDIT_PLACE = new RegExp(`^[1-9]\\d{0,14}-\\d{1,19}\\.(${PART_NAMES.join('|')})$`)

/** A page of what matches, newest first. */
export async function readAudit(
  deps: { store: Store; keys: Keys },
  query: AuditQuery,
  { after, limit }: { after?: string | undefined; limit: number },
  now: number,
): Promise<AuditPage> {
  const since = Math.max(query.since ?? 0, now - AUDIT_KEPT_MS)
  const entries: AuditEntry[] = []
  for await (const placed of newestFirst(deps, placeOf(after), since)) {
    if (!matches(placed.entry, query)) continue
    if (entries.length === limit) return { entries, next: entries.at(-1)?.id }
    entries.push(placed.entry)
  }
  return { entries, next: undefined }
}

function matches({ who, hubId, action }: AuditEntry, query: AuditQuery): boolean {
  if (query.hubId !== undefined && hubId !== query.hubId) return false
  if (query.action !== undefined && action !== query.action) return false
  return query.who === undefined || who.name.toLowerCase().includes(query.who.toLowerCase())
}

interface Placed {
  entry: AuditEntry
  part: number
}

interface Place {
  at: number
  number: bigint
  part: number
}

function placeOf(text: string | undefined): Place | undefined {
  const [id, name] = text?.split('.') ?? []
  const part = PART_NAMES.indexOf(name as Part)
  return id === undefined || part === -1 ? undefined : { ...numbersOf(id), part }
}

function numbersOf(id: string): { at: number; number: bigint } {
  const [at = '', number = ''] = id.split(/[-.]/)
  return { at: Number(at), number: BigInt(number) }
}

/** Below 0 where `a` is the newer one. */
function newerFirst(a: Place, b: Place): number {
  return b.at - a.at || (a.number === b.number ? a.part - b.part : a.number < b.number ? 1 : -1)
}

/** All parts as one list; each is read as far as it is asked for. */
async function* newestFirst(
  deps: { store: Store; keys: Keys },
  after: Place | undefined,
  since: number,
): AsyncGenerator<Placed> {
  const parts = PART_NAMES.map((name, part) => ofPart(deps, name, part, after, since))
  const heads = await Promise.all(parts.map((part) => part.next()))
  for (;;) {
    let first: { place: Place; placed: Placed } | undefined
    for (const { done, value } of heads) {
      if (done === true) continue
      const place = { ...numbersOf(value.entry.id), part: value.part }
      if (first === undefined || newerFirst(place, first.place) < 0) first = { place, placed: value }
    }
    if (first === undefined) return
    yield first.placed
    const { part } = first.placed
    const next = await parts[part]?.next()
    if (next !== undefined) heads[part] = next
  }
}

async function* ofPart(
  { store, keys }: { store: Store; keys: Keys },
  name: Part,
  part: number,
  after: Place | undefined,
  since: number,
): AsyncGenerator<Placed, undefined> {
  // With the same id, parts that come later in their order are still to come.
  const begin = after === undefined ? '+' : `${part > after.part ? '' : '('}${after.at}-${after.number}`
  for (let end = begin; ; ) {
    // A key of another type was not written by Plimsoll: the other parts are shown.
    const found = await unlessOfOtherType(store.xrevrange(keys.audit(name), end, String(since), 'COUNT', CHUNK), [])
    for (const [id, fields] of found) {
      const entry = decodeAudited(id, fields)
      if (entry !== undefined) yield { entry: { ...entry, id: `${id}.${name}` }, part }
    }
    const last = found.at(-1)?.[0]
    if (found.length < CHUNK || last === undefined) return undefined
    end = `(${last}`
  }
}
