import { randomBytes } from 'node:crypto'
import type { ProviderFailure } from '../provider/failure.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { NO_ACCOUNT } from '../redis/steps.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Secret } from '../runtime/secret.ts'
import { GRANT_CLAIM_MS, type TokenDeps } from './pending-tokens.ts'
import type { TokenTimes } from './plan-refresh.ts'
import type { GrantToStore } from './token-store.ts'

/** The tokens of one install whose account is not known yet. */
export interface Grant {
  id: string
  accessToken: Secret
  refreshToken: Secret
  times: TokenTimes
  /** When the code was sent, ms. */
  grantedAt: number
  /** Asked for by a link for one account: of another one it is dropped. */
  only: number | undefined
  /** The refresh token before, which may be alive until its successor has worked. */
  previous?: Secret | undefined
  /** The version of its account that it makes. */
  version: number
}

export interface ParkDeps extends TokenDeps {
  store: Store
  keys: Keys
}

type InRedis = Pick<ParkDeps, 'store' | 'keys'>

/** A call that is sent with less left of the claim might outlast it. */
const LONGEST_CALL_MS = 15_000
/** Takes the place of an answer where the claim has ended. */
export const OTHER_WORKER: ProviderFailure = {
  class: 'transient',
  code: 'other-worker',
  message: 'another worker has this install',
  status: 0,
}
/** Grants of one sweep. */
const MOST = 20

/** An id as long as the state of an install, which may be its grant's id. */
export function newGrantId(): string {
  return randomBytes(16).toString('base64url')
}

/** A worker that hangs loses the right to redeem the tokens of a grant: a sweep claims it for another one. */
export function mayRedeem(clock: Clock, claimedAt: number): boolean {
  return clock.steady() - claimedAt < GRANT_CLAIM_MS - LONGEST_CALL_MS
}

/**
 * Stores a grant, sealed, or other tokens of a stored one; no sweep tries it for a while. Undefined: another worker has it. Throws
 * where Redis does not take it: the process keeps it in memory then, and tries again for as long as it lives.
 */
export async function keepGrant(deps: ParkDeps, grant: Grant): Promise<Grant | undefined> {
  const is = await deps.pending.park(grantToStore(grant), deps.clock.now() + GRANT_CLAIM_MS)
  return is === 'gone' ? undefined : grant
}

export function grantToStore(grant: Grant, account?: number): GrantToStore {
  const { id, accessToken: access, refreshToken: refresh, times, grantedAt, only, version } = grant
  return { hubId: NO_ACCOUNT, id, access, refresh, times, grantedAt, only, version, account }
}

/** Undefined: another worker was faster. Throws VaultError where no key opens it. */
export async function readGrant(
  { store, keys, vault }: Pick<ParkDeps, 'store' | 'keys' | 'vault'>,
  id: string,
): Promise<Grant | undefined> {
  const { access, refresh, previous, ...stored } = await store.hgetallBuffer(keys.grants.grant(id))
  if (access === undefined || refresh === undefined) return undefined
  const number = (field: string) => Number(stored[field]?.toString())
  const [obtainedAt, grantedAt] = [number('obtainedAt'), number('grantedAt')]
  return {
    id,
    accessToken: vault.open(access, NO_ACCOUNT, 'access'),
    refreshToken: vault.open(refresh, NO_ACCOUNT, 'refresh'),
    previous: previous && vault.open(previous, NO_ACCOUNT, 'refresh'),
    times: { obtainedAt, expiresAt: number('expiresAt') },
    grantedAt,
    only: number('only') || undefined,
    version: number('version'),
  }
}

/** Ids of those that are due, which are due again once the claim ends, and when it was asked for, by the steady clock. */
export async function claimGrants({ store, keys, clock }: InRedis & { clock: Clock }) {
  const claimedAt = clock.steady()
  const [ids] = await store.claimDue(keys.grants.due, clock.now(), MOST, clock.now() + GRANT_CLAIM_MS)
  return { ids, claimedAt }
}

/** The first version of a new intent: whoever asks later gets a higher one. */
export async function takeIntent({ store, keys }: InRedis): Promise<number> {
  return Number(await store.takeIntent(keys.own(NO_ACCOUNT)))
}

export async function forgetGrant({ store, keys }: InRedis, id: string): Promise<void> {
  await store.multi().del(keys.grants.grant(id)).zrem(keys.grants.due, id).exec()
}
