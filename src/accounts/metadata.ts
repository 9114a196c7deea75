import type { TokenMetadata } from '../provider/answers.ts'
import type { ProviderClient } from '../provider/client.ts'
import type { ProviderResult } from '../provider/failure.ts'
import type { AlertWrites } from '../redis/steps.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Secret } from '../runtime/secret.ts'

/** What the alerts room says of the scopes that an account granted. */
export type ScopesAnnouncer = (account: GrantedAccount) => AlertWrites

export interface GrantedAccount {
  hubId: number
  hubDomain: string
  scopes: readonly string[]
  /** Whether polls will be answered with these scopes. */
  opensLimits: boolean
  /** State of the account's poll alert as stored, '' = none. */
  pollAlert: string
  now: number
}

export interface AskedMetadata {
  askedAt: number
  answeredAt: number
  result: ProviderResult<TokenMetadata>
}

/** One call (interface 4.3), with when it was made: the life that is left counts from there. */
export async function askMetadata(
  { provider, clock }: { provider: ProviderClient; clock: Clock },
  accessToken: Secret,
): Promise<AskedMetadata> {
  const askedAt = clock.now()
  const result = await provider.metadata(accessToken)
  return { askedAt, answeredAt: clock.now(), result }
}
