import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { AUDIT_KEPT_MS, type AuditAction, type AuditEntry } from './audited.ts'
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

/** Read at a time. */
const CHUNK = 500

/** The id of the entry that came last: what Redis takes as one. */
export const AUDIT_PLACE = /^[1-9]\d{0,14}-\d{1,19}$/

/** A page of what matches, newest first. */
export async function readAudit(
  deps: { store: Store; keys: Keys },
  query: AuditQuery,
  { after, limit }: { after?: string | undefined; limit: number },
  now: number,
): Promise<AuditPage> {
  const since = Math.max(query.since ?? 0, now - AUDIT_KEPT_MS)
  const entries: AuditEntry[] = []
  for await (const entry of newestFirst(deps, after, since)) {
    if (!matches(entry, query)) continue
    if (entries.length === limit) return { entries, next: entries.at(-1)?.id }
    entries.push(entry)
  }
  return { entries, next: undefined }
}

function matches({ who, hubId, action }: AuditEntry, query: AuditQuery): boolean {
  if (query.hubId !== undefined && hubId !== query.hubId) return false
  if (query.action !== undefined && action !== query.action) return false
  return query.who === undefined || who.name.toLowerCase().includes(query.who.toLowerCase())
}

/** Read as far as it is asked for. */
async function* newestFirst(
  { store, keys }: { store: Store; keys: Keys },
  after: string | undefined,
  since: number,
): AsyncGenerator<AuditEntry> {
  for (let end = after === undefined ? '+' : `(${after}`; ; ) {
    const found = await store.xrevrange(keys.audit, end, String(since), 'COUNT', CHUNK)
    for (const [id, fields] of found) {
      const entry = decodeAudited(id, fields)
      if (entry !== undefined) yield entry
    }
    const last = found.at(-1)?.[0]
    if (found.length < CHUNK || last === undefined) return
    end = `(${last}`
  }
}
