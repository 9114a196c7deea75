import type { ProviderFailure } from '../provider/failure.ts'
import { isRedisAway } from '../redis/away.ts'
import { NO_ACCOUNT } from '../redis/steps.ts'
import { APART_MS } from '../runtime/clock.ts'
import type { TokenEndpoint } from '../tokens/endpoint/token-endpoint.ts'
import { forgetGrant, keepGrant, type ParkedGrant, readGrant, tokensOf } from '../tokens/parked-grants.ts'
import { GRANT_CLAIM_MS } from '../tokens/pending-tokens.ts'
import { type ConnectDeps, connectGrant, keepUnreadGrant } from './connect-account.ts'
import { askIdentity } from './identity.ts'

export interface FinishDeps extends ConnectDeps {
  endpoint: Pick<TokenEndpoint, 'enter' | 'leave' | 'succeeded' | 'failed'>
}

/** After so long the customer is to install again. */
const GIVE_UP_MS = 3_600_000
/** An access token that ends sooner is redeemed anew before the provider is asked about it. */
const TOO_SHORT_MS = 60_000
/** A call that is sent with less left of the claim might outlast it. */
const LONGEST_CALL_MS = 15_000

export type FinishedGrant = 'connected' | 'later' | 'given-up' | 'gone'

/** One attempt to find out whose a parked grant is. Another sweep tries it once the claim ends. `age`: that of the claim. */
export async function finishGrant(deps: FinishDeps, id: string, age: () => number): Promise<FinishedGrant> {
  // Newer tokens of it may be pending, and those that are stored dead.
  if (deps.pending.has(id)) return 'later'
  try {
    return await deps.pending.hold(id, () => finish(deps, id, age))
  } catch (error) {
    // The grant is kept in memory, or parked: another sweep tries it.
    if (isRedisAway(error)) return 'later'
    throw error
  }
}

async function finish(deps: FinishDeps, id: string, age: () => number): Promise<FinishedGrant> {
  const parked = await readGrant(deps, id)
  if (parked === undefined) return 'gone'
  const lasting = await withLastingToken(deps, parked, age)
  if (lasting === undefined) return 'later'
  const is = 'class' in lasting ? lasting : await connect(deps, lasting)
  if (typeof is === 'string') return is
  const { grantedAt } = parked.grant
  if (deps.clock.now() - grantedAt < GIVE_UP_MS) return 'later'
  await forgetGrant(deps, id)
  const facts = { grantedAt: new Date(grantedAt).toISOString(), reason: is.code }
  // No account that could be uninstalled is known: its refresh token stays as it is.
  deps.log.error({ code: 'grant.given-up', ...facts }, `an install failed: ${is.message}`)
  return 'given-up'
}

async function connect(deps: FinishDeps, { grant, previous }: ParkedGrant) {
  const asked = await askIdentity(deps, grant)
  if (!asked.ok) return asked.failure
  const outcome = await connectGrant(deps, grant, asked.value, previous)
  return 'scopes' in outcome || ('wanted' in outcome && outcome.isReconnected) ? 'connected' : 'gone'
}

/**
 * A grant may wait for longer than its access token lives. By a clock that was ahead it is not known when that ends. Undefined:
 * the token endpoint takes no calls, which costs no install, however long it lasts; or another worker has the grant.
 */
async function withLastingToken(
  deps: FinishDeps,
  parked: ParkedGrant,
  age: () => number,
): Promise<ParkedGrant | ProviderFailure | undefined> {
  const { clock, endpoint, provider } = deps
  const { grant } = parked
  const now = clock.now()
  if (grant.times.obtainedAt <= now + APART_MS && grant.times.expiresAt - now > TOO_SHORT_MS) return parked
  if ((await endpoint.enter()).is === 'closed') return undefined
  if (age() >= GRANT_CLAIM_MS - LONGEST_CALL_MS) {
    endpoint.leave()
    return undefined
  }
  const sentAt = clock.now()
  const answer = await provider.refresh(grant.refresh)
  if (!answer.ok) {
    keepUnreadGrant(deps, answer.failure, grant)
    await endpoint.failed(NO_ACCOUNT, answer.failure, true)
    return answer.failure
  }
  const { refreshToken = grant.refresh } = answer.value
  const rotated = refreshToken.reveal() !== grant.refresh.reveal()
  endpoint.succeeded({ rotated })
  // A callback that hung may store the account meanwhile, with a token that is over by this.
  const renewed = { ...grant, ...tokensOf(answer.value, refreshToken, sentAt), version: grant.version + 1 }
  const previous = rotated ? grant.refresh : parked.previous
  return (await keepGrant(deps, renewed)) ? { grant: renewed, previous } : undefined
}
