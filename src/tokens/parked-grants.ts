import { randomBytes } from 'node:crypto'
import type { TokenAnswer } from '../provider/answers.ts'
import type { ProviderFailure } from '../provider/failure.ts'
import { claimMark, freshChance } from '../redis/claim-mark.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { NO_ACCOUNT } from '../redis/steps.ts'
import type { Secret } from '../runtime/secret.ts'
import { GRANT_CLAIM_MS, type TokenDeps } from './pending-tokens.ts'
import type { Grant } from './token-store.ts'

/** A grant as it is stored. `previous`: the refresh token before, which may be alive until its successor has worked. */
export interface ParkedGrant {
  grant: Grant
  previous: Secret | undefined
}

export interface ParkDeps extends TokenDeps {
  store: Store
  keys: Keys
}

type InRedis = Pick<ParkDeps, 'store' | 'keys'>

/** Takes the place of an answer where another worker has the grant, or newer tokens of it are there. */
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

/** An answer's life counts from when the request was sent. */
export function tokensOf({ accessToken: access, lifetimeMs }: TokenAnswer, refresh: Secret, sentAt: number) {
  const times = { obtainedAt: sentAt, expiresAt: sentAt + lifetimeMs }
  return { hubId: NO_ACCOUNT, access, refresh, times } as const
}

/**
 * Stores a grant, sealed, or other tokens of a stored one; no sweep tries it for a while. False: another worker has it. Throws
 * where Redis does not take it: the process keeps it in memory then, and tries again for as long as it lives.
 */
export async function keepGrant({ pending, clock }: TokenDeps, grant: Grant): Promise<boolean> {
  return (await pending.park(grant, clock.now() + GRANT_CLAIM_MS)) === 'parked'
}

/** Undefined: another worker was faster. Throws VaultError where no key opens it. */
export async function readGrant(
  { store, keys, vault }: InRedis & Pick<ParkDeps, 'vault'>,
  id: string,
): Promise<ParkedGrant | undefined> {
  const { access, refresh, previous, ...stored } = await store.hgetallBuffer(keys.grants.grant(id))
  if (access === undefined || refresh === undefined) return undefined
  const number = (field: string) => Number(stored[field]?.toString())
  const grant = {
    hubId: NO_ACCOUNT,
    id,
    access: vault.open(access, NO_ACCOUNT, 'access'),
    refresh: vault.open(refresh, NO_ACCOUNT, 'refresh'),
    times: { obtainedAt: number('obtainedAt'), expiresAt: number('expiresAt') },
    grantedAt: number('grantedAt'),
    only: number('only') || undefined,
    version: number('version'),
  } as const
  return { grant, previous: previous && vault.open(previous, NO_ACCOUNT, 'refresh') }
}

/** Ids of those that are due, which are due again once the claim ends, and how long ago it was asked for. */
export async function claimGrants({ store, keys, clock }: InRedis & Pick<ParkDeps, 'clock'>) {
  const age = clock.stopwatch()
  const mark = claimMark(freshChance())
  const [, ...ids] = await store.claimAccounts(keys.grants.due, keys.fleet, MOST, GRANT_CLAIM_MS, mark)
  return { ids, age }
}

/** The first version of a new intent: whoever asks later gets a higher one. */
export async function takeIntent({ store, keys }: InRedis): Promise<number> {
  return Number(await store.takeIntent(keys.own(NO_ACCOUNT)))
}

export async function forgetGrant({ store, keys }: InRedis, id: string): Promise<void> {
  await store.multi().del(keys.grants.grant(id)).zrem(keys.grants.due, id).exec()
}
