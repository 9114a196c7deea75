import { packPoll } from '../../src/limits/findings.ts'
import type { Begun, PollChanges, PollResult } from '../../src/limits/poll-store.ts'
import { readWatch } from '../../src/limits/watch/read-watch.ts'
import { NEW_WATCH } from '../../src/limits/watch/watch.ts'
import { type AlertWrites, NO_ALERT_WRITES } from '../../src/redis/steps.ts'
import { claimAt, commitPoll, type Found } from '../support/committed-poll.ts'
import type { FileRedis } from '../support/of-file.ts'
import { openWorld } from '../support/world.ts'
import { properties, readings } from './reports.ts'

export const HUB = 123
export const [BESIDE, OTHER, FAR] = [HUB + 64, HUB + 1, HUB + 2]
export const NOW = 1_763_719_200_000
export const LATER = NOW + 901_000

/** Some accounts that were just connected, and what tests do with the polls of the first. */
export async function polledAccounts(redis: FileRedis, hubIds: readonly number[] = [HUB]) {
  const { store, keys, services, account } = await openWorld(redis)
  for (const hubId of hubIds) await account({ hubId, obtainedAt: NOW, accessToken: `access-${hubId}` })
  return {
    keys,
    store,
    services,
    account,
    polls: services.polls,
    own: keys.account(HUB),
    dueAt: async (hubId = HUB) => {
      const score = await store.zscore(keys.due.poll, hubId)
      return score === null ? null : Number(score)
    },
    /** The end of the claims. */
    claim: async (some: readonly number[] = [HUB], at = NOW) => {
      const until = claimAt(at)
      for (const hubId of some) await store.zadd(keys.due.poll, until, hubId)
      return until
    },
    poll: (at: number, find?: (begun: Begun) => Found, hubId = HUB) => commitPoll(store, keys, hubId, at, find),
    watch: async (hubId = HUB) => {
      const kept = await readWatch(store, keys, hubId)
      if (kept === undefined || kept === 'unreadable') throw new Error(`the watch is ${kept}`)
      return kept
    },
  }
}

export const FIRST = packPoll(readings(NOW + 1_000, properties(5)), {
  at: NOW + 1_000,
  before: [['overall', undefined]],
})
export const NUMBERS = readings(NOW + 1_000, properties(5))

export function result(until: number, more: Partial<PollChanges> = {}, hubId = HUB): PollResult {
  return {
    hubId,
    claim: until,
    nextAt: NOW + 900_000.4,
    watch: { ...NEW_WATCH, polledAt: NOW + 1_000 },
    readings: FIRST.readings,
    more: { record: FIRST.record, alerts: NO_ALERT_WRITES, ...more },
  }
}

/** What only a poll with something new has to write. */
export const alsoWrites = (more: Partial<PollChanges>) => () => ({ more: { alerts: NO_ALERT_WRITES, ...more } })

export const SEEN = { answers: 'answers_', said: 'names___', records: 'records_', judged: 'judged__' }

export const writes = (before: string, after: string, alert = 'a'): AlertWrites => ({
  changes: [['overall', before, after]],
  entries: [`${alert}-1 ${JSON.stringify({ alert: { id: alert } })}`],
})

export const begunOf = (begun: Begun | 'gone' | Error | undefined): Begun => {
  if (begun === undefined || begun === 'gone' || begun instanceof Error) throw new Error(`it is ${begun}`)
  return begun
}
