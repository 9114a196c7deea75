import type { AccountState } from '../redis/keys.ts'

/** What is known of one installed account, without its tokens. Times are ms since 1970, null = never. */
export interface Account {
  hubId: number
  /** Empty where the provider doesn't tell. */
  hubDomain: string
  state: AccountState
  /** Who installed the app, as the provider names them. */
  user: string | null
  connectedAt: number
  /** The access token there is; an account that was imported gets its first with the first refresh. */
  token: {
    obtainedAt: number | null
    expiresAt: number | null
    refreshedAt: number | null
    generation: number
    /** By how much the provider's own count of its life differs from ours: negative = it gives less. Null = it agrees. */
    driftMs: number | null
  }
  /** Refreshes that failed since one last worked. */
  refreshFailure: { count: number; class: string; reason: string; at: number } | null
  parkedUntil: number | null
  polledAt: number | null
  pollFailure: { count: number; reason: string; at: number } | null
  uninstall: { reason: string; at: number | null; failure: string | null } | null
}

export function readAccount(hubId: number, hash: Record<string, string>): Account {
  return {
    hubId,
    hubDomain: hash.hubDomain ?? '',
    state: hash.state as AccountState,
    user: hash.user ?? null,
    connectedAt: Number(hash.connectedAt),
    token: {
      obtainedAt: time(hash.obtainedAt),
      expiresAt: time(hash.expiresAt),
      refreshedAt: time(hash.refreshedAt),
      generation: Number(hash.generation),
      driftMs: hash.tokenDriftMs === undefined ? null : Number(hash.tokenDriftMs),
    },
    refreshFailure:
      hash.failureAt === undefined
        ? null
        : {
            count: Number(hash.failures ?? 0),
            class: hash.failureClass ?? '',
            reason: hash.failureReason ?? '',
            at: Number(hash.failureAt),
          },
    parkedUntil: time(hash.parkedUntil),
    polledAt: time(hash.polledAt),
    pollFailure:
      hash.pollFailureAt === undefined
        ? null
        : {
            count: Number(hash.pollFailures ?? 0),
            reason: hash.pollFailureReason ?? '',
            at: Number(hash.pollFailureAt),
          },
    uninstall:
      hash.uninstallReason === undefined
        ? null
        : { reason: hash.uninstallReason, at: time(hash.uninstalledAt), failure: hash.uninstallFailureReason ?? null },
  }
}

function time(value: string | undefined): number | null {
  return value === undefined || value === '' || value === '0' ? null : Number(value)
}
