import { createInterface } from 'node:readline'
import { Redis } from 'ioredis'
import { startProcess } from '../support/child-process.ts'
import { accessTokenOf, FIRST_HUB_ID, refreshTokenOf } from '../support/many-accounts.ts'
import { startRedis } from '../support/redis-server.ts'
import { type Lot, PATHS, type Side, startFarSide } from './side.ts'

export interface Orders extends Lot {
  providerUrl: string
  redisUrl: string
}

/** A program of this folder as a side, with a Redis and a far side of its own: what has changed since the last answer is another thing for each. */
export async function openReference(program: string, lot: Lot, warmUpRounds: number): Promise<Side> {
  const [farSide, redis] = [await startFarSide(lot.answers), await startRedis()]
  const orders: Orders = { ...lot, providerUrl: farSide.firstLine, redisUrl: redis.url }
  const side = await startProcess(new URL(program, import.meta.url), [JSON.stringify(orders)])
  return {
    pid: side.pid,
    store: redis.connect(),
    farSide,
    accounts: lot.accounts,
    warmUpRounds,
    prepare: async () => {},
    work: async () => void (await side.ask()),
    close: async () => {
      await side.stop()
      await farSide.stop()
      await redis.stop()
    },
  }
}

/** What follows is for the programs. */
/** The answers of a poll, one after the other. */
export async function snapshotOf(get: (path: string) => Promise<unknown>): Promise<Record<string, unknown>> {
  const snapshot: Record<string, unknown> = { at: Date.now() }
  for (const path of PATHS) snapshot[path] = await get(path)
  return snapshot
}

export function readOrders(): Orders {
  return JSON.parse(process.argv[2] ?? '') as Orders
}

/** A lot for each line that comes in. */
export async function serveLots(work: () => Promise<void>): Promise<void> {
  console.log('ready')
  for await (const _ of createInterface({ input: process.stdin })) {
    await work()
    console.log('done')
  }
  process.exit()
}

/** So many accounts at a time. */
export async function inLanes({ accounts, inFlight }: Lot, cycle: (place: number) => Promise<void>): Promise<void> {
  let next = 0
  const lane = async () => {
    while (next < accounts) await cycle(next++)
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
}

/** Tokens as people keep them: JSON, in clear. */
export interface PlainTokens {
  accessToken: string
  refreshToken: string
  expiresAt: number
}

export async function readTokens(redis: Redis, hubId: number): Promise<PlainTokens> {
  return JSON.parse((await redis.get(`tokens:${hubId}`)) ?? '') as PlainTokens
}

export async function storeTokens(redis: Redis, hubId: number, tokens: PlainTokens): Promise<void> {
  await redis.set(`tokens:${hubId}`, JSON.stringify(tokens))
}

export async function openTokens({ redisUrl, accounts }: Orders): Promise<Redis> {
  const redis = new Redis(redisUrl)
  const expiresAt = Date.now() + 1_800_000
  for (let hubId = FIRST_HUB_ID; hubId < FIRST_HUB_ID + accounts; hubId++) {
    await storeTokens(redis, hubId, {
      accessToken: accessTokenOf(hubId),
      refreshToken: refreshTokenOf(hubId),
      expiresAt,
    })
  }
  return redis
}
