import { randomBytes } from 'node:crypto'
import { accountSteps } from '../redis/account-steps.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { NOBODY } from '../redis/steps.ts'
import type { Secret } from '../runtime/secret.ts'
import type { TokenTimes } from '../tokens/plan-refresh.ts'
import type { Vault } from '../tokens/vault.ts'

/** The tokens of one install whose account is not known yet. */
export interface Grant {
  accessToken: Secret
  refreshToken: Secret
  times: TokenTimes
  /** Asked for by a link for one account: of another one it is dropped. */
  only?: number | undefined
}

export interface ParkedGrant extends Grant {
  id: string
  /** When the code was sent, ms. */
  grantedAt: number
  /** Whose it is, while the account may have been stored with it, and the grant not yet taken out. */
  hubId: number | undefined
  /** Another grant of its account was stored meanwhile: the provider must name the one that counts. */
  isCrossing: boolean
  /** Its deletion was begun: no account may be connected with it any more. */
  isEnding: boolean
}

export interface ParkDeps {
  store: Store
  keys: Keys
  vault: Vault
}

/** A worker has it to itself for so long: longer than all calls of a callback take. */
const CLAIM_MS = 60_000
/** Instead of whose it is: the account was stored with another one. */
export const CROSSING = ''
/** Grants of one sweep. */
const MOST = 20

/**
 * Stores a grant, sealed, or other tokens of one that has an id; it is let be for a while. Returns its id. One that was taken out
 * meanwhile is not tried again.
 */
export async function keepGrant(
  { store, keys, vault }: ParkDeps,
  { id: known, accessToken, refreshToken, times, only }: Grant & { id?: string | undefined },
  now: number,
): Promise<string> {
  const id = known ?? randomBytes(16).toString('base64url')
  const fields = {
    access: vault.seal(accessToken, NOBODY, 'access'),
    refresh: vault.seal(refreshToken, NOBODY, 'refresh'),
    ...times,
    ...(known === undefined ? { grantedAt: times.obtainedAt, ...(only === undefined ? {} : { only }) } : {}),
  }
  const planned = store.multi().hset(keys.grants.grant(id), fields)
  const until = now + CLAIM_MS
  await (known === undefined
    ? planned.zadd(keys.grants.due, until, id)
    : planned.zadd(keys.grants.due, 'XX', until, id)
  ).exec()
  return id
}

/** Undefined: another worker was faster. Throws VaultError where no key opens it. */
export async function readGrant({ store, keys, vault }: ParkDeps, id: string): Promise<ParkedGrant | undefined> {
  const { access, refresh, ...stored } = await store.hgetallBuffer(keys.grants.grant(id))
  if (access === undefined || refresh === undefined) return undefined
  const number = (field: string) => Number(stored[field]?.toString())
  return {
    id,
    accessToken: vault.open(access, NOBODY, 'access'),
    refreshToken: vault.open(refresh, NOBODY, 'refresh'),
    times: { obtainedAt: number('obtainedAt'), expiresAt: number('expiresAt') },
    grantedAt: number('grantedAt'),
    only: number('only') || undefined,
    hubId: number('hubId') || undefined,
    isCrossing: stored.hubId?.toString() === CROSSING,
    isEnding: stored.isEnding?.toString() === '1',
  }
}

/** Written before the step itself: a worker that finds the grant afterwards knows that the step may be done. */
export async function noteOfGrant(
  deps: ParkDeps,
  id: string,
  note: { hubId: number | typeof CROSSING } | { isEnding: 1 },
): Promise<void> {
  await deps.store.hset(deps.keys.grants.grant(id), note)
}

/** Ids of those that are due; they are let be for a while. */
export async function claimGrants({ store, keys }: ParkDeps, now: number): Promise<string[]> {
  const [claimed] = await accountSteps(store).claimDue(keys.grants.due, now, MOST, CLAIM_MS)
  return claimed
}

export async function planGrant({ store, keys }: ParkDeps, id: string, at: number): Promise<void> {
  await store.zadd(keys.grants.due, 'XX', at, id)
}

export async function forgetGrant({ store, keys }: ParkDeps, id: string): Promise<void> {
  await store.multi().del(keys.grants.grant(id)).zrem(keys.grants.due, id).exec()
}
