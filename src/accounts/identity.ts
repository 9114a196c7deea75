import type { TokenMetadata } from '../provider/answers.ts'
import type { ProviderClient } from '../provider/client.ts'
import type { ProviderResult } from '../provider/failure.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Secret } from '../runtime/secret.ts'
import type { TokenTimes } from '../tokens/plan-refresh.ts'

/** Owner of an access token, and its life. */
export type Identity = Omit<TokenMetadata, 'lifeLeftMs'> & TokenDrift

/** One call (interface 4.3). The remaining life in the answer counts from when it was asked. */
export async function askIdentity(
  { provider, clock }: { provider: ProviderClient; clock: Clock },
  { access, times }: { access: Secret; times: TokenTimes },
): Promise<ProviderResult<Identity>> {
  const askedAt = clock.now()
  const result = await provider.metadata(access)
  if (!result.ok) return result
  const { lifeLeftMs, ...told } = result.value
  return { ...result, value: { ...told, ...tokenDrift(times, { askedAt, answeredAt: clock.now(), lifeLeftMs }) } }
}

/** The question to the provider how long the token lives on, the moment of its answer, and the answer: ms. */
interface ToldLife {
  askedAt: number
  answeredAt: number
  lifeLeftMs: number | undefined
}

interface TokenDrift {
  /** The provider's end of the token's life minus ours; null where the two agree, or the provider sent none. */
  driftMs: number | null
  /** The times that count from now on. */
  times: TokenTimes
}

/** The provider counts whole seconds and starts to count a moment after we asked. */
const ROUNDING_MS = 2_000
/** Less life than this is a matter of clocks, not of rounding. */
const BELIEVED_MS = 5_000

/**
 * Our count of a token's life against the provider's. Where the provider gives it less, the shorter life is believed: a
 * token that is refreshed too early costs one call, one that is refreshed too late costs the account.
 */
export function tokenDrift(times: TokenTimes, { askedAt, answeredAt, lifeLeftMs }: ToldLife): TokenDrift {
  if (lifeLeftMs === undefined) return { driftMs: null, times }
  const told = askedAt + lifeLeftMs
  const driftMs = told - times.expiresAt
  // At which moment of the call the provider read its clock is not known.
  const doubt = answeredAt - askedAt
  if (Math.abs(driftMs) <= ROUNDING_MS + doubt) return { driftMs: null, times }
  if (driftMs >= -(BELIEVED_MS + doubt)) return { driftMs, times }
  // A life of nothing would be no life to plan with.
  return { driftMs, times: { ...times, expiresAt: Math.max(told, times.obtainedAt + 1_000) } }
}
