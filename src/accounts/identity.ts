import type { TokenMetadata } from '../provider/answers.ts'
import type { ProviderClient } from '../provider/client.ts'
import type { ProviderResult } from '../provider/failure.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Secret } from '../runtime/secret.ts'
import type { TokenTimes } from '../tokens/plan-refresh.ts'
import { type TokenDrift, tokenDrift } from '../tokens/token-drift.ts'

/** Whose an access token is, and for how long it lives. */
export type Identity = Omit<TokenMetadata, 'lifeLeftMs'> & TokenDrift

/** One call (interface 4.3). The remaining life in the answer counts from when it was asked. */
export async function askIdentity(
  { provider, clock }: { provider: ProviderClient; clock: Clock },
  { accessToken, times }: { accessToken: Secret; times: TokenTimes },
): Promise<ProviderResult<Identity>> {
  const askedAt = clock.now()
  const result = await provider.metadata(accessToken)
  if (!result.ok) return result
  const { lifeLeftMs, ...told } = result.value
  return { ...result, value: { ...told, ...tokenDrift(times, { askedAt, answeredAt: clock.now(), lifeLeftMs }) } }
}
