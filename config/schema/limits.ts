import * as z from 'zod'
import { namedReports, REPORT_NAMES } from '../../src/limits/reports/all-reports.ts'
import { accountMatch } from './account-match.ts'
import {
  asGroup,
  distinct,
  duration,
  objectTypeId,
  oneOrMany,
  type ReportProblem,
  related,
  share,
  type Unchecked,
  wholeNumber,
} from './values.ts'

/** Ordered pairs of object types whose association limits are polled, or `auto`: all of those that an account has. */
const associationPairs = z.union([
  z.literal('auto'),
  distinct(
    z.array(
      z.strictObject({
        from: objectTypeId().describe('objectTypeId that the association starts from.'),
        to: objectTypeId().describe('objectTypeId that it leads to.'),
      }),
      { error: () => 'must be auto, or a list of { from, to }' },
    ),
    ({ from, to }) => `${String(from)} ${String(to)}`,
    'this pair is listed already',
  ),
])

/** `all` of them, or those that are listed. */
const reports = z.codec(oneOrMany(z.enum(['all', ...REPORT_NAMES])), z.custom<string[]>(), {
  decode: (names) => (names.includes('all') ? [...REPORT_NAMES] : [...new Set(names)]),
  encode: (names) => names,
})

const pollPeriod = () => duration({ min: '1s', max: '7d' })

const SETTINGS = ['every', 'soonest', 'associations']

/** Poll settings of some accounts; a setting that an override leaves out is as for all. */
const pollOverrides = z.array(
  related(
    z.strictObject({
      match: related(z.strictObject(accountMatch()), ({ account, tag }, report) => {
        if (account === undefined && tag === undefined) report([], 'needs account or tag')
      }).describe('Which accounts. All conditions must match.'),
      every: pollPeriod().exactOptional().describe('Longest period between two polls of such an account.'),
      soonest: pollPeriod().exactOptional().describe('Period while a limit of such an account is near a threshold.'),
      associations: associationPairs.exactOptional().describe('Pairs of object types to poll for such an account.'),
    }),
    (override, report) => {
      if (SETTINGS.some((name) => asGroup(override)[name] !== undefined)) return
      report([], `changes nothing: needs at least one of ${SETTINGS.join(', ')}`)
    },
  ),
)

export const limits = related(
  z.strictObject({
    reports: reports
      .prefault(['customProperties', 'associations'])
      .describe("The provider's limits reports to read, or all. Each is a call in every poll."),
    every: pollPeriod().prefault('15m').describe('Longest period between two polls of an account.'),
    soonest: pollPeriod().prefault('5m').describe('Period while a limit is near a threshold.'),
    accounts: pollOverrides.prefault([]).describe('Other settings for some accounts: the first that matches decides.'),
    associations: associationPairs.prefault([]).describe('Ordered pairs of object types to poll; auto: all pairs.'),
    pairsPerPoll: wholeNumber(1, 1_000).prefault(20).describe('With `associations: auto`: the most pairs of one poll.'),
    alertAfter: duration({ min: '1s', max: '365d' }).prefault('30m').describe('How long polls fail before an alert.'),
    freshness: duration({ min: '1m', max: '365d' }).prefault('26h').describe('Age from which a reading is stale.'),
    coverage: share({ most: 100 }).prefault('95%').describe('Below this share of fresh accounts there is an alert.'),
    history: z
      .strictObject({
        raw: duration({ min: '1h', max: '3650d' }).prefault('7d').describe('How long every change is kept.'),
        hourly: duration({ min: '1h', max: '3650d' }).prefault('90d').describe('The same of the values of each hour.'),
        daily: duration({ min: '1h', max: '3650d' }).prefault('800d').describe('The same of the values of each day.'),
        samples: duration({ min: '1m', max: '3650d' }).prefault('30d').describe('The same of records near a limit.'),
      })
      .prefault({})
      .describe('How long readings are kept, at which detail. Each account is thinned out once a day.'),
    records: z.enum(['full', 'ids', 'none']).prefault('full').describe('Stored data of records near a limit.'),
  }),
  checkReports,
).describe('Reports to poll, and their retention.')

/** Refuses reports that would read nothing, or nothing that is asked for. */
function checkReports(given: Unchecked, report: ReportProblem): void {
  if (!Array.isArray(given.reports)) return
  const asked = namedReports(given.reports.map(String))
  const overrides = Array.isArray(given.accounts) ? given.accounts.map(asGroup) : []
  const pairs = [given.associations, ...overrides.map(({ associations }) => associations ?? given.associations)]
  const isEmpty = (some: unknown) => some === undefined || (Array.isArray(some) && some.length === 0)
  if (asked.length > 0 && asked.every(({ perPair }) => perPair !== undefined) && pairs.some(isEmpty)) {
    report(['reports'], 'reads nothing where associations names no pair: name one, or another report')
  }
  const isOfPairs = asked.some(({ perPair }) => perPair !== undefined)
  if (isOfPairs && pairs.includes('auto') && !asked.some(({ namesTypes }) => namesTypes)) {
    report(['associations'], 'auto needs customProperties in limits.reports: it names the object types of an account')
  }
}
