import * as z from 'zod'
import type { AlertKind, AlertReason } from '../../alerts/alert.ts'
import { LabelledSeriesName, ObjectIdShape, RecordShape } from './series.ts'
import {
  AccountNameShape,
  count,
  hubDomain,
  hubId,
  isoMoment,
  level,
  objectOrNone,
  outsideText,
  shape,
  text,
} from './words.ts'

const KINDS = ['limit', 'limit-changed', 'token', 'poll', 'fleet', 'delivery', 'test'] as const satisfies AlertKind[]
const REASONS = [
  ...(['entered', 'escalated', 'eased', 'recovered', 'repeat', 'worse', 'uninstalled', 'lost', 'test'] as const),
] satisfies AlertReason[]

export const alertKind = z
  .enum(KINDS)
  .describe('The subject: a series, a limit that moved, tokens, polls, all accounts, a receiver, or a test.')
export const alertReason = z
  .enum(REASONS)
  .describe('The change; `worse`: at the same level, it got worse or has another cause; `lost`: its stored state was.')
const cause = z
  .enum([
    'foreign',
    'unreadable-answer',
    'scopes',
    'failing',
    'unauthorized',
    'unreadable',
    'credentials',
    'refused',
    'unreachable',
    'throttled',
    'coverage',
    'calls',
    'data',
    'disabled',
    'recipients',
  ])
  .describe(
    'Of a token alert: the imported token belongs to another account, or an answer of the provider could not be read. Of a poll alert: scopes are missing, or polls fail; `unauthorized`: the access token is refused, and no refresh helps. Of a fleet alert: what all accounts suffer from. Of a delivery alert: what is wrong with the receiver.',
  )
const rule = text('Name of the rule that decided; for kinds without rules the kind itself.')
const series = z.object(LabelledSeriesName).describe('The series that it is about.')

export const AcknowledgementShape = shape('Acknowledgement', 'An operator knows of an alert.', {
  at: isoMoment('When it was acknowledged.'),
  by: outsideText('By whom.'),
  comment: outsideText('Their comment.').exactOptional(),
  until: isoMoment('Until then it is sent again only if it gets worse.'),
})
export type AcknowledgementShape = z.infer<typeof AcknowledgementShape>

export const OpenAlertShape = shape('OpenAlert', 'An alert that is open now.', {
  id: text('Id of the alert, the same from opening to closing.'),
  kind: alertKind,
  level,
  rule,
  field: text("The series' id; `token` or `poll` for the account's tokens and polls; the trouble of the fleet."),
  cause: cause.exactOptional(),
  hubId: hubId.nullable().describe('The account; null for an alert about all accounts.'),
  hubDomain: hubDomain.exactOptional(),
  series: series.exactOptional(),
  usage: count('As last read.').exactOptional(),
  limit: z.number().exactOptional().describe('As last read.'),
  percent: z.number().exactOptional().describe('Usage in percent of the limit.'),
  daysLeft: z.number().exactOptional().describe('Days until the limit, by the forecast of the last message.'),
  since: isoMoment('When it opened.'),
  acknowledged: AcknowledgementShape.exactOptional(),
  silencedBy: text('Id of the silence that it is under.').exactOptional(),
})
export type OpenAlertShape = z.infer<typeof OpenAlertShape>

export const AccountAlertsShape = shape('AccountAlerts', 'The open alerts of one account.', {
  hubId: hubId.nullable().describe('The account; null for alerts that are about no account.'),
  hubDomain,
  critical: count('Critical alerts that are neither acknowledged nor silenced.'),
  warning: count('The same at warning.'),
  handled: count('Alerts that are acknowledged or silenced.'),
  alerts: z.array(OpenAlertShape).describe('Worst first, at most 20.'),
})
export type AccountAlertsShape = z.infer<typeof AccountAlertsShape>

const asks = z.enum(['percent', 'count', 'remaining', 'daysLeft'])
const Condition = {
  level,
  asks: asks.describe('The threshold of the condition.'),
  threshold: z.number().describe('Of the condition.'),
  value: z.number().describe('The reading, in the same unit.'),
}
const InForce = {
  rising: objectOrNone('A higher level, the number of polls that have found it, and the number that it needs.', {
    level,
    polls: z.int(),
    of: z.int(),
  }),
  worseThan: objectOrNone('Values at the time of the acknowledgement.', {
    usage: z.number(),
    percent: z.number().exactOptional(),
    remaining: z.number().exactOptional(),
  }),
}

export const BecauseShape = z
  .discriminatedUnion('is', [
    z.object({ is: z.literal('holds'), ...Condition, ...InForce }),
    z.object({ is: z.literal('margin'), until: z.number(), recoverBelow: z.number(), ...Condition, ...InForce }),
    z.object({ is: z.literal('pending'), polls: z.int(), of: z.int(), ...Condition }),
    z.object({ is: z.literal('unknown'), missing: z.enum(['limit', 'forecast']), stays: level.exactOptional() }),
    z.object({ is: z.literal('off'), rule: z.string() }),
    z.object({ is: z.literal('no-rule') }),
    z.object({
      is: z.literal('nothing'),
      nearest: z.object({ ...Condition, away: z.number() }).exactOptional(),
    }),
    z.object({ is: z.literal('gone') }),
  ])
  .meta({ id: 'Because', description: 'Why a series is at its level.' })

export const ConditionsShape = shape('Conditions', 'Conditions of a level: any of these.', {
  percent: z.number().optional().describe('Usage in percent of the limit, at least.'),
  count: z.number().optional().describe('Usage, at least.'),
  remaining: z.number().optional().describe('The rest to the limit, at most.'),
  daysLeft: z.number().optional().describe('Days until the limit, at most.'),
})

/** An item of `data.alerts` of a webhook is the same. */
export const AlertShape = shape('Alert', 'One transition of one alert, exactly as receivers get it.', {
  id: text('Id of this transition, the same on every copy that is sent.'),
  supersedes: z
    .array(z.string())
    .exactOptional()
    .describe('Earlier transitions that the receiver has not been sent, and need not be.'),
  kind: alertKind,
  status: z.enum(['firing', 'resolved']),
  level: level.describe('The level that was entered; of a resolved alert the one that was left.'),
  reason: alertReason,
  rule,
  cause: cause.exactOptional(),
  account: objectOrNone('Absent where it is about all accounts.', {
    hubId: AccountNameShape.hubId,
    hubDomain: AccountNameShape.hubDomain,
  }),
  series: objectOrNone('The series that it is about.', { ...LabelledSeriesName, metric: z.string() }),
  usage: z.number().exactOptional(),
  limit: z.number().exactOptional(),
  percent: z.number().exactOptional().describe('Usage in percent of the limit.'),
  remaining: z.number().exactOptional().describe('Limit less usage.'),
  daysLeft: z.number().exactOptional().describe('Days until the limit; 0 at or over it.'),
  daysLeftRange: objectOrNone('Days; without `latest` it may as well be years.', {
    earliest: z.number(),
    latest: z.number().exactOptional(),
  }),
  threshold: ConditionsShape.exactOptional(),
  previous: objectOrNone('Values in the last message.', {
    level: z.enum(['ok', 'warning', 'critical']),
    usage: z.number().exactOptional(),
    limit: z.number().exactOptional(),
    measuredAt: isoMoment('When that was read.'),
  }),
  measuredAt: isoMoment('When its values were read.'),
  since: isoMoment('When the alert opened.'),
  records: objectOrNone('Records behind it.', {
    shown: z.int(),
    total: z.int(),
    items: z.array(
      RecordShape.extend({ isNew: z.literal(true).exactOptional() }).meta({
        id: 'AlertRecord',
        description: 'A record; `isNew`: the last message of the alert did not name it.',
      }),
    ),
    left: z
      .array(z.object({ objectId: ObjectIdShape, label: z.string().exactOptional() }))
      .exactOptional()
      .describe('Records of the last message that are gone.'),
  }),
  because: BecauseShape.exactOptional(),
  message: text('The event and the remedy, for kinds that are not about a number.').exactOptional(),
  url: text('Its page.').exactOptional(),
})

export const fate = z
  .enum(['pending', 'delivered', 'dead', 'withheld', 'unknown'])
  .describe('The outcome; `unknown`: it is no longer kept.')

export const TransitionShape = shape('Transition', 'One change of an alert, and the outcome.', {
  at: isoMoment('When it was committed.'),
  transition: text('Its position in the log.').meta({ examples: ['1795687200000-0'] }),
  fate,
  why: outsideText('Why it ended, or is held back; absent where there is no reason.').exactOptional(),
  alert: AlertShape,
  receivers: z
    .array(
      z.object({
        receiver: text('Name of the receiver in the config.'),
        fate,
        why: outsideText('The same for this receiver.').exactOptional(),
      }),
    )
    .describe('The outcome for each receiver that it meant anything to.'),
})
export type TransitionShape = z.infer<typeof TransitionShape>

export const AcknowledgedShape = shape('Acknowledged', 'Outcome of acknowledging an alert.', {
  id: text("The alert's id, without the number of a transition."),
  hubId: hubId.nullable().describe('The account; null for an alert about all accounts.'),
  outcome: z.enum(['acknowledged', 'already']).describe('`already`: it was acknowledged before.'),
  acknowledged: AcknowledgementShape,
})
export type AcknowledgedShape = z.infer<typeof AcknowledgedShape>

export const UnacknowledgedShape = shape('Unacknowledged', 'Outcome of taking an acknowledgement back.', {
  id: AcknowledgedShape.shape.id,
  hubId: AcknowledgedShape.shape.hubId,
  outcome: z.enum(['withdrawn', 'not-acknowledged']).describe('`not-acknowledged`: there was nothing to take back.'),
})

const MatcherShape = shape('Matcher', 'A condition of a silence.', {
  name: text('account, level, kind, rule, tag, series, objectType, from or to.'),
  value: outsideText('The value; `*` matches any characters. For account: a hub id or a domain.'),
})

export const SilenceShape = shape('Silence', 'Alerts that are held back for a while.', {
  id: text('Its id.').meta({ examples: ['s-4k7mp'] }),
  match: outsideText('All conditions in one line: `account=1234567 level=warning`.'),
  matchers: z
    .array(MatcherShape)
    .describe('The same one by one. Several of one name mean any of them, different names all.'),
  author: outsideText('The person or token that made it.'),
  comment: outsideText('Why.'),
  createdAt: isoMoment('When it was made.'),
  startsAt: isoMoment('When it begins, or began.'),
  endsAt: isoMoment('When it ends, or ended.'),
  active: z.boolean().describe('True while it is in force.'),
  openAlerts: count('How many alerts that are open now it covers.'),
})
export type SilenceShape = z.infer<typeof SilenceShape>

export const UnsilencedShape = shape('Unsilenced', 'A silence that is over.', {
  ...SilenceShape.shape,
  outcome: z.enum(['ended', 'over']).describe('`over`: it had ended already.'),
})
