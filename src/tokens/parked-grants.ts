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
  claim: GrantClaim
}

/** The right to redeem the tokens of a grant. A worker that hangs loses it: a sweep claims the grant for another one. */
export interface GrantClaim {
  /** The end, which is the grant's place among those that are due. */
  until: number
  /** When it was asked for, by the steady clock. */
  at: number
}

export interface ParkedGrant extends Grant {
  /** The account that may have been stored with it, while the grant is not yet taken out. */
  hubId: number | undefined
  /** Another grant of its account was stored in between: the provider must name the one that counts. */
  isCrossing: boolean
  /** The tokens are newer than those of its code, which its account may have been stored with. */
  isRenewed: boolean
  /** The deletion was begun: no account may be connected with it any more. */
  isEnding: boolean
  /** Place in the order of grants and uninstalls. */
  order: number
  /** Attempts to delete it that failed. */
  undeleted: number
}

export interface ParkDeps extends TokenDeps {
  store: Store
  keys: Keys
}

type InRedis = Pick<ParkDeps, 'store' | 'keys'>

/** Value of `hubId` where the account was stored with another grant. */
export const CROSSING = ''
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

/** To be taken before the claim is asked for. */
export function newClaim(clock: Clock): GrantClaim {
  return { until: clock.now() + GRANT_CLAIM_MS, at: clock.steady() }
}

export function mayRedeem(clock: Clock, { at }: GrantClaim): boolean {
  return clock.steady() - at < GRANT_CLAIM_MS - LONGEST_CALL_MS
}

/**
 * Stores a grant, sealed, or other tokens of a stored one; no sweep tries it for a while. Throws where Redis does not take it:
 * the process keeps it in memory then, and tries again for as long as it lives.
 */
export async function keepGrant(deps: ParkDeps, grant: Grant): Promise<void> {
  const next = newClaim(deps.clock)
  await deps.pending.park(grantToStore(grant), next.until)
  // One that had ended before may be another worker's by now.
  if (deps.clock.steady() - grant.claim.at < GRANT_CLAIM_MS) Object.assign(grant.claim, next)
}

export function grantToStore(grant: Omit<Grant, 'claim'>, account?: number): GrantToStore {
  const { id, accessToken: access, refreshToken: refresh, times, grantedAt, only } = grant
  return { hubId: NO_ACCOUNT, id, access, refresh, times, grantedAt, only, account }
}

/** Undefined: another worker was faster. Throws VaultError where no key opens it. */
export async function readGrant(
  { store, keys, vault }: Pick<ParkDeps, 'store' | 'keys' | 'vault'>,
  id: string,
): Promise<Omit<ParkedGrant, 'claim'> | undefined> {
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
    hubId: number('hubId') || undefined,
    isCrossing: stored.hubId?.toString() === CROSSING,
    isRenewed: obtainedAt > grantedAt,
    isEnding: stored.isEnding?.toString() === '1',
    order: number('order'),
    undeleted: number('undeleted') || 0,
  }
}

/**
 * Written before the step itself: a worker that finds the grant afterwards knows that the step may be done. Returns the grant's
 * place in the order of grants and uninstalls; '' = it has none.
 */
export async function noteOfGrant(
  deps: ParkDeps,
  id: string,
  note: { hubId: number | typeof CROSSING } | { isEnding: 1 } | { undeleted: number },
): Promise<string> {
  const order = await deps.store.noteOfGrant(deps.keys.grants.grant(id), ...Object.entries(note).flat())
  if ('hubId' in note) deps.pending.noteGrant(id, note.hubId)
  return order
}

/** Ids of those that are due, and the claim on each. */
export async function claimGrants({ store, keys, clock }: InRedis & { clock: Clock }) {
  const claim = newClaim(clock)
  const [ids] = await store.claimDue(keys.grants.due, clock.now(), MOST, claim.until)
  return { ids, claim }
}

/** Ends the claim, unless another worker has the grant by now. */
export async function planGrant({ store, keys }: InRedis, { id, claim }: Pick<Grant, 'id' | 'claim'>, at: number) {
  await store.planGrant(keys.grants.due, id, claim.until, at)
}

/** Unless another worker was given newer tokens of it. */
export async function forgetGrant({ store, keys }: InRedis, { id, times }: Pick<Grant, 'id' | 'times'>): Promise<void> {
  await store.forgetGrant(keys.grants.grant(id), keys.grants.due, id, times.obtainedAt)
}
