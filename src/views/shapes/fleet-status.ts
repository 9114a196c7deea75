import * as z from 'zod'
import { ROLES } from '../../heartbeat/daemons.ts'
import { ACCOUNT_STATES } from '../../redis/keys.ts'
import type { Cause } from '../../tokens/endpoint/breaker.ts'
import { OpenAlertShape } from './alert.ts'
import { ReceiverShape } from './delivery.ts'
import { count, isoMoment, level, momentOrNull, objectOrNull, outsideText, shape, text } from './words.ts'

export const DueShape = shape('Due', 'Work that comes due account by account.', {
  overdue: count('Due for longer than a minute and still not taken up.'),
  nextAt: momentOrNull('When the next one is due; null: nothing is planned.'),
  lateMs: count('For how long the one that waits longest has been due, milliseconds.'),
  sweptAt: momentOrNull('When a daemon last finished checking what is due; null: never.'),
})
export type DueShape = z.infer<typeof DueShape>

export const TokensDueShape = shape('TokensDue', 'Refreshes, and the tokens that they keep alive.', {
  ...DueShape.shape,
  overdue: count('Due for longer than a minute and still not taken up, or failing, with a token that ended by then.'),
  nearestExpiryAt: momentOrNull('When the first access token expires of those that are kept alive.'),
})
export type TokensDueShape = z.infer<typeof TokensDueShape>

export const QueueShape = shape('Queue', 'The jobs in a queue.', {
  queue: text('Its name.'),
  waiting: count('Jobs that wait to be taken up.'),
  active: count('Jobs that are worked on.'),
  delayed: count('Jobs that are not due yet.'),
  failed: count('Jobs that failed and are kept for inspection.'),
  oldestWaitingAt: momentOrNull('Moment since which the next one has waited; null where none waits.'),
})
export type QueueShape = z.infer<typeof QueueShape>

export const DaemonShape = shape('Daemon', 'A daemon that runs, or did until a while ago.', {
  name: text('Machine and process of the daemon.'),
  version: text('Version of the daemon.'),
  roles: z.array(z.enum(ROLES)).describe('Roles: tick, work, serve pages and the API.'),
  startedAt: isoMoment('When it started.'),
  lastSeenAt: isoMoment('When it last reported.'),
  silent: z
    .boolean()
    .describe('True where it has not reported for so long that it must have died, or cannot reach Redis.'),
})
export type DaemonShape = z.infer<typeof DaemonShape>

export const TokenEndpointShape = shape(
  'TokenEndpoint',
  "The state of the provider's token endpoint for all accounts.",
  {
    breaker: z
      .enum(['closed', 'open', 'half-open'])
      .describe('`open`: refreshes are stopped but for probes; `half-open`: they begin again, slowly.'),
    cause: z
      .enum(['credentials', 'refused', 'unreachable'] satisfies Cause[])
      .nullable()
      .describe('The cause; null while closed.'),
    detail: outsideText("The provider's answer; null while closed.").nullable(),
    since: momentOrNull('Moment since which it is not closed.'),
    requestsPerSecond: z.number().describe('Token requests a second that all daemons together may send now.'),
  },
)
export type TokenEndpointShape = z.infer<typeof TokenEndpointShape>

export const CoverageShape = shape('Coverage', 'How far the readings of the fleet can be relied on.', {
  share: z
    .number()
    .nullable()
    .describe('Share of the polled accounts with a fresh reading, 0 to 1; null: no account is polled.'),
  objective: z.number().describe('The goal (`limits.coverage`), 0 to 1.'),
  polled: count('Accounts that are polled.'),
  stale: count('Their newest reading is older than `limits.freshness`.'),
  failing: count('Their last poll failed, wholly or in part.'),
  notWatched: count('Their scopes let nothing be read; they do not count.'),
})
export type CoverageShape = z.infer<typeof CoverageShape>

const FailedCallsShape = shape(
  'FailedCalls',
  "The app's calls to the provider in the last 30 days (UTC), of all daemons.",
  {
    calls: count('Calls that were answered.'),
    failed: count('Calls that failed: answered with status 400 or above.'),
    days: count('Days since the first of them, that one and today among them: below 3 there is no alert.'),
    share: z.number().nullable().describe('Share that failed, 0 to 1; null: no call was answered.'),
    limit: z.number().describe('The share that the provider allows certified apps, 0 to 1.'),
    warning: z.number().describe('From this share on there is an alert (`provider.failedCalls.warning`).'),
    critical: z.number().describe('From this share on it is critical (`provider.failedCalls.critical`).'),
  },
)
export type FailedCallsShape = z.infer<typeof FailedCallsShape>

export const HeartbeatShape = shape('Heartbeat', 'The last ping to the service outside.', {
  at: momentOrNull('When it was sent last.'),
  ok: z.boolean().describe('All was within bounds.'),
  late: z.boolean().describe('There should have been another one since.'),
  since: momentOrNull('Start of this state.'),
  reasons: z.array(z.string()).describe('Values out of bounds, a sentence each.'),
  ping: objectOrNull('The outcome: it arrived outside, or why it did not.', {
    sent: z.boolean(),
    reason: z.string().nullable(),
  }),
})
export type HeartbeatShape = z.infer<typeof HeartbeatShape>

const perState = Object.fromEntries(ACCOUNT_STATES.map((state) => [state, z.int().min(0)])) as Record<
  (typeof ACCOUNT_STATES)[number],
  z.ZodInt
>

const VerdictShape = shape('Verdict', 'The state of Plimsoll and its accounts.', {
  level: z.enum(['ok', 'warning', 'critical']).describe('Highest severity of all problems.'),
  says: outsideText('The same in one line, as every page shows it.'),
  troubles: z
    .array(
      z.object({
        check: text('The check that found it.'),
        level,
        verb: text('The remedy, in two or three words.'),
        says: outsideText('The trouble.'),
        fix: outsideText('The remedy in a sentence; null: `verb` is enough.').nullable(),
      }),
    )
    .describe('Troubles that need action, worst first.'),
})

export const FleetStatusShape = shape('FleetStatus', 'The fleet at a glance.', {
  at: isoMoment('When it was checked.'),
  verdict: VerdictShape,
  accounts: z.object({
    total: count('All that are known.'),
    critical: count('At critical: with a dead token, or an alert that is neither acknowledged nor silenced.'),
    warning: count('At warning likewise.'),
    unknown: count('At unknown: some of their limits have no fresh reading, and nothing else is wrong.'),
    handled: count('All of their open alerts are acknowledged or silenced.'),
    byState: z.object(perState).describe('How many are in each state.'),
    newFleet: objectOrNull(
      'Accounts that were imported, until all have been read for the first time; null: none waits.',
      { read: count('Have been read since.'), total: count('Came in and are to be read, or have been.') },
    ),
  }),
  tokens: TokensDueShape,
  tokenEndpoint: TokenEndpointShape.nullable().describe('Null before the first daemon has asked for a token.'),
  polls: DueShape.describe('Polls of limits.'),
  coverage: CoverageShape,
  failedCalls: FailedCallsShape,
  uninstalls: DueShape.describe('Deletions of refresh tokens.'),
  alerts: z.object({
    warning: count('Open at warning, and neither acknowledged nor silenced.'),
    critical: count('The same at critical.'),
    handled: count('Open, and acknowledged or silenced.'),
    worst: z
      .array(OpenAlertShape)
      .describe('Up to 20 that are neither acknowledged nor silenced, worst consequence first.'),
  }),
  deliveries: z.object({
    pending: count('Waiting for their first or next attempt.'),
    disabledReceivers: z.array(z.object({ receiver: text('Its name.'), reason: outsideText('Its answer.') })),
    receivers: z.array(ReceiverShape),
  }),
  heartbeat: HeartbeatShape.nullable().describe('Null where there is none, or none yet.'),
  queues: z.array(QueueShape),
  daemons: z.array(DaemonShape).describe('The daemons that run.'),
})
export type FleetStatusShape = z.infer<typeof FleetStatusShape>
