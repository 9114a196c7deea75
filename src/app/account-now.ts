import type { Account } from '../accounts/account.ts'
import type { Registry } from '../accounts/registry.ts'
import { formatMoment } from '../text/format-time.ts'
import type { RefreshOutcome } from '../tokens/refresh-account.ts'
import type { AccountJobs } from './account-jobs.ts'

/** What came of refreshing an account's tokens now. */
export type RefreshedNow =
  | { is: 'refreshed'; account: Account }
  | { is: 'unknown' }
  /** `until`: not before, ms. */
  | { is: 'gone' | 'held' | 'planned' | 'closed' | 'failed'; why: string; until?: number }

/** Reads an account's limits now; `reason`: why it was not read, or not all of it. */
export async function pollNow(
  jobs: Pick<AccountJobs, 'poll'>,
  registry: Registry,
  hubId: number,
): Promise<{ account: Account | undefined; reason: string | undefined }> {
  const reason = await jobs.poll(hubId)
  return { account: await registry.get(hubId), reason }
}

/** At once, unless the account's next attempt is planned after one that failed. */
export async function refreshNow(
  jobs: Pick<AccountJobs, 'refresh'>,
  registry: Registry,
  hubId: number,
): Promise<RefreshedNow> {
  const before = await registry.get(hubId)
  if (before === undefined) return { is: 'unknown' }
  const outcome = await jobs.refresh(hubId, before.token.generation)
  const account = await registry.get(hubId)
  if (account === undefined) return { is: 'unknown' }
  const isNew = account.token.generation !== before.token.generation
  return isNew ? { is: 'refreshed', account } : judged(outcome, account)
}

function wayOut({ hubId, state }: Account): string {
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
        why: `its last refresh failed (${account.refreshFailure?.reason ?? 'no reason is known'}); ${wayOut(account)}`,
      }
    case 'held':
      return { is: 'held', why: 'another process works on it: try again in a moment' }
    case 'gone':
      return { is: 'gone', why: 'it is uninstalled, or about to be' }
    case 'waiting': {
      const { until } = outcome
      return {
        is: 'closed',
        why: `the token endpoint is closed until ${formatMoment(until)}: see plimsoll status`,
        until,
      }
    }
    case 'failed':
      return { is: 'failed', why: outcome.failure.message }
  }
}
