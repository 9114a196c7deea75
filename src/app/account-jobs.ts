import { setMaxListeners } from 'node:events'
import type { PolledOutcome } from '../../jobs/poll-commits.ts'
import { pollWanted } from '../../jobs/poll-limits.ts'
import { identifyOne, refreshOne } from '../../jobs/refresh-tokens.ts'
import type { Account } from '../accounts/account.ts'
import type { Registry } from '../accounts/registry.ts'
import type { Who } from '../audit/audited.ts'
import type { RefreshedNow } from '../operations/actions.ts'
import type { Store } from '../redis/connect.ts'
import { InFlight } from '../runtime/concurrency.ts'
import { redactUrls } from '../runtime/url-credentials.ts'
import { formatMoment } from '../text/format-time.ts'
import { AccessTokens } from '../tokens/access-token.ts'
import type { RefreshOutcome } from '../tokens/refresh-account.ts'
import { TokenStore } from '../tokens/token-store.ts'
import type { Services } from './services.ts'

/** The steps of the daemon's jobs, for a command that wants one account done now. A daemon may run beside it. */
export interface AccountJobs {
  /** Resolves with why the account could not be read, or not all of it; undefined = it was. Never rejects. */
  poll(hubId: number): Promise<string | undefined>
  /** Refreshes the tokens of this version, due or not, also where that waits for an operator. */
  refresh(hubId: number, version: number): Promise<RefreshOutcome>
}

/** Parts of operations beside the services in force. */
export interface Acting {
  /** A connection that gives up after two seconds. */
  pages: Store
  accessTokens: AccessTokens
  jobs: AccountJobs
  stop: AbortSignal
}

/** Accounts polled at a time, however many are asked for. */
const POLLS = 32
/** Another worker may be refreshing the account's tokens just then: that takes a moment. */
const ATTEMPTS = 4
const AGAIN_MS = 1_000

/** By the services of the moment. `stop` begins nothing new. */
export function accountJobs(current: () => Services, stop: AbortSignal): AccountJobs {
  setMaxListeners(0, stop) // One or two per account under way.
  async function pollOrWait(hubId: number): Promise<PolledOutcome> {
    for (let attempt = 1; ; attempt++) {
      const outcome = await pollWanted(current(), hubId, stop)
      if (outcome !== 'later' || attempt === ATTEMPTS || stop.aborted) return outcome
      await current().clock.wait(AGAIN_MS, stop)
    }
  }
  async function poll(hubId: number): Promise<string | undefined> {
    if (stop.aborted) return 'stopped'
    const { registry, clock } = current()
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
    refresh: (hubId, version) => refreshOne(current(), hubId, String(version), 'decided'),
  }
}

/** Reads for a caller that gives up soon; refreshes as the job does, on the connection that waits. */
export function createAccessTokens(current: () => Services, pages: Store): AccessTokens {
  const { keys, vault, clock } = current()
  return new AccessTokens({
    tokens: new TokenStore(pages, keys, clock),
    vault,
    refresh: (hubId, version) => refreshOne(current(), hubId, version),
    identify: async (hubId) => ((await identifyOne(current(), hubId))?.is === 'later' ? 'later' : 'asked'),
    clock,
  })
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
      return state === 'reauthorize' ? 'it must reconnect' : `it is ${state}`
    case 'later':
      return refreshFailure === null
        ? 'its token is not available right now: try again'
        : `its token can't be refreshed: ${refreshFailure.reason}`
    case 'unstored':
      return 'what was read could not be stored: try again'
    case 'paused':
      return "the provider's rate limit for it is reached, or nearly so: try again in a while"
    default:
      if (pollFailure !== null && pollFailure.at >= startedAt) return pollFailure.reason
      if (pollBlocked === null) return undefined
      return `${pollBlocked.what === 'all' ? '' : 'some '}limits can't be read: a permission is missing, see plimsoll accounts show`
  }
}

/** A request is in the audit, whatever its outcome. */
type Noting = Pick<Services, 'registry' | 'audit'>

/** Reads an account's limits now; `reason`: why it was not read, or not all of it. */
export async function pollNow(
  jobs: Pick<AccountJobs, 'poll'>,
  { registry, audit }: Noting,
  hubId: number,
  who: Who,
): Promise<{ account: Account | undefined; reason: string | undefined }> {
  const reason = await jobs.poll(hubId)
  const account = await registry.get(hubId)
  if (account !== undefined) await audit.noteRequest({ action: 'account.polled', who, hubId, detail: reason })
  return { account, reason }
}

/** At once, unless the account's next attempt is planned after one that failed. */
export async function refreshNow(
  jobs: Pick<AccountJobs, 'refresh'>,
  { registry, audit }: Noting,
  hubId: number,
  who: Who,
): Promise<RefreshedNow> {
  const refreshed = await refreshUnlessPlanned(jobs, registry, hubId)
  if (refreshed.is !== 'unknown') {
    const detail = 'why' in refreshed ? `not refreshed: ${refreshed.why}` : undefined
    await audit.noteRequest({ action: 'account.refreshed', who, hubId, detail })
  }
  return refreshed
}

async function refreshUnlessPlanned(
  jobs: Pick<AccountJobs, 'refresh'>,
  registry: Registry,
  hubId: number,
): Promise<RefreshedNow> {
  const before = await registry.get(hubId)
  if (before === undefined) return { is: 'unknown' }
  const outcome = await jobs.refresh(hubId, before.token.version)
  const account = await registry.get(hubId)
  if (account === undefined) return { is: 'unknown' }
  const isNew = account.token.version !== before.token.version
  return isNew ? { is: 'refreshed', account } : judged(outcome, account)
}

function hintFor({ hubId, state }: Account): string {
  return state === 'reauthorize'
    ? `connect it again: plimsoll accounts reconnect-link ${hubId}`
    : `the next one is planned: see plimsoll accounts show ${hubId}`
}

function judged(outcome: RefreshOutcome, account: Account): RefreshedNow {
  switch (outcome.is) {
    case 'refreshed':
    case 'lost': // Another process has just done it.
      return { is: 'refreshed', account }
    case 'fresh':
      return {
        is: 'planned',
        why: `its last refresh failed (${account.refreshFailure?.reason ?? 'no reason is known'}); ${hintFor(account)}`,
      }
    case 'held':
      return { is: 'held', why: 'another process works on it: try again in a moment' }
    case 'gone':
      return { is: 'gone', why: 'it is uninstalled, or about to be' }
    case 'waiting':
      return {
        is: 'closed',
        why: `the token endpoint is closed until ${formatMoment(outcome.until)}: see plimsoll status`,
        until: outcome.until,
      }
    case 'failed':
      return { is: 'failed', why: outcome.failure.message }
  }
}
