import { createInterface } from 'node:readline'
import { Redis } from 'ioredis'

/** How a side of the cycle is told what to do: a process of its own, a line for each round. */
export interface CycleOrders {
  providerUrl: string
  redisUrl: string
  accounts: number
  warmUp: number
  refreshShare: number
  inFlight: number
}

/** What it says of a round. */
export interface CycleRun {
  accounts: number
  cpuSeconds: number
  wallSeconds: number
  redisSeconds: number
}

export function readOrders(): CycleOrders {
  const [providerUrl = '', redisUrl = ''] = process.argv.slice(2)
  const {
    BENCH_ACCOUNTS = '4000',
    BENCH_WARM_UP = '4000',
    BENCH_REFRESH_SHARE = '0.6',
    BENCH_IN_FLIGHT = '64',
  } = process.env
  return {
    ...{ providerUrl, redisUrl },
    ...{ accounts: Number(BENCH_ACCOUNTS), warmUp: Number(BENCH_WARM_UP) },
    ...{ refreshShare: Number(BENCH_REFRESH_SHARE), inFlight: Number(BENCH_IN_FLIGHT) },
  }
}

/** Ids as long as real ones, of accounts in no order. */
export function hubIdOf(place: number): number {
  return 20_000_000 + place * 7_919
}

/** So many of a hundred accounts, evenly among the others. */
export function isToBeRefreshed(place: number, share: number): boolean {
  return Math.floor((place + 1) * share) > Math.floor(place * share)
}

/** All accounts, so many at a time: to warm up, and then for each round. */
export async function serveCycles(orders: CycleOrders, cycle: (place: number) => Promise<void>): Promise<void> {
  const all = async (count: number) => {
    let next = 0
    const lane = async () => {
      while (next < count) await cycle(next++)
    }
    await Promise.all(Array.from({ length: orders.inFlight }, lane))
  }
  await all(orders.warmUp)
  await serveRounds(orders, () => all(orders.accounts))
}

/**
 * Says that it is ready; then a round for each line that comes in, until there are no more. All rounds are of one process,
 * as a daemon is one for weeks: what is measured is not the compiler.
 */
export async function serveRounds(orders: CycleOrders, work: () => Promise<void>): Promise<void> {
  console.log('ready')
  for await (const _ of createInterface({ input: process.stdin })) {
    console.log(JSON.stringify(await measured(orders, work)))
  }
}

/** What the work took: of this process, all its threads, and of the Redis behind it. */
async function measured({ accounts, redisUrl }: CycleOrders, work: () => Promise<void>): Promise<CycleRun> {
  const redis = redisUrl === '' ? undefined : new Redis(redisUrl)
  const redisFrom = await redisCpuSeconds(redis)
  const from = { cpu: process.cpuUsage(), wall: performance.now() }
  await work()
  const { user, system } = process.cpuUsage(from.cpu)
  const wallSeconds = (performance.now() - from.wall) / 1_000
  const redisSeconds = (await redisCpuSeconds(redis)) - redisFrom
  redis?.disconnect()
  return { accounts, cpuSeconds: (user + system) / 1e6, wallSeconds, redisSeconds }
}

async function redisCpuSeconds(redis: Redis | undefined): Promise<number> {
  const text = (await redis?.info('cpu')) ?? ''
  const [user = 0, system = 0] = ['user', 'sys'].map((name) =>
    Number(new RegExp(`^used_cpu_${name}:(.+)`, 'm').exec(text)?.[1] ?? 0),
  )
  return user + system
}
