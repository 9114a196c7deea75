import type { ProviderFailure } from '../provider/failure.ts'
import { isRedisAway } from '../redis/away.ts'
import { NO_ACCOUNT } from '../redis/steps.ts'
import { APART_MS } from '../runtime/clock.ts'
import type { TokenEndpoint } from '../tokens/endpoint/token-endpoint.ts'
import { forgetGrant, type Grant, keepGrant, mayRedeem, OTHER_WORKER, readGrant } from '../tokens/parked-grants.ts'
import { type ConnectDeps, connectGrant, grantOf, keepUnreadGrant } from './connect-account.ts'
import { askIdentity } from './identity.ts'

export interface FinishDeps extends ConnectDeps {
  endpoint: Pick<TokenEndpoint, 'enter' | 'leave' | 'succeeded' | 'failed'>
}

/** After so long the customer is to install again. */
const GIVE_UP_MS = 3_600_000
/** An access token that ends sooner is redeemed anew before the provider is asked about it. */
const TOO_SHORT_MS = 60_000

export type FinishedGrant = 'connected' | 'later' | 'given-up' | 'gone'

/** One attempt to find out whose a parked grant is. Another sweep tries it once the claim ends. */
export async function finishGrant(deps: FinishDeps, id: string, claimedAt: number): Promise<FinishedGrant> {
  // Newer tokens of it may be pending, and those that are stored dead.
  if (deps.pending.has(id)) return 'later'
  try {
    return await deps.pending.hold(id, () => finish(deps, id, claimedAt))
  } catch (error) {
    // The grant is kept in memory, or parked: another sweep tries it.
    if (isRedisAway(error)) return 'later'
    throw error
  }
}

async function finish(deps: FinishDeps, id: string, claimedAt: number): Promise<FinishedGrant> {
  const grant = await readGrant(deps, id)
  if (grant === undefined) return 'gone'
  const failure = await connect(deps, grant, claimedAt)
  if (typeof failure === 'string') return failure
  if (failure === OTHER_WORKER || failure === CLOSED || deps.clock.now() - grant.grantedAt < GIVE_UP_MS) return 'later'
  await forgetGrant(deps, id)
  const facts = { grantedAt: new Date(grant.grantedAt).toISOString(), reason: failure.code }
  // No account that could be uninstalled is known: its refresh token stays as it is.
  deps.log.error({ code: 'grant.given-up', ...facts }, `an install failed: ${failure.message}`)
  return 'given-up'
}

async function connect(deps: FinishDeps, parked: Grant, claimedAt: number) {
  const grant = await withLastingToken(deps, parked, claimedAt)
  if ('class' in grant) return grant
  const asked = await askIdentity(deps, grant)
  if (!asked.ok) return asked.failure
  const outcome = await connectGrant(deps, grant, asked.value)
  if (outcome.is === 'other-account') return outcome.isReconnected ? 'connected' : 'gone'
  return 'scopes' in outcome ? 'connected' : 'gone'
}

/** An outage of all accounts costs no install, however long it is. */
const CLOSED: ProviderFailure = {
  class: 'transient',
  code: 'closed',
  message: 'the token endpoint accepts no calls',
  status: 0,
}

/** A grant may wait for longer than its access token lives. By a clock that was ahead it is not known when that ends. */
async function withLastingToken(deps: FinishDeps, grant: Grant, claimedAt: number): Promise<Grant | ProviderFailure> {
  const { clock, endpoint, provider } = deps
  const now = clock.now()
  if (grant.times.obtainedAt <= now + APART_MS && grant.times.expiresAt - now > TOO_SHORT_MS) return grant
  const admission = await endpoint.enter()
  if (admission.is === 'closed') return CLOSED
  if (!mayRedeem(clock, claimedAt)) {
    endpoint.leave()
    return OTHER_WORKER
  }
  const sentAt = clock.now()
  const answer = await provider.refresh(grant.refreshToken)
  if (!answer.ok) {
    keepUnreadGrant(deps, answer.failure, grant)
    await endpoint.failed(NO_ACCOUNT, answer.failure, true)
    return answer.failure
  }
  const { refreshToken = grant.refreshToken } = answer.value
  const rotated = refreshToken.reveal() !== grant.refreshToken.reveal()
  endpoint.succeeded({ rotated })
  const previous = rotated ? grant.refreshToken : undefined
  // A callback that hung may store the account meanwhile, with a token that is over by this.
  const renewed = { ...grant, previous, ...grantOf(answer.value, refreshToken, sentAt), version: grant.version + 1 }
  return (await keepGrant(deps, renewed)) ?? OTHER_WORKER
}
