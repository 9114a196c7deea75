import * as z from 'zod'
import { AUDIT_ACTIONS } from '../../audit/audited.ts'
import { AUDIT_PLACE, readAudit } from '../../audit/read-audit.ts'
import { auditEntryJson } from '../../views/audit-entries.ts'
import { AuditEntryShape } from '../../views/shapes/audit.ts'
import { atMost, cursor, momentOrAgo, numberInQuery, oneOf } from '../query.ts'
import { listShape, nextOf, route } from './route.ts'

export const auditRoutes = [
  route('listAudit', 'GET /audit', {
    scope: 'audit',
    summary: 'Who did what in the last 90 days',
    description:
      'Over the pages, this API and the command line. Polls and refreshes that were asked for, access tokens, reconnect links, sign-ins and refused ones have room for the newest 10,000 entries each, all else for 20,000. Of access tokens and reconnect links each day has the first of a caller and account.',
    query: z.strictObject({
      since: momentOrAgo('90d'),
      who: z
        .string('must be given once')
        .max(100, 'is longer than 100 characters')
        .optional()
        .describe('Only entries with this in the name of who did it.'),
      action: oneOf(AUDIT_ACTIONS).optional().describe('Only entries of this action.'),
      hubId: numberInQuery(1, Number.MAX_SAFE_INTEGER).optional().describe('Only those about this account.'),
      limit: atMost(500, 100),
      after: cursor(
        z.string('must be given once').regex(AUDIT_PLACE, 'must be what the list before called next'),
      ).optional(),
    }),
    answers: { 200: { description: 'A page of entries.', json: listShape(AuditEntryShape, 'Newest first.') } },
    problems: [400],
    example: { query: { since: '24h', limit: '2' } },
    answer: async (deps, { query: { since, limit, after, ...filter } }) => {
      const now = deps.clock.now()
      const page = await readAudit(deps, { ...filter, since: since(now) }, { after, limit }, now)
      return { json: { items: page.entries.map(auditEntryJson), ...nextOf(page.next) } }
    },
  }),
]
