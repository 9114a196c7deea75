import type { DueSets } from '../src/accounts/due-sets.ts'
import type { DueKind } from '../src/redis/keys.ts'
import type { Clock } from '../src/runtime/clock.ts'
import type { Logger } from '../src/runtime/logger.ts'

export interface EachAccountDeps {
  due: DueSets
  clock: Clock
  log: Logger
}

/** Accounts of one chunk under way at a time. */
const LANES = 64

/**
 * Works through a chunk. One account that fails stops no other: it is due again when its claim ends. After the signal to
 * stop nothing new is begun, and what was not begun is handed back at once.
 */
export async function eachAccount(
  deps: EachAccountDeps,
  kind: DueKind,
  hubIds: readonly number[],
  signal: AbortSignal,
  work: (hubId: number) => Promise<void>,
): Promise<void> {
  const waiting = [...hubIds]
  const lane = async () => {
    for (;;) {
      if (signal.aborted) return
      const hubId = waiting.shift()
      if (hubId === undefined) return
      await work(hubId).catch((error: unknown) => {
        deps.log.error({ code: `${kind}.error`, hubId, err: error }, 'this account could not be worked on')
      })
    }
  }
  await Promise.all(Array.from({ length: Math.min(LANES, hubIds.length) }, lane))
  if (waiting.length > 0) await deps.due.giveBack(kind, waiting, deps.clock.now())
}
