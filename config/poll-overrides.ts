import * as z from 'zod'
import { accountMatch } from './account-match.ts'
import { associationPairs } from './associations.ts'
import { asGroup, related } from './relations.ts'
import { duration } from './values.ts'

export const pollPeriod = () => duration({ min: '1s', max: '7d' })

const SETTINGS = ['every', 'soonest', 'associations']

/** What is polled otherwise for some accounts; what an override leaves out is as for all. */
export const pollOverrides = z.array(
  related(
    z.strictObject({
      match: related(z.strictObject(accountMatch()), ({ account, tag }, report) => {
        if (account === undefined && tag === undefined) report([], 'needs account or tag')
      }).describe('Which accounts. All that is given must fit.'),
      every: pollPeriod().exactOptional().describe('Longest period between two polls of such an account.'),
      soonest: pollPeriod().exactOptional().describe('Shortest period between two polls of such an account.'),
      associations: associationPairs.exactOptional().describe('Pairs of object types to poll for such an account.'),
    }),
    (override, report) => {
      if (SETTINGS.some((name) => asGroup(override)[name] !== undefined)) return
      report([], `changes nothing: needs at least one of ${SETTINGS.join(', ')}`)
    },
  ),
)
