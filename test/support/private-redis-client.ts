import { join } from 'node:path'
import { Redis } from 'ioredis'

/** Works on the private Redis in a folder, and waits for it where it is away. */
export async function withPrivateRedis<T>(redisDir: string, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis({ path: join(redisDir, 'redis.sock'), maxRetriesPerRequest: null, retryStrategy: () => 100 })
  redis.on('error', () => {})
  try {
    return await work(redis)
  } finally {
    redis.disconnect()
  }
}
