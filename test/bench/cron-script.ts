import { Client } from '@hubspot/api-client'
import { FIRST_HUB_ID } from '../support/many-accounts.ts'
import { inLanes, openTokens, readOrders, readTokens, serveLots, snapshotOf, storeTokens } from './reference.ts'
import { isToBeRefreshed } from './side.ts'

/**
 * A reference of P3, what people write today: a script that cron starts. The provider's own client library, tokens and the
 * last snapshot as JSON in Redis, one account after the other, or some at a time.
 */
const orders = readOrders()
const redis = await openTokens(orders)
const basePath = orders.providerUrl
const { oauth } = new Client({ basePath })

await serveLots(() => inLanes(orders, cycle))

async function cycle(place: number): Promise<void> {
  const hubId = FIRST_HUB_ID + place
  let tokens = await readTokens(redis, hubId)
  if (isToBeRefreshed(place, orders.refreshShare)) {
    const { refreshToken } = tokens
    const answer = await oauth.tokensApi.create('refresh_token', undefined, undefined, 'bench', 'bench', refreshToken)
    tokens = { accessToken: answer.accessToken, refreshToken, expiresAt: Date.now() + answer.expiresIn * 1_000 }
    await storeTokens(redis, hubId, tokens)
  }
  const client = new Client({ basePath, accessToken: tokens.accessToken })
  const get = async (path: string) => (await client.apiRequest({ path: `/crm/v3/limits/${path}` })).json()
  const snapshot = await snapshotOf(get)
  await redis.set(`snapshot:${hubId}`, JSON.stringify(snapshot))
}
