import type { Redis } from 'ioredis'
import { accessTokenOf, refreshTokenOf } from './account-tokens.ts'
import { type CycleOrders, hubIdOf } from './cycle-run.ts'

/** As people keep them: JSON, in clear. */
export interface PlainTokens {
  accessToken: string
  refreshToken: string
  /** ms since 1970 */
  expiresAt: number
}

export async function readTokens(redis: Redis, hubId: number): Promise<PlainTokens> {
  return JSON.parse((await redis.get(keyOf(hubId))) ?? '')
}

export async function storeTokens(redis: Redis, hubId: number, tokens: PlainTokens): Promise<void> {
  const { accessToken, refreshToken, expiresAt } = tokens
  await redis.set(keyOf(hubId), JSON.stringify({ accessToken, refreshToken, expiresAt }))
}

/** Of every account that will be asked. */
export async function seedTokens(redis: Redis, { accounts, warmUp }: CycleOrders): Promise<void> {
  const ids = Array.from({ length: Math.max(accounts, warmUp) }, (_, place) => hubIdOf(place))
  const expiresAt = Date.now() + 1_800_000
  await Promise.all(
    ids.map((id) =>
      storeTokens(redis, id, { accessToken: accessTokenOf(id), refreshToken: refreshTokenOf(id), expiresAt }),
    ),
  )
}

function keyOf(hubId: number): string {
  return `tokens:${hubId}`
}
