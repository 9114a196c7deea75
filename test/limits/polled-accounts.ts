import type { LoadedAccount, PollChanges } from '../../src/limits/poll.ts'
import { loadPollState } from '../../src/limits/poll-state-text.ts'
import type { Loaded, PollToCommit } from '../../src/limits/poll-store.ts'
import { StoredReadings } from '../../src/limits/stored-readings.ts'
import { type AlertWrites, NO_ALERT_WRITES } from '../../src/redis/steps.ts'
import { claimAt, commitPoll, type Found } from '../support/committed-poll.ts'
import type { FileRedis } from '../support/of-file.ts'
import { openWorld } from '../support/world.ts'
import { polledState, properties, readings } from './reports.ts'

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
    poll: (at: number, find?: (account: LoadedAccount) => Found, hubId = HUB) =>
      commitPoll(store, keys, hubId, at, find),
    pollState: async (hubId = HUB) => {
      const state = await loadPollState(store, keys, hubId)
      if (state === undefined) throw new Error('there is no state of its polls')
      return state
    },
  }
}

export const NUMBERS = readings(NOW + 1_000, properties(5))
export const FIRST = StoredReadings.of(NUMBERS, NOW + 1_000)

export function result(until: number, more: Partial<PollChanges> = {}, hubId = HUB): PollToCommit {
  return {
    hubId,
    claim: until,
    nextAt: NOW + 900_000.4,
    state: polledState(NOW + 1_000, NUMBERS),
    more: { change: { at: NOW + 1_000, before: [['overall', undefined]] }, alerts: NO_ALERT_WRITES, ...more },
  }
}

/** What only a poll with something new has to write. */
export const alsoWrites = (more: Partial<PollChanges>) => () => ({ more: { alerts: NO_ALERT_WRITES, ...more } })

/** The next poll may rest on the last one. */
export const RESTS = { digests: 'digest', rules: 'rules___', restUntil: LATER }
export const NOTHING_RESTS = { digests: '', rules: '', restUntil: 0 }

export const writes = (before: string, after: string, alert = 'a'): AlertWrites => ({
  changes: [['overall', before, after]],
  entries: [`${alert}-1 ${JSON.stringify({ alert: { id: alert } })}`],
})

export const loadedOf = (loaded: Loaded | undefined): LoadedAccount => {
  if (loaded === undefined || loaded === 'gone' || loaded instanceof Error) throw new Error(`it is ${loaded}`)
  return loaded
}
