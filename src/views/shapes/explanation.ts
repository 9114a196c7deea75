import * as z from 'zod'
import { AcknowledgementShape, AlertShape, alertKind, BecauseShape, fate } from './alert.ts'
import { AttemptShape } from './delivery.ts'
import { SeriesShape } from './series.ts'
import { AccountNameShape, isoMoment, momentOrNull, outsideText, shape, text } from './words.ts'

export const NotificationShape = shape('Notification', 'A transition with each attempt to deliver it.', {
  transition: text('Its position in the log.'),
  at: isoMoment('When it was committed.'),
  alert: AlertShape,
  fate,
  why: outsideText('Why it ended; empty where there is no reason.'),
  waiting: z
    .array(
      z.object({
        receiver: text('The receiver that waits for it; empty: it is not known yet.'),
        where: z.enum(['outbox', 'group', 'digest', 'held', 'delivery']),
        until: momentOrNull('When that is checked again.'),
        because: text('Why it is held back.').exactOptional(),
      }),
    )
    .describe('Receivers that still wait for it, and where.'),
  attempts: z.array(AttemptShape).describe('To deliver it.'),
})
export type NotificationShape = z.infer<typeof NotificationShape>

const ExplainedAlert = {
  field: text("The series' id, `token` or `poll`."),
  kind: alertKind,
  subject: outsideText('The subject, for people.'),
  state: z
    .enum(['ok', 'pending', 'warning', 'critical', 'unknown', 'off', 'failing'])
    .describe('`failing`: tokens or polls fail, and no alert is open about it yet.'),
  alert: text('Id of the alert that is open.').nullable().describe('Null: none is.'),
  since: momentOrNull('When the alert opened.'),
  why: outsideText('Why it is so, for people.'),
  acknowledged: AcknowledgementShape.nullable().describe('Null: no operator acknowledged it.'),
  repeatsAt: momentOrNull(
    'When it is sent again at the soonest if nothing changes; null: no alert is open, or it never repeats.',
  ),
  transitions: z.array(NotificationShape).describe('Newest first.'),
}

export const RulePlace = {
  at: text('Place in the config.').meta({ examples: ['thresholds[2]'] }),
  line: z.int().positive().nullable().describe('Line in the config file; null for a built-in rule.'),
  name: text('Name of the rule in alerts.'),
  title: text('Name for people; default: what the rule watches.'),
  asks: text('Conditions in a few words.'),
}

export const ExplainedAlertShape = shape(
  'ExplainedAlert',
  'Why an alert about the account itself was sent, or was not.',
  ExplainedAlert,
)
export type ExplainedAlertShape = z.infer<typeof ExplainedAlertShape>

export const ExplainedSeriesShape = shape('ExplainedSeries', 'A series, and why its alerts were sent, or were not.', {
  ...SeriesShape.shape,
  ...ExplainedAlert,
  because: BecauseShape,
  rule: z.object(RulePlace).nullable().describe('The rule that decides; null: none is about it.'),
})
export type ExplainedSeriesShape = z.infer<typeof ExplainedSeriesShape>
export type RulePlaceShape = NonNullable<ExplainedSeriesShape['rule']>

export const ExplanationShape = shape('Explanation', 'Why alerts of an account were sent, or were not.', {
  ...AccountNameShape,
  standing: z
    .array(outsideText('A sentence.'))
    .describe('Reasons that keep the whole account from being read, judged or reported.'),
  polledAt: momentOrNull('When its limits were last read.'),
  nextPollAt: momentOrNull('When they are read next.'),
  nextPollBecause: outsideText('Why then, for people.').nullable(),
  nextRefreshAt: momentOrNull('When its tokens are refreshed next.'),
  alerts: z.array(ExplainedAlertShape).describe('About the account itself: its tokens, its polls.'),
  series: z.array(ExplainedSeriesShape),
})
export type ExplanationShape = z.infer<typeof ExplanationShape>
