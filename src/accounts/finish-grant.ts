import type { ProviderFailure } from '../provider/failure.ts'
import { isRedisAway } from '../redis/away.ts'
import { unlessOfOtherType } from '../redis/other-type.ts'
import { NO_ACCOUNT } from '../redis/steps.ts'
import type { Secret } from '../runtime/secret.ts'
import type { TokenEndpoint } from '../tokens/endpoint/token-endpoint.ts'
import {
  forgetGrant,
  type GrantClaim,
  keepGrant,
  mayRedeem,
  noteOfGrant,
  OTHER_WORKER,
  type ParkedGrant,
  planGrant,
  readGrant,
} from '../tokens/parked-grants.ts'
import { openToken } from '../tokens/vault.ts'
import { type ConnectDeps, connectGrant, grantOf, keepUnreadGrant } from './connect-account.ts'
import { askIdentity } from './identity.ts'
import { liveHubIds } from './registry.ts'

export interface FinishDeps extends ConnectDeps {
  endpoint: Pick<TokenEndpoint, 'enter' | 'leave' | 'succeeded' | 'failed'>
}

/** After so long access that shows no result to the customer is deleted. */
const GIVE_UP_MS = 3_600_000
/** Less than between two sweeps, so that each of them tries. */
const AGAIN_MS = 20_000
/** Between two attempts to delete one. */
const LONGEST_AGAIN_MS = 3_600_000
/** Since it was given: no deletion is tried any more. */
const ABANDON_MS = 7 * 86_400_000
/** An access token that ends sooner is redeemed anew before the provider is asked about it. */
const TOO_SHORT_MS = 60_000

export type FinishedGrant = 'connected' | 'later' | 'deleted' | 'gone'

/** One attempt to find out whose a parked grant is; one that was given too long ago is deleted at the provider. */
export async function finishGrant(deps: FinishDeps, id: string, claim: GrantClaim): Promise<FinishedGrant> {
  // Newer tokens of it may be pending, and those that are stored dead.
  if (deps.pending.has(id)) return 'later'
  try {
    return await deps.pending.hold(id, () => finish(deps, id, { ...claim }))
  } catch (error) {
    // The grant is kept in memory, or parked: another sweep tries it.
    if (isRedisAway(error)) return 'later'
    throw error
  }
}

async function finish(deps: FinishDeps, id: string, claim: GrantClaim): Promise<FinishedGrant> {
  const read = await readGrant(deps, id)
  if (read === undefined) return 'gone'
  const grant = { ...read, claim }
  const { hubId, isEnding } = grant
  if (hubId !== undefined && !grant.isRenewed && (await isConnectedSince(deps, hubId, grant, isEnding))) {
    await forgetGrant(deps, grant)
    return 'gone'
  }
  if (isEnding) return deleteGrant(deps, grant)
  const outcome = await connect(deps, grant)
  if (typeof outcome === 'string') return outcome
  if (outcome === OTHER_WORKER || deps.clock.now() - grant.grantedAt < GIVE_UP_MS) return later(deps, grant)
  const facts = { grantedAt: new Date(grant.grantedAt).toISOString(), reason: outcome.code }
  deps.log.error({ code: 'grant.given-up', ...facts }, `an install failed: ${outcome.message}`)
  await noteOfGrant(deps, id, { isEnding: 1 })
  return deleteGrant(deps, { ...grant, ...(await readGrant(deps, id)) })
}

async function connect(deps: FinishDeps, parked: ParkedGrant): Promise<ProviderFailure | 'connected' | 'gone'> {
  const grant = await withLastingToken(deps, parked)
  if ('class' in grant) return grant
  const asked = await askIdentity(deps, grant)
  if (!asked.ok) return asked.failure
  // A connection that was made meanwhile came from these tokens, or from a later grant.
  if (!grant.isCrossing && !grant.isRenewed && (await isConnectedSince(deps, asked.value.hubId, grant))) {
    await forgetGrant(deps, grant)
    return 'gone'
  }
  const outcome = await connectGrant(deps, grant, asked.value, true)
  if (outcome.is === 'parked') return outcome.failure
  if (outcome.is === 'other-account') return outcome.isReconnected ? 'connected' : 'gone'
  return outcome.is === 'failed' ? 'gone' : 'connected'
}

/**
 * An account may be stored late, with a grant that was given before: `grantedAt` has that moment. An import has none. A clock that
 * was set back makes a newer grant look older: the order of Redis must say the same, where the account has a place in it. `still`: and it
 * was not uninstalled.
 */
async function isConnectedSince(deps: FinishDeps, hubId: number, grant: ParkedGrant, still = false) {
  const names = ['grantedAt', 'connectedAt', 'uninstallAskedAt', 'grants', 'order', 'uninstallOrder'] as const
  const stored = await deps.store.hmget(deps.keys.account(hubId).account, ...names)
  const [grantedAt, connectedAt, uninstallAskedAt, grants, ...orders] = stored
  if (still && uninstallAskedAt) return false
  // The grant was kept once more, after Redis may have lost it.
  if (grants?.split(',').includes(grant.id)) return true
  const last = Math.max(...orders.map(Number))
  if (last > 0 && last < grant.order) return false
  return Number(grantedAt ?? connectedAt) >= grant.grantedAt
}

/** A grant may wait for longer than its access token lives. */
async function withLastingToken(deps: FinishDeps, grant: ParkedGrant): Promise<ParkedGrant | ProviderFailure> {
  const { clock, endpoint, provider } = deps
  if (grant.times.expiresAt - clock.now() > TOO_SHORT_MS) return grant
  const admission = await endpoint.enter()
  if (admission.is === 'closed') {
    return { class: 'transient', code: 'closed', message: 'the token endpoint accepts no calls', status: 0 }
  }
  if (!mayRedeem(clock, grant.claim)) {
    endpoint.leave()
    return OTHER_WORKER
  }
  const sentAt = clock.now()
  const answer = await provider.refresh(grant.refreshToken)
  if (!answer.ok) {
    keepUnreadGrant(deps, answer.failure, grant.id, grant.only)
    await endpoint.failed(NO_ACCOUNT, answer.failure, true)
    return answer.failure
  }
  const { refreshToken = grant.refreshToken } = answer.value
  const rotated = refreshToken.reveal() !== grant.refreshToken.reveal()
  endpoint.succeeded({ rotated })
  const previous = rotated ? grant.refreshToken : undefined
  // A callback that hung may store the account meanwhile, with a token that is over by this.
  const renewed = { ...grant, previous, ...grantOf(answer.value, refreshToken, sentAt, grant.times), isRenewed: true }
  await keepGrant(deps, renewed)
  return renewed
}

/** Not where an account has that very token: many providers give an account one for all its grants. */
async function deleteGrant(deps: FinishDeps, grant: ParkedGrant): Promise<FinishedGrant> {
  const { id, refreshToken, previous, grantedAt, undeleted } = grant
  const doomed = previous === undefined ? [refreshToken] : [previous, refreshToken]
  const hubId = await holderOfAny(deps, doomed)
  if (hubId !== undefined) {
    await forgetGrant(deps, grant)
    deps.log.info({ code: 'grant.in-use', hubId }, 'a grant that was given up is not deleted: an account has its token')
    return 'gone'
  }
  const before = previous && (await deps.provider.deleteRefreshToken(previous))
  const deleted = before?.ok === false ? before : await deps.provider.deleteRefreshToken(refreshToken)
  if (deleted.ok) {
    await forgetGrant(deps, grant)
    deps.log.info({ code: 'grant.deleted', ending: deleted.value }, 'the refresh token of an install was deleted')
    return 'deleted'
  }
  const { code, message, retryAfterMs } = deleted.failure
  const facts = { reason: code, attempts: undeleted + 1 }
  if (deps.clock.now() - grantedAt > ABANDON_MS) {
    await forgetGrant(deps, grant)
    const since = { grantedAt: new Date(grantedAt).toISOString() }
    deps.log.error({ code: 'grant.abandoned', ...facts, ...since }, `the token of an install stays alive: ${message}`)
    return 'gone'
  }
  deps.log.warn({ code: 'grant.undeleted', ...facts }, message)
  await noteOfGrant(deps, id, { undeleted: undeleted + 1 })
  return later(deps, grant, retryAfterMs ?? Math.min(AGAIN_MS * 2 ** Math.min(undeleted, 12), LONGEST_AGAIN_MS))
}

/** All accounts are read: once for each attempt to delete the token of a grant, which is rare. */
async function holderOfAny({ store, keys, vault }: FinishDeps, doomed: Secret[]): Promise<number | undefined> {
  const names = new Set(doomed.map((token) => token.reveal()))
  for await (const hubIds of liveHubIds({ store, keys }, 500)) {
    const stored = await Promise.all(
      hubIds.map((hubId) =>
        unlessOfOtherType(store.hmgetBuffer(keys.account(hubId).tokens, 'refresh', 'previous'), []),
      ),
    )
    for (const [index, hubId] of hubIds.entries()) {
      for (const sealed of stored[index] ?? []) {
        const opened = sealed && openToken(vault, sealed, hubId, 'refresh')
        if (opened?.ok && names.has(opened.value.reveal())) return hubId
      }
    }
  }
  return undefined
}

async function later(deps: FinishDeps, grant: ParkedGrant, ms = AGAIN_MS): Promise<FinishedGrant> {
  await planGrant(deps, grant, deps.clock.now() + ms)
  return 'later'
}
