import { Redis } from 'ioredis'

/** How a side of the cycle is told what to do, and what it says: one process, one line. */
export interface CycleOrders {
  providerUrl: string
  redisUrl: string
  accounts: number
  warmUp: number
  refreshShare: number
  inFlight: number
}

/** The line of a side. */
export interface CycleRun {
  accounts: number
  cpuSeconds: number
  wallSeconds: number
  redisSeconds: number
}

export function readOrders(): CycleOrders {
  const [providerUrl = '', redisUrl = ''] = process.argv.slice(2)
  const {
    BENCH_ACCOUNTS = '8000',
    BENCH_WARM_UP = '8000',
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

/** Works through the accounts once to warm up and once for the figure, so many at a time. */
export async function runCycles(orders: CycleOrders, cycle: (place: number) => Promise<void>): Promise<void> {
  const all = async (count: number) => {
    let next = 0
    const lane = async () => {
      while (next < count) await cycle(next++)
    }
    await Promise.all(Array.from({ length: orders.inFlight }, lane))
  }
  await all(orders.warmUp)
  await measured(orders, () => all(orders.accounts))
}

/** Prints what the work took: of this process, all its threads, and of the Redis behind it. */
export async function measured({ accounts, redisUrl }: CycleOrders, work: () => Promise<void>): Promise<void> {
  const redis = redisUrl === '' ? undefined : new Redis(redisUrl)
  const redisFrom = await redisCpuSeconds(redis)
  const from = { cpu: process.cpuUsage(), wall: performance.now() }
  await work()
  const { user, system } = process.cpuUsage(from.cpu)
  const wallSeconds = (performance.now() - from.wall) / 1_000
  const redisSeconds = (await redisCpuSeconds(redis)) - redisFrom
  const run: CycleRun = { accounts, cpuSeconds: (user + system) / 1e6, wallSeconds, redisSeconds }
  console.log(JSON.stringify(run))
}

async function redisCpuSeconds(redis: Redis | undefined): Promise<number> {
  const text = (await redis?.info('cpu')) ?? ''
  const [user = 0, system = 0] = ['user', 'sys'].map((name) =>
    Number(new RegExp(`^used_cpu_${name}:(.+)`, 'm').exec(text)?.[1] ?? 0),
  )
  return user + system
}
