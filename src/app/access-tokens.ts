import { identifyOne, refreshOne } from '../../jobs/refresh-tokens.ts'
import type { Store } from '../redis/connect.ts'
import { AccessTokens } from '../tokens/access-token.ts'
import { TokenStore } from '../tokens/token-store.ts'
import type { Services } from './services.ts'

/** Reads for a caller that gives up soon; refreshes as the job does, on the connection that waits. */
export function createAccessTokens(current: () => Services, pages: Store): AccessTokens {
  const { keys, vault, clock } = current()
  return new AccessTokens({
    tokens: new TokenStore(pages, keys),
    vault,
    refresh: (hubId, generation) => refreshOne(current(), hubId, generation),
    identify: async (hubId) => ((await identifyOne(current(), hubId))?.is === 'later' ? 'later' : 'asked'),
    clock,
  })
}
