import { Client } from '@hubspot/api-client'
import { Redis } from 'ioredis'
import { hubIdOf, isToBeRefreshed, readOrders, serveCycles } from './cycle-run.ts'
import { readTokens, seedTokens, storeTokens } from './plain-tokens.ts'

/**
 * A reference of P3, what people write today: a script that cron starts. The provider's own client library, tokens and the
 * last snapshot as JSON in Redis, one account after the other, or some at a time.
 */
const orders = readOrders()
const redis = new Redis(orders.redisUrl)
const basePath = orders.providerUrl
const { oauth } = new Client({ basePath })
await seedTokens(redis, orders)

await serveCycles(orders, async (place) => {
  const hubId = hubIdOf(place)
  let tokens = await readTokens(redis, hubId)
  if (isToBeRefreshed(place, orders.refreshShare)) {
    const answer = await oauth.tokensApi.create(
      'refresh_token',
      undefined,
      undefined,
      'bench',
      'bench',
      tokens.refreshToken,
    )
    tokens = { ...answer, expiresAt: Date.now() + answer.expiresIn * 1_000 }
    await storeTokens(redis, hubId, tokens)
  }
  const client = new Client({ basePath, accessToken: tokens.accessToken })
  const get = async (path: string) => (await client.apiRequest({ path: `/crm/v3/limits/${path}` })).json()
  const snapshot = {
    at: Date.now(),
    customProperties: await get('custom-properties'),
    associations: {
      '0-1/0-2': await get('associations/records/0-1/0-2'),
      '0-2/0-1': await get('associations/records/0-2/0-1'),
      '0-1/0-3': await get('associations/records/0-1/0-3'),
    },
  }
  await redis.set(`snapshot:${hubId}`, JSON.stringify(snapshot))
})
process.exit()
