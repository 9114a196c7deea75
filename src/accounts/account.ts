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
  /** The access token there is. */
  token: { obtainedAt: number; expiresAt: number; refreshedAt: number | null; generation: number }
  /** Refreshes that failed since one last worked. */
  refreshFailure: { count: number; class: string; reason: string; at: number } | null
  parkedUntil: number | null
  /** When an access token was last handed out, and to which admin token. */
  tokenServedAt: number | null
  tokenServedTo: string | null
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
      obtainedAt: Number(hash.obtainedAt),
      expiresAt: Number(hash.expiresAt),
      refreshedAt: time(hash.refreshedAt),
      generation: Number(hash.generation),
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
    tokenServedAt: time(hash.tokenServedAt),
    tokenServedTo: hash.tokenServedTo ?? null,
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
  return value === undefined || value === '' ? null : Number(value)
}
