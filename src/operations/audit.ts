import * as z from 'zod'
import { AUDIT_ACTIONS } from '../audit/audited.ts'
import { AUDIT_PLACE, readAudit } from '../audit/read-audit.ts'
import { defined } from '../runtime/defined.ts'
import { named, prose, spare, whole } from '../text/columns.ts'
import { formatMoment } from '../text/format-time.ts'
import { auditEntryJson, didText, whoText } from '../views/audit-entries.ts'
import { AuditEntryShape } from '../views/shapes/audit.ts'
import { accountField, choiceField, cursorField, limitField, momentField, textField } from './input.ts'
import { operation, pageShape } from './operation.ts'

export const listAudit = operation({
  id: 'listAudit',
  method: 'GET',
  path: '/audit',
  scope: 'audit',
  summary: 'list who did what, over the pages, the API and the command line; newest first, of the last 90 days',
  description: 'The newest 500,000 entries of 90 days. Sign-ins, and what programs repeat, are in it once a day.',
  input: z.strictObject({
    since: momentField('from when on').prefault('90d'),
    who: textField('only what was done by a name with this in it', { most: 100 }).optional(),
    hubId: accountField('only what was done to this account').optional(),
    action: choiceField(AUDIT_ACTIONS, 'only this, such as silence.added').optional(),
    limit: limitField(),
    after: cursorField(AUDIT_PLACE),
  }),
  output: pageShape(AuditEntryShape, 'Newest first.'),
  example: { query: { since: '24h', limit: '2' } },
  command: {
    name: 'audit list',
    defaults: { since: '7d' },
    examples: ['--since 24h', '--who ann --since 30d --json', '--account 1234567'],
    maxRows: 'most entries of the table',
  },
  run: async (deps, { input: { since, who, hubId, action, ...page }, now }) => {
    const { entries, next } = await readAudit(deps, { since: since(now), who, hubId, action }, page, now)
    return { items: entries.map(auditEntryJson), ...defined({ next }) }
  },
  table: ({ items }, { input, now }) => {
    if (items.length === 0) return [`no entries since ${formatMoment(input.since(now))}`]
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
      formatMoment(Date.parse(entry.at)),
      whoText(entry),
      didText(entry),
      String(entry.hubId ?? ''),
      entry.subject ?? '',
      entry.detail ?? '',
      entry.from ?? '',
    ])
    return [{ columns, rows }]
  },
})
