import * as z from 'zod'
import { AUDIT_ACTIONS, type AuditAction, VIAS } from '../../audit/audited.ts'
import { hubId, isoMoment, outsideText, shape, text } from './words.ts'

export const AuditEntryShape = shape('AuditEntry', 'One thing that was done: who did what, when, and to what.', {
  id: text('Position in the audit.').meta({ examples: ['1795770000000-0.changes'] }),
  at: isoMoment('When.'),
  action: z.enum(AUDIT_ACTIONS as [AuditAction]).describe('The action.'),
  who: outsideText(
    'The name of the admin token, the person that a trusted proxy named, the user who ran a command, or the daemon; empty where it is not known.',
  ),
  via: z
    .enum(VIAS)
    .describe(
      '`session`: signed in with an admin token; `token`: that token itself; `proxy`: by `http.trustedUserHeader`; `link`: by a ' +
        'signed link; `command`: on the command line; `daemon`: by its start or a signal.',
    ),
  from: text('The address that it came from over the web.').exactOptional(),
  hubId: hubId.exactOptional(),
  subject: text(
    'Object of the action: id of an alert or a silence, name of a receiver or an admin token.',
  ).exactOptional(),
  detail: outsideText('The rest, in a few words.').exactOptional(),
})
export type AuditEntryShape = z.infer<typeof AuditEntryShape>
