import * as z from 'zod'
import { SeriesShape } from './series.ts'
import { AccountNameShape, count, isoMoment, shape } from './words.ts'

const { metric, objectTypeId, from, to, label, usage, limit, percent } = SeriesShape.shape
const { hubId, hubDomain } = AccountNameShape
const ofAccount = { hubId, hubDomain, metric, objectTypeId, from, to, label, usage, limit, percent }

export const UpcomingLimitShape = shape('UpcomingLimit', 'The limit that an account reaches next, by forecast.', {
  ...ofAccount,
  daysLeft: z.number().describe('Until the limit is reached. Days, to one decimal.'),
  earliest: z.number().describe('The same at the soonest, in at least 80 of 100 cases.'),
  latest: z.number().nullable().describe('The same at the latest; null: it may never be reached.'),
  expectedAt: isoMoment('When that is.'),
  more: count('Other series of the account that reach their limits in the next 30 days.'),
})
export type UpcomingLimitShape = z.infer<typeof UpcomingLimitShape>

const FullAccountShape = shape('FullAccount', 'An account that has reached a limit already.', {
  ...ofAccount,
  more: count('Other series of the account that have reached their limits.'),
})
export type FullAccountShape = z.infer<typeof FullAccountShape>

const TrackRecordShape = shape('ForecastRecord', 'How forecasts ended in the last 30 days.', {
  held: count('The limit was reached within the range of days.'),
  later: count('The limit was reached after it, or not yet.'),
  sooner: count('The limit was reached before it.'),
  open: count('No last day was named, and the limit was not reached within 30 days: neither right nor wrong.'),
})

export const UpcomingShape = shape('Upcoming', 'Accounts that reach a limit in the next 30 days, by forecast.', {
  accounts: count('All of them, as their last polls ranked them.'),
  items: z.array(UpcomingLimitShape).describe('Soonest first; what is full already is not among them.'),
  next: z.string().exactOptional().describe('Hand it back as `after` for what follows; absent at the end.'),
  full: z
    .object({
      accounts: count('Accounts with a series at or over its limit.'),
      items: z.array(FullAccountShape).describe('At most `limit`; for all: `GET /accounts?sort=nearest`.'),
    })
    .describe('Limits that are full already.'),
  forecasts: z
    .boolean()
    .describe(
      'False: no account has a forecast yet, so what is near is not known. A sample of accounts is read for it.',
    ),
  record: TrackRecordShape,
})
export type UpcomingShape = z.infer<typeof UpcomingShape>
