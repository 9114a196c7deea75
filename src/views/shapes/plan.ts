import * as z from 'zod'
import { alertReason, ConditionsShape } from './alert.ts'
import { BadConfigShape } from './installation.ts'
import { LabelledSeriesName, SeriesShape } from './series.ts'
import { AccountNameShape, count, level, moment, momentOrNull, text } from './words.ts'

const MOVES = ['critical', 'warning', 'eases', 'recovers', 'unwatched', 'unknown'] as const
const plannedLevel = z.enum(['ok', 'warning', 'critical', 'unknown', 'off']).describe('`off`: no rule watches it.')
const { hubId, hubDomain } = AccountNameShape

export const PlannedAccountShape = z
  .object({
    ...{ hubId, hubDomain },
    changes: z.array(
      SeriesShape.extend({
        move: z.enum(MOVES).describe('What its next poll changes.'),
        before: z.object({ level: plannedLevel, rule: z.string().nullable() }),
        after: z.object({ level: plannedLevel, rule: z.string().nullable(), threshold: ConditionsShape.nullable() }),
      }).meta({ id: 'LevelChange', description: 'A series that would be at another level.' }),
    ),
  })
  .meta({ id: 'PlannedAccount', description: 'An account in which a series would be at another level.' })
export type PlannedAccountShape = z.infer<typeof PlannedAccountShape>

const TallyShape = z
  .object({
    transitions: count('What would have been sent, as transitions.'),
    entered: count('Alerts that opened.'),
    flaps: count('Of these, over within `flapMs`.'),
    repeats: count('Repeats among the transitions.'),
    unrouted: count('Transitions that no route is for.'),
    counts: z.array(z.object({ rule: z.string(), level, reason: alertReason, count: z.int() })),
    messages: z
      .record(z.string(), z.object({ messages: z.int(), truncated: z.int().describe('Alerts only counted in them.') }))
      .describe('By receiver, estimated.'),
  })
  .meta({ id: 'Tally', description: 'What a set of rules would have sent.' })

const touched = z.object({ series: z.int(), accounts: z.int() })

export const PlanSummaryShape = z.object({
  counts: z.object({
    accounts: z.object({
      looked: count('Checked.'),
      changed: count('With a change.'),
      neverRead: count('Without a reading.'),
      unreadable: count('What is stored of them is spoilt.'),
    }),
    watched: z.object({ before: z.int(), after: z.int() }).describe('Series that a rule watches.'),
    now: z
      .object({
        ...{ critical: touched, warning: touched, eases: touched },
        ...{ recovers: touched, unwatched: touched, unknown: touched },
      })
      .describe('By outcome.'),
  }),
  told: z.object({
    byReceiver: z.record(z.string(), z.int()).describe('Transitions that each receiver would be sent now.'),
    nobody: count('Transitions that no route is for.'),
  }),
  replay: z
    .object({
      from: moment('The start of the period.').nullable(),
      to: moment('It ended.').nullable(),
      knownFrom: momentOrNull('When the oldest poll was that is known.'),
      before: TallyShape,
      after: TallyShape,
      flapMs: z.int().describe('An alert that is over sooner is a flap, milliseconds.'),
      offenders: z
        .array(z.object({ ...{ hubId, hubDomain }, ...LabelledSeriesName, before: z.int(), after: z.int() }))
        .describe('The accounts with the most alerts, by the rules of now and by the new ones.'),
      notes: z.array(z.string()).describe('What the history does not show, for people.'),
    })
    .describe('What would have been sent over the stored history.'),
})
export type PlanSummaryShape = z.infer<typeof PlanSummaryShape>

export const PlanShape = z
  .object({
    ok: z.literal(true),
    at: momentOrNull('When it was compared.'),
    config: text('The config in force.'),
    planned: text('The one that may come.'),
    accounts: z.array(PlannedAccountShape),
    ...PlanSummaryShape.shape,
  })
  .meta({ id: 'Plan', description: 'What another config would change.' })

export const PlanOutcomeShape = z
  .discriminatedUnion('ok', [PlanShape, BadConfigShape])
  .meta({ id: 'PlanOutcome', description: 'What another config would change, or why it can not be used.' })
