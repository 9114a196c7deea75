import { setTimeout as pause } from 'node:timers/promises'
import { type Keys, PARTITIONS } from '../../src/redis/keys.ts'
import type { WholeDaemon } from './whole-daemon.ts'

/** How often a far side was asked for tokens, and for all reports of an account, as it counts it itself. */
export interface Served {
  refreshes: number
  polls: number
}

const AT_MOST_MS = 300_000
/** What was claimed comes due again within a minute; what is done in minutes, at the soonest. */
const CLAIMED_MS = 90_000

/**
 * A lot is done when the far side has counted all its calls, and Redis nothing that is due: nobody asks the daemon, whose time
 * is measured. Redis is asked only at the end, since its time is measured too.
 */
export async function untilDone(
  { store, keys }: Pick<WholeDaemon, 'store' | 'keys'>,
  served: () => Promise<Served>,
  wanted: Served,
): Promise<void> {
  const isServed = ({ refreshes, polls }: Served) => refreshes >= wanted.refreshes && polls >= wanted.polls
  // Where nobody waits for polls, some may come due: new accounts' first ones.
  const due = dueSets(keys, wanted.polls > 0 ? ['refresh', 'poll'] : ['refresh'])
  const isStored = async () => (await store.eval(COUNT, due.length, ...due, '-inf', Date.now() + CLAIMED_MS)) === 0
  for (const until = Date.now() + AT_MOST_MS; Date.now() < until; await pause(20)) {
    if (isServed(await served()) && (await isStored())) return
  }
  const { refreshes, polls } = await served()
  throw new Error(`not done in time: ${refreshes} of ${wanted.refreshes} refreshes, ${polls} of ${wanted.polls} polls`)
}

export function dueSets(keys: Keys, kinds: readonly ('refresh' | 'poll')[]): string[] {
  return kinds.flatMap((kind) => Array.from({ length: PARTITIONS }, (_, n) => keys.partition(n).due[kind]))
}

/** Of all these sorted sets, from ARGV[1] to ARGV[2]. */
export const COUNT = `
local count = 0
for _, key in ipairs(KEYS) do count = count + redis.call('ZCOUNT', key, ARGV[1], ARGV[2]) end
return count`
