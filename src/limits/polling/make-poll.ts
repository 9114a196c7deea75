import type { Secret } from '../../runtime/secret.ts'
import { hasTimeForACall } from '../../tokens/access-token.ts'
import type { TokenTimes } from '../../tokens/plan-refresh.ts'
import type { StoredAccess } from '../../tokens/stored-access.ts'
import { openToken, type Vault } from '../../tokens/vault.ts'
import type { LoadedAccount, MadePoll } from '../poll.ts'
import type { PollStore } from '../poll-store.ts'
import { AccountCalls, type FetchDeps } from './account-calls.ts'
import type { Answers } from './answers.ts'
import { fetchReports, wasUnauthorized } from './fetch-reports.ts'
import { type AccountPollSettings, type PollSettings, pollSettingsOf } from './poll-settings.ts'

export interface MakePollDeps extends FetchDeps {
  vault: Vault
  polls: Pick<PollStore, 'record' | 'loadOne'>
  polling: PollSettings
  /** Refreshes the account's tokens, unless another worker has stored newer ones than `refused`. */
  refresh: (hubId: number, refused: string) => Promise<{ is: string }>
  /** Asks whose the account's tokens are. */
  identify: (hubId: number) => Promise<unknown>
}

/** How a poll is made. */
export interface PollOrder {
  /** Ask also for reports that the account did not have: someone wants to know now. */
  asksAll: boolean
  signal: AbortSignal
}

/** No poll was made: the account is due again `at`, ms. */
export interface PutOff {
  is: 'later' | 'paused'
  at: number
}

/** An account that can be polled: its access token is opened once. */
interface Opened {
  account: LoadedAccount & { access: StoredAccess }
  accessToken: Secret
}

/** Gets an access token that is good for a call, and asks for the reports of one account. */
export async function makePoll(
  deps: MakePollDeps,
  loaded: LoadedAccount,
  { asksAll, signal }: PollOrder,
): Promise<MadePoll | PutOff> {
  const { clock } = deps
  const { hubId, access } = loaded
  const isGood = access !== undefined && hasTimeForACall(access.times, clock.now())
  const opened = (isGood && open(deps, loaded)) || (await refreshed(deps, loaded))
  if (typeof opened === 'string') return putOff(deps, loaded, opened)
  if (opened.account.record?.metadataDue) {
    // The numbers may be those of another account. This one is due at once when that is known.
    await deps.identify(hubId)
    return putOff(deps, loaded, 'failed')
  }
  const settings = pollSettingsOf(deps.polling, opened.account)
  const calls = new AccountCalls(deps, { hubId, before: opened.account.state.calls }, signal)
  const asked = await ask(deps, { hubId, settings, asksAll, ...opened }, calls)
  if (asked === 'held') return putOff(deps, loaded, asked)
  // The account is paused, or there is nothing to ask for: this was no poll.
  if (calls.made.length === 0) return { is: 'paused', at: calls.pausedUntil ?? clock.now() + settings.everyMs }
  const { account, answers } = asked
  const at = Math.max(answers.at, account.state.polledAt + 1)
  return { account, settings, answers, at, readAt: Math.min(at, clock.now()) }
}

/** A token that no key opens is as none at all: a refresh brings another one, or the reason why not. */
function open({ vault }: MakePollDeps, account: LoadedAccount): Opened | undefined {
  const { access, hubId } = account
  const opened = access && openToken(vault, access.sealed, hubId, 'access')
  return access && opened?.ok ? { account: { ...account, access }, accessToken: opened.value } : undefined
}

/** Tokens are kept fresh by their own job; this is for the rare one that is refused, or about to expire, all the same. */
async function refreshed(deps: MakePollDeps, { hubId, access }: LoadedAccount): Promise<Opened | 'held' | 'failed'> {
  const known = await deps.polls.record(hubId)
  if (known?.state !== 'active') return 'failed'
  const version = access?.version ?? known.version
  if ((await deps.refresh(hubId, version)).is === 'held') return 'held'
  const again = await deps.polls.loadOne(hubId)
  // Newer tokens count, from any worker.
  return (again !== undefined && again.access?.version !== version && open(deps, again)) || 'failed'
}

/** The provider's answers, asked once more where the token was refused and a new one came. */
async function ask(
  deps: MakePollDeps,
  asked: Opened & { hubId: number; settings: AccountPollSettings; asksAll: boolean },
  calls: AccountCalls,
): Promise<{ account: LoadedAccount; answers: Answers } | 'held'> {
  const { account } = asked
  const answers = await fetchReports(deps, asked, calls)
  if (answers === undefined) return 'held'
  const isWorthARefresh = wasUnauthorized(answers) && isOldEnoughToDoubt(account.access.times, deps.clock.now())
  const newer = isWorthARefresh ? await refreshed(deps, account) : 'failed'
  if (newer === 'failed') return { account, answers }
  if (newer === 'held') return newer
  const again = await fetchReports(deps, { ...asked, ...newer }, calls)
  return again === undefined ? 'held' : { account: newer.account, answers: again }
}

/**
 * A token that was refused is worth one refresh, but not if it is brand-new: then the refusal has another cause, and
 * refreshing at every poll would only add to it.
 */
export function isOldEnoughToDoubt({ obtainedAt, expiresAt }: TokenTimes, now: number): boolean {
  return now - obtainedAt > Math.min(60_000, (expiresAt - obtainedAt) / 10)
}

const SOON_MS = 2_000
const AFTER_FAILURE_MS = 15_000

/** Soon if another worker refreshes or we are stopping; else not so soon, since refreshing again is for the refresh job to decide. */
function putOff({ polling, clock }: MakePollDeps, account: LoadedAccount, why: 'held' | 'failed'): PutOff {
  const { everyMs } = pollSettingsOf(polling, account)
  return { is: 'later', at: clock.now() + (why === 'held' ? SOON_MS : Math.min(everyMs, AFTER_FAILURE_MS)) }
}

/** Calls that `auto` makes for a pair: for its source, for its targets, for the pair itself. */
const CALLS_FOR_A_PAIR = 3
/** A poll is made once more with another access token. */
const ROUNDS = 2
/** For the refresh of its token, and until it is committed. */
const BESIDE_CALLS_MS = 30_000

/** Longer than all calls of a poll may take, ms; `callMs`: one of them. */
export function longestPollMs({ polling, share }: Pick<MakePollDeps, 'polling' | 'share'>, callMs: number): number {
  const { reports, associations, pairsPerPoll, accounts } = polling
  const pairs = [associations, ...accounts.map((some) => some.associations ?? [])].map((listed) =>
    listed === 'auto' ? pairsPerPoll * CALLS_FOR_A_PAIR : listed.length,
  )
  const calls = ROUNDS * (reports.length + Math.max(...pairs))
  return calls * callMs + (1 + Math.floor(calls / share.requests)) * share.perMs + BESIDE_CALLS_MS
}
