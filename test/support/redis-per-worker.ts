import type { TestProject } from 'vitest/node'
import { startRedis } from './redis-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Of the Redis of each worker, by its number. */
    redisPorts: number[] | undefined
  }
}

/** Before the first test file: one Redis for each worker, which runs one file at a time. */
export default async function startRedisPerWorker(project: TestProject) {
  const servers = await Promise.all(Array.from({ length: Number(project.config.maxWorkers) }, () => startRedis()))
  project.provide(
    'redisPorts',
    servers.map(({ port }) => port),
  )
  return () => Promise.all(servers.map((server) => server.stop()))
}
