import type { Store } from '../../redis/connect.ts'
import { readServers } from '../../redis/servers.ts'
import { countedElsewhere, gauge, sharedRead } from '../../runtime/gauge.ts'
import type { Metrics } from '../../runtime/metrics.ts'

export interface RedisGaugeDeps {
  metrics: Metrics
  store: Store
}

/** All servers together, where the data is spread over several. */
export function registerRedisGauges({ metrics, store }: RedisGaugeDeps): void {
  const load = sharedRead(async () => {
    const servers = await readServers(store)
    const sum = (of: 'usedMemory' | 'maxMemory' | 'evictedKeys') =>
      servers.reduce((total, server) => total + server[of], 0)
    return { servers, sum }
  })

  gauge(metrics, 'redis_up', 'Whether Redis answers this daemon: 1 or 0.', [], () =>
    load().then(
      () => [[{}, 1]],
      () => [[{}, 0]],
    ),
  )
  gauge(metrics, 'redis_ping_seconds', 'How long Redis took to answer a ping, just now.', [], async () => [
    [{}, Math.max(...(await load()).servers.map(({ pingMs }) => pingMs)) / 1_000],
  ])
  gauge(metrics, 'redis_memory_used_bytes', 'What Redis has in memory.', [], async () => [
    [{}, (await load()).sum('usedMemory')],
  ])
  gauge(metrics, 'redis_memory_max_bytes', 'How much that may be; 0: as much as the machine has.', [], async () => [
    [{}, (await load()).sum('maxMemory')],
  ])
  countedElsewhere(
    metrics,
    'redis_evicted_keys',
    'Keys that Redis threw away for want of memory since it started: each may have been a token.',
    async () => (await load()).sum('evictedKeys'),
  )
  gauge(
    metrics,
    'redis_last_save_ok',
    'Whether Redis could write its files when it last tried: 1 or 0, by file: aof, rdb.',
    ['file'],
    async () => {
      const { servers } = await load()
      return [
        [{ file: 'aof' }, servers.every(({ aofWorks, rewriteWorks }) => aofWorks && rewriteWorks) ? 1 : 0],
        [{ file: 'rdb' }, servers.every(({ rdbWorks }) => rdbWorks) ? 1 : 0],
      ]
    },
  )
}
