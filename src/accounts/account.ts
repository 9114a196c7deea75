import type { PollBlocked, PollFailure, PollState } from '../limits/poll-state.ts'
import { NEW_POLL_STATE } from '../limits/poll-state-text.ts'
import type { StoredBucketUse } from '../provider/bucket-use.ts'
import { gapLines } from '../provider/read.ts'
import type { AccountState } from '../redis/keys.ts'
import { LAST_MOMENT } from '../runtime/moment.ts'
import { confirmedBy } from '../tokens/after-failure.ts'

/** One installed account, without its tokens. Times are ms since 1970, null = never. */
export interface Account {
  hubId: number
  /** Empty where the provider doesn't send it. */
  hubDomain: string
  /** Data center of the account at the provider: `eu1`. */
  hublet?: string
  state: AccountState
  /** Installer of the app, as the provider names them. */
  user: string | null
  /** Address for messages to the account's customer. */
  contact: string | null
  /** The latest connection, ms. */
  connectedAt: number
  /** The first one, ms. */
  firstConnectedAt: number
  /** The access token there is; an account that was imported gets its first with the first refresh. */
  token: {
    obtainedAt: number | null
    expiresAt: number | null
    refreshedAt: number | null
    version: number
    /** By how much the provider's own count of its life differs from ours: negative = it gives less. Null = it agrees. */
    driftMs: number | null
  }
  /** Refreshes that failed since one last worked, the last one `at`. */
  refreshFailure: { count: number; class: string; reason: string; at: number; since: number } | null
  /** Since when the refresh token is refused. */
  refusedSince: number | null
  parkedUntil: number | null
  /** Moment at which an access token was last handed out, and the admin token that got it. */
  tokenServedAt: number | null
  tokenServedTo: string | null
  polledAt: number | null
  /** Why it is polled next when it is, and when its regular turn is. */
  turn: NonNullable<PollState['turn']> | null
  /** Polls that failed in a row, wholly or in part, the last one `at`. */
  pollFailure: PollFailure | null
  /**
   * Reports that no scope lets be read: all of them, or a part. `scopes` would do, by the provider's answer, which may
   * be wrong.
   */
  pollBlocked: PollBlocked | null
  /** Object types that its last report named beyond what is kept of one account: these are not watched. */
  objectTypesLeftOut: number
  /** Limits reports that its plan, or its scopes, lack, by their names: asked for again once a day. */
  notAvailable: string[]
  /** Calls used of its bucket at the provider. Null = nothing was seen. */
  bucket: StoredBucketUse | null
  /** Fields of its last reports that could not be read, for people: all else was. */
  gaps: string[]
  uninstall: Uninstall | null
}

/** The part of an account that decides who is written to. */
export type Addressed = Pick<Account, 'state' | 'contact' | 'user'> & Record<'pollBlocked' | 'pollFailure', unknown>

/** Origins of an uninstall; `evidence` is a refresh token that has been refused for as long as the config sets. */
export type UninstallBy = 'cli' | 'api' | 'evidence'

/** How an uninstall went so far. */
export interface Uninstall {
  askedAt: number
  reason: string
  by: UninstallBy
  /** Attempts to delete the refresh token that got an answer or failed. */
  attempts: number
  /** Why the last one failed that did. */
  failure: string | null
  failureAt: number | null
  /** Moment at which the refresh token was deleted: the provider did it, or no longer knew it. */
  at: number | null
  ending: 'deleted' | 'was-gone' | null
  /** Moment at which record and readings are forgotten. */
  purgeAt: number | null
}

type Hash = Readonly<Record<string, string>>

/** `kept`: undefined for an account that was never polled. */
export function readAccount(hubId: number, hash: Hash, kept: PollState | undefined): Account {
  const polls = kept ?? NEW_POLL_STATE
  return {
    hubId,
    hubDomain: hash.hubDomain ?? '',
    ...(hash.hublet && { hublet: hash.hublet }),
    state: hash.state as AccountState,
    user: hash.user ?? null,
    contact: hash.contact ?? null,
    connectedAt: time(hash.connectedAt) ?? Number.NaN,
    firstConnectedAt: time(hash.firstConnectedAt ?? hash.connectedAt) ?? Number.NaN,
    token: {
      obtainedAt: time(hash.obtainedAt),
      expiresAt: time(hash.expiresAt),
      refreshedAt: time(hash.refreshedAt),
      version: Number(hash.version) || 0,
      driftMs: Number(hash.tokenDriftMs) || null,
    },
    refreshFailure: time(hash.failureAt) === null ? null : readRefreshFailure(hash),
    refusedSince: time(hash.rejectedAt),
    parkedUntil: time(hash.parkedUntil),
    tokenServedAt: time(hash.tokenServedAt),
    tokenServedTo: hash.tokenServedTo ?? null,
    polledAt: polls.polledAt === 0 ? null : polls.polledAt,
    turn: polls.turn ?? null,
    pollFailure: polls.failing ?? null,
    pollBlocked: polls.blocked ?? null,
    objectTypesLeftOut: polls.typesLeftOut,
    notAvailable: Object.keys(polls.notAvailable),
    bucket: polls.bucket ?? null,
    gaps: gapLines(polls.gaps),
    uninstall: hash.uninstallReason === undefined ? null : readUninstall(hash),
  }
}

/** Latest moment at which the refusal of an account's refresh token is confirmed, ms; undefined for others. */
export function confirmationOf({ state, refusedSince, token }: Account): number | undefined {
  if (state !== 'failing' || refusedSince === null) return undefined
  return confirmedBy(refusedSince, { obtainedAt: token.obtainedAt ?? 0, expiresAt: token.expiresAt ?? 0 })
}

function readRefreshFailure(hash: Hash): Account['refreshFailure'] {
  return {
    count: Number(hash.failures) || 0,
    class: hash.failureClass ?? '',
    reason: hash.failureReason ?? '',
    at: time(hash.failureAt) ?? Number.NaN,
    since: time(hash.failingSince ?? hash.failureAt) ?? Number.NaN,
  }
}

function readUninstall(hash: Hash): Uninstall {
  return {
    askedAt: time(hash.uninstallAskedAt) ?? Number.NaN,
    reason: hash.uninstallReason ?? '',
    by: hash.uninstallBy as UninstallBy,
    attempts: Number(hash.uninstallAttempts) || 0,
    failure: hash.uninstallFailureReason ?? null,
    failureAt: time(hash.uninstallFailureAt),
    at: time(hash.uninstalledAt),
    ending: (hash.uninstallEnding ?? null) as Uninstall['ending'],
    purgeAt: time(hash.purgeAt),
  }
}

/** Null for what is no moment, so that no list of accounts fails for one of them. */
function time(text: string | undefined): number | null {
  const at = Number(text)
  return at > 0 && at <= LAST_MOMENT ? at : null
}
