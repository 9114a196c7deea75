import { expect } from 'vitest'
import { QUEUE } from '../../jobs/queues.ts'
import type { Alert } from '../../src/alerts/alert.ts'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { readOutboxBalance } from '../../src/views/outbox-balance.ts'

/** What queues hold is elsewhere, too: without them nothing waits for the jobs of the dead. */
export async function dropQueues(store: Store, keys: Keys): Promise<void> {
  const names = (await Promise.all(Object.values(QUEUE).map((queue) => store.keys(`${keys.queues}:${queue}:*`)))).flat()
  if (names.length > 0) await store.del(...names)
}

/** No alert is on its way. */
export async function isQuiet(store: Store, keys: Keys): Promise<boolean> {
  return (await readOutboxBalance({ store, keys }, Date.now())).pending === 0
}

/** The transitions that were committed, by their ids, as the log has them. */
export async function readTransitions(store: Store, keys: Keys): Promise<Map<string, Alert>> {
  const found = new Map<string, Alert>()
  for (const [, [, entry = '']] of await store.xrange(keys.transitions, '-', '+')) {
    const { alert } = JSON.parse(entry) as { alert: Alert }
    expect(found.has(alert.id)).toBe(false)
    found.set(alert.id, alert)
  }
  return found
}
