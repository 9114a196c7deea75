import * as z from 'zod'
import { METRICS } from '../../limits/reports/all-reports.ts'
import { AccountNameShape, count, momentOrNull, outsideText, shape, text } from './words.ts'

const metric = z.enum(METRICS).describe('The metric.')
const objectTypeId = z.string().exactOptional().describe('Object type of the series.')
const from = z.string().exactOptional().describe('From-object type of a pair.')
const to = z.string().exactOptional().describe('To-object type of a pair.')
const label = outsideText('Plural name of the object type.').exactOptional()

const usage = count('How much is used.')
const limit = z.number().nullable().describe('The limit; null where there is none, or it is not known.')
const percent = z
  .number()
  .nullable()
  .describe('Usage in percent of the limit, over 100 where it is over; null where the limit is.')

/** The name of a series. */
const SeriesNameShape = { metric, objectTypeId, from, to }
export const LabelledSeriesName = { ...SeriesNameShape, label }

export const ObjectIdShape = z
  .union([z.int(), z.string()])
  .describe("The record's id at the provider; its digits as text where it is beyond 2^53.")

export const RecordShape = shape('Record', 'A record at or near an association limit.', {
  objectId: ObjectIdShape,
  label: outsideText('Its name; absent where `limits.records` keeps none.').exactOptional(),
  usage: count('Its associations; absent at the limit, where the provider gives no number.').exactOptional(),
})

const RecordsShape = shape('Records', 'Records behind an association series, as far as they are shown.', {
  shown: count('How many `items` there are.'),
  total: count('How many there are at the provider.'),
  items: z.array(RecordShape).describe('The fullest first.'),
})

const days = (description: string) => z.number().min(0).describe(`${description} Days, to one decimal.`)

export const ForecastShape = shape(
  'Forecast',
  'When a series reaches its limit at its pace of the last weeks, or of the last days where that is faster.',
  {
    perDay: z.number().describe('How much usage grows a day.'),
    perDayLow: z.number().describe('Low end of the range in which the pace lies, in at least 80 of 100 cases.'),
    perDayHigh: z.number().describe('High end of that range.'),
    days: days('Until the limit at that pace.'),
    earliest: days('Until the limit at the soonest, in at least 80 of 100 cases.'),
    latest: days(
      'Until the limit at the latest; null: it may never be reached, or not for 84 days or more.',
    ).nullable(),
  },
)
export type ForecastShape = z.infer<typeof ForecastShape>

export const SeriesShape = shape('Series', 'One number that moves toward a limit, as it was last read.', {
  id: text("Names the series among those of its account; an alert's `field` is the same.").meta({
    examples: ['overall', 'type/0-1', 'fullest/0-1/0-2'],
  }),
  ...LabelledSeriesName,
  usage,
  limit,
  percent,
  measuredAt: momentOrNull('When that was read.'),
  daysLeft: days('Until the limit is reached; 0 at or over it; null: not in sight, or not known.').nullable(),
  forecast: ForecastShape.nullable().describe('Null where there is none: `forecastReason` has the reason.'),
  forecastReason: z.string().nullable().describe('Why there is no forecast, for people; null where there is one.'),
  records: RecordsShape.exactOptional().describe('Records of the series, where it has some.'),
})
export type SeriesShape = z.infer<typeof SeriesShape>

export const SnapshotShape = shape('Snapshot', 'All series of an account as they were from a moment on.', {
  at: text('From this moment on it was so. ISO 8601, UTC.').meta({ format: 'date-time' }),
  missingSince: text('Nothing was read between this moment and `at`. ISO 8601, UTC.')
    .meta({ format: 'date-time' })
    .exactOptional(),
  series: z.array(
    z.object({ ...SeriesNameShape, usage, limit, percent }).meta({
      id: 'SnapshotSeries',
      description: 'One number of a snapshot.',
    }),
  ),
})
export type SnapshotShape = z.infer<typeof SnapshotShape>

export const AccountHistoryShape = shape('AccountHistory', 'How the series of one account moved, oldest first.', {
  ...AccountNameShape,
  items: z.array(SnapshotShape),
})
export type AccountHistoryShape = z.infer<typeof AccountHistoryShape>
