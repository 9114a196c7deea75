import { setMaxListeners } from 'node:events'
import { Movement } from '../../jobs/movement.ts'
import { type PolledOutcome, type PollLimitsDeps, pollOne } from '../../jobs/poll-limits.ts'
import { type RefreshTokensDeps, refreshOne } from '../../jobs/refresh-tokens.ts'
import type { Account } from '../accounts/account.ts'
import { InFlight } from '../runtime/concurrency.ts'
import { redactUrls } from '../runtime/logger.ts'
import type { RefreshOutcome } from '../tokens/refresh-account.ts'
import type { Parts } from './parts.ts'
import { createSharedServices } from './services.ts'
import { openEndpoint } from './token-endpoint.ts'
import { workerDeps } from './worker-deps.ts'

/** The steps of the daemon's jobs, for a command that wants one account done now. A daemon may run beside it. */
export interface AccountJobs {
  /** Resolves with why the account could not be read, or not all of it; undefined = it was. Never rejects. */
  poll(hubId: number): Promise<string | undefined>
  /** Refreshes the tokens of this generation, due or not. */
  refresh(hubId: number, generation: number): Promise<RefreshOutcome>
}

/** Accounts polled at a time, however many are asked for. */
const POLLS = 32
/** Another worker may be refreshing the account's tokens just then: that takes a moment. */
const ATTEMPTS = 4
const AGAIN_MS = 1_000
const ANSWER_STOP_MS = 1_000

/** No workers, no clock, no HTTP: only what the steps themselves need. Closed with the parts; `stop` begins nothing new. */
export function openAccountJobs(parts: Parts, stop: AbortSignal): AccountJobs {
  const shared = createSharedServices(parts)
  const endpoint = openEndpoint(parts, () => parts.config)
  const { unstored } = shared
  parts.lifecycle.onClose('the answers that Redis has not taken', () => unstored.close(parts.clock, ANSWER_STOP_MS))
  // The command waits for them, and would wait for ever.
  stop.addEventListener('abort', () => unstored.end(), { once: true })
  parts.lifecycle.onClose('the door to the token endpoint', async () => endpoint.close())
  const work = workerDeps(parts, { ...shared, endpoint, movement: new Movement(parts.clock) }, new Map())
  return accountJobs(parts, () => work, stop)
}

/** The same with what a daemon's workers have, which another config may change. */
export function accountJobs(
  { clock, registry }: Pick<Parts, 'clock' | 'registry'>,
  work: () => PollLimitsDeps & RefreshTokensDeps,
  stop: AbortSignal,
): AccountJobs {
  setMaxListeners(0, stop) // One or two per account under way.
  async function pollOrWait(hubId: number): Promise<PolledOutcome> {
    for (let attempt = 1; ; attempt++) {
      const outcome = await pollOne(work(), hubId, 'wanted', stop)
      if (outcome !== 'later' || attempt === ATTEMPTS || stop.aborted) return outcome
      await clock.wait(AGAIN_MS, stop)
    }
  }
  async function poll(hubId: number): Promise<string | undefined> {
    if (stop.aborted) return 'stopped'
    const startedAt = clock.now()
    try {
      const outcome = await pollOrWait(hubId)
      return stop.aborted ? 'stopped' : whyNotRead(outcome, await registry.get(hubId), startedAt)
    } catch (error) {
      return error instanceof Error ? redactUrls(error.message) : String(error)
    }
  }
  const places = new InFlight(POLLS)
  return {
    poll: (hubId) => places.run('normal', () => poll(hubId)),
    refresh: (hubId, generation) => refreshOne(work(), hubId, String(generation)),
  }
}

/** Undefined: everything was read, by us or by a daemon that was faster. */
export function whyNotRead(
  outcome: PolledOutcome,
  account: Pick<Account, 'state' | 'pollFailure' | 'pollBlocked' | 'refreshFailure'> | undefined,
  startedAt: number,
): string | undefined {
  if (account === undefined) return 'there is no such account'
  const { state, pollFailure, pollBlocked, refreshFailure } = account
  switch (outcome) {
    case 'gone':
      return state === 'reauthorize' ? 'it must be connected again' : `it is ${state}`
    case 'later':
      return refreshFailure === null
        ? 'its token is not to be had just now: try again'
        : `its token can't be refreshed: ${refreshFailure.reason}`
    case 'no-room':
      return 'limits.callsPerHour has no room for it now: see plimsoll status'
    case 'paused':
      return "the provider's rate limit for it is reached, or nearly so: try again in a while"
    default:
      if (pollFailure !== null && pollFailure.at >= startedAt) return pollFailure.reason
      if (pollBlocked === null) return undefined
      return `it cannot be watched${pollBlocked.what === 'all' ? '' : ' in part'}: a scope is missing, plimsoll accounts show names those that would do`
  }
}
