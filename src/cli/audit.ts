import type { AuditAction } from '../audit/audited.ts'
import { readAudit } from '../audit/read-audit.ts'
import { countOf } from '../text/format-number.ts'
import { formatMoment, formatSecond } from '../text/format-time.ts'
import { auditEntryJson, didText, whoText } from '../views/audit-entries.ts'
import type { AccountArgument, CommonOptions, Moment } from './arguments.ts'
import { type Io, printJson } from './io.ts'
import { say } from './say.ts'
import { named, printTable, prose, spare, whole } from './table.ts'
import { hubIdNamed, withStore } from './with-parts.ts'

interface AuditOptions extends CommonOptions {
  since: Moment
  who?: string
  account?: AccountArgument
  action?: AuditAction
  max: number
}

/** `plimsoll audit list`: with --json all of it, else the newest. */
export async function listAudit(io: Io, { account, who, action, max, ...options }: AuditOptions): Promise<void> {
  const now = io.clock.now()
  const since = options.since(now)
  const { entries, next } = await withStore(io, options, async (parts) => {
    const hubId = account === undefined ? undefined : await hubIdNamed(parts, account)
    const limit = options.json === true ? Number.POSITIVE_INFINITY : max
    return readAudit(parts, { since, who, action, hubId }, { limit }, now)
  })
  if (options.json === true) return printJson(io, 'audit list', entries.map(auditEntryJson))
  if (entries.length === 0) return say(io, `no entries since ${formatMoment(since)}`)
  printTable(
    io,
    [whole('WHEN'), named('WHO'), prose('DID'), whole('HUB ID'), 'SUBJECT', prose('DETAIL'), spare('FROM')],
    entries.map((entry) => [
      ...[formatSecond(entry.at), whoText(entry), didText(entry), String(entry.hubId ?? '')],
      ...[entry.subject ?? '', entry.detail ?? '', entry.who.from ?? ''],
    ]),
  )
  if (next !== undefined)
    say(io, `These are the newest ${countOf(entries.length, 'entry', 'entries')}: --max has more, --json all of them`)
}
