import { Queue, Worker } from 'bullmq'
import { FIRST_HUB_ID } from '../support/many-accounts.ts'
import {
  openTokens,
  type PlainTokens,
  readOrders,
  readTokens,
  serveLots,
  snapshotOf,
  storeTokens,
} from './reference.ts'
import { isToBeRefreshed } from './side.ts'

/**
 * A reference of P3 and P6, what people write with BullMQ: a job for each account that is due, global fetch, tokens as
 * JSON, the JSON of each poll into a sorted set of the account. Kindly: jobs are added in bulk, as many as a scheduler would
 * have due at that moment, and are removed when they end; no repeated job of its own for each account.
 */
const JOB = { name: 'poll', opts: { removeOnComplete: true } }
const A_BULK = 1_000
const orders = readOrders()
const redis = await openTokens(orders)
const connection = { url: orders.redisUrl, maxRetriesPerRequest: null }
const queue = new Queue<{ place: number }>('poll', { connection })
let left = 0
let allDone = () => {}
const options = { connection, concurrency: orders.inFlight }
const worker = new Worker<{ place: number }>('poll', ({ data }) => poll(data.place), options)
worker.on('completed', () => {
  if (--left === 0) allDone()
})
worker.on('failed', (_job, error) => {
  console.error(error)
  process.exit(1)
})

await serveLots(pollAll)

async function pollAll(): Promise<void> {
  left = orders.accounts
  const ended = new Promise<void>((resolve) => {
    allDone = resolve
  })
  for (let from = 0; from < orders.accounts; from += A_BULK) {
    const count = Math.min(A_BULK, orders.accounts - from)
    await queue.addBulk(Array.from({ length: count }, (_, n) => ({ ...JOB, data: { place: from + n } })))
  }
  await ended
}

async function poll(place: number): Promise<void> {
  const hubId = FIRST_HUB_ID + place
  let tokens = await readTokens(redis, hubId)
  if (isToBeRefreshed(place, orders.refreshShare)) {
    tokens = await refresh(tokens.refreshToken)
    await storeTokens(redis, hubId, tokens)
  }
  const headers = { accept: 'application/json', authorization: `Bearer ${tokens.accessToken}` }
  const get = (path: string) => json(fetch(`${orders.providerUrl}/crm/v3/limits/${path}`, { headers }))
  const snapshot = await snapshotOf(get)
  await redis.zadd(`history:${hubId}`, Date.now(), JSON.stringify(snapshot))
}

async function refresh(refreshToken: string): Promise<PlainTokens> {
  const grant = { grant_type: 'refresh_token', refresh_token: refreshToken }
  const body = new URLSearchParams({ ...grant, client_id: 'bench', client_secret: 'bench' })
  const answer = await json(fetch(`${orders.providerUrl}/oauth/v1/token`, { method: 'POST', body }))
  const { access_token: accessToken, expires_in: seconds } = answer as { access_token: string; expires_in: number }
  return { accessToken, refreshToken, expiresAt: Date.now() + seconds * 1_000 }
}

async function json(answering: Promise<Response>): Promise<unknown> {
  const answer = await answering
  if (!answer.ok) throw new Error(`answer ${answer.status}`)
  return answer.json()
}
