import { randomUUID } from 'node:crypto'
import type { Store } from '../../src/redis/connect.ts'
import { loadScripts } from '../../src/redis/scripts.ts'
import type { HandClock } from './hand-clock.ts'

/** What a test sets is what the clock of Redis shows to the steps of this connection. */
export function goByHand(store: Store, clock: HandClock): void {
  const key = `hand-clock-${randomUUID()}`
  const time = `{ 0, redis.call('HGET', '${key}', 'ms') * 1000 }`
  for (const [name, { lua, numberOfKeys }] of Object.entries(loadScripts(0))) {
    const own = lua.replaceAll("redis.call('TIME')", time)
    if (own !== lua) store.defineCommand(name, { lua: own, ...(numberOfKeys === undefined ? {} : { numberOfKeys }) })
  }
  clock.tell((now) => void store.hset(key, 'ms', now).catch(() => undefined))
}
