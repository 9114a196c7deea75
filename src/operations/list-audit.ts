import { AUDIT_ACTIONS } from '../audit/audited.ts'
import { AUDIT_PLACE, readAudit } from '../audit/read-audit.ts'
import { named, prose, spare, whole } from '../text/columns.ts'
import { countOf } from '../text/format-number.ts'
import { formatMoment, formatSecond } from '../text/format-time.ts'
import { auditEntryJson, didText, whoText } from '../views/audit-entries.ts'
import { AuditEntryShape } from '../views/shapes/audit.ts'
import { accountField, choiceField, momentField, textField } from './field.ts'
import { listing } from './operation.ts'

export const auditList = listing({
  id: 'listAudit',
  route: 'GET /audit',
  scope: 'audit',
  is: 'list who did what, over the pages, the API and the command line; newest first, of the last 90 days',
  description:
    'Polls and refreshes that were asked for, access tokens, reconnect links, sign-ins and refused ones have room for the newest 10,000 entries each, all else for 20,000. Of access tokens and reconnect links each day has the first of a caller and account.',
  takes: {
    since: momentField('from when on', { api: '90d', command: '7d' }),
    who: textField('only what was done by a name with this in it', { most: 100 }),
    hubId: accountField('only what was done to this account'),
    action: choiceField(AUDIT_ACTIONS, 'only this, such as silence.added'),
  },
  gives: AuditEntryShape,
  order: 'Newest first.',
  pages: { cursor: AUDIT_PLACE, max: 'most entries of the table' },
  example: { query: { since: '24h', limit: '2' } },
  examples: ['--since 24h', '--who ann --since 30d --json', '--account 1234567'],
  reads: async (deps, { given: { since, who, hubId, action }, page, now }) => {
    const { entries, next } = await readAudit(deps, { since: since(now), who, hubId, action }, page, now)
    return { items: entries, next }
  },
  json: auditEntryJson,
  show: ({ items, next }, { given, now }) => {
    if (items.length === 0) return [`no entries since ${formatMoment(given.since(now))}`]
    const more = `These are the newest ${countOf(items.length, 'entry', 'entries')}: --max has more, --json all of them`
    const columns = [
      whole('WHEN'),
      named('WHO'),
      prose('DID'),
      whole('HUB ID'),
      'SUBJECT',
      prose('DETAIL'),
      spare('FROM'),
    ]
    const rows = items.map((entry) => [
      formatSecond(entry.at),
      whoText(entry),
      didText(entry),
      String(entry.hubId ?? ''),
      entry.subject ?? '',
      entry.detail ?? '',
      entry.who.from ?? '',
    ])
    return [{ columns, rows }, ...(next === undefined ? [] : [more])]
  },
})
