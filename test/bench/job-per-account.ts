import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { hubIdOf, isToBeRefreshed, readOrders, serveRounds } from './cycle-run.ts'
import { readTokens, seedTokens, storeTokens } from './plain-tokens.ts'

/**
 * A reference of P3 and P6, what people write with BullMQ: a job for each account that is due, global fetch, tokens as
 * JSON, the JSON of each poll into a sorted set of the account. Kindly: jobs are added in bulk, as many as a scheduler would
 * have due at that moment, and are removed when they end; no repeated job of its own for each account.
 */
const orders = readOrders()
const redis = new Redis(orders.redisUrl)
const connection = { url: orders.redisUrl, maxRetriesPerRequest: null }
const queue = new Queue<{ place: number }>('poll', { connection })
const worker = new Worker<{ place: number }>('poll', ({ data }) => poll(data.place), {
  ...{ connection, concurrency: orders.inFlight },
})
await seedTokens(redis, orders)
await pollAll(orders.warmUp)
await serveRounds(orders, () => pollAll(orders.accounts))
process.exit()

async function pollAll(count: number): Promise<void> {
  let left = count
  const ended = new Promise<void>((resolve, reject) => {
    worker.removeAllListeners('completed').on('completed', () => {
      if (--left === 0) resolve()
    })
    worker.removeAllListeners('failed').on('failed', (_job, error) => reject(error))
  })
  const places = Array.from({ length: count }, (_, place) => place)
  while (places.length > 0) {
    const some = places.splice(0, 1_000)
    await queue.addBulk(some.map((place) => ({ name: 'poll', data: { place }, opts: { removeOnComplete: true } })))
  }
  await ended
}

async function poll(place: number): Promise<void> {
  const hubId = hubIdOf(place)
  let tokens = await readTokens(redis, hubId)
  if (isToBeRefreshed(place, orders.refreshShare)) {
    tokens = await refresh(tokens.refreshToken)
    await storeTokens(redis, hubId, tokens)
  }
  const get = async (path: string) => {
    const headers = { accept: 'application/json', authorization: `Bearer ${tokens.accessToken}` }
    const answer = await fetch(`${orders.providerUrl}/crm/v3/limits/${path}`, { headers })
    if (!answer.ok) throw new Error(`answer ${answer.status}`)
    return answer.json()
  }
  const at = Date.now()
  const snapshot = {
    at,
    customProperties: await get('custom-properties'),
    associations: {
      '0-1/0-2': await get('associations/records/0-1/0-2'),
      '0-2/0-1': await get('associations/records/0-2/0-1'),
      '0-1/0-3': await get('associations/records/0-1/0-3'),
    },
  }
  await redis.zadd(`history:${hubId}`, at, JSON.stringify(snapshot))
}

async function refresh(refreshToken: string) {
  const grant = { grant_type: 'refresh_token', refresh_token: refreshToken }
  const body = new URLSearchParams({ ...grant, client_id: 'bench', client_secret: 'bench' })
  const answer = await fetch(`${orders.providerUrl}/oauth/v1/token`, { method: 'POST', body })
  if (!answer.ok) throw new Error(`answer ${answer.status}`)
  const json = (await answer.json()) as { access_token: string; refresh_token: string; expires_in: number }
  return {
    accessToken: json.access_token,
    refreshToken: json.refresh_token,
    expiresAt: Date.now() + json.expires_in * 1_000,
  }
}
