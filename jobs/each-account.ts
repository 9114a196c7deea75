import type { DueKind } from '../src/redis/keys.ts'
import type { JobDeps } from './job-deps.ts'

/** Accounts of one chunk under way at a time. */
const LANES = 64

/**
 * Works through a chunk. One account that fails stops no other: it is due again when its claim ends. After the signal to
 * stop nothing new is begun, and what was not begun is handed back at once.
 */
export async function eachAccount(
  deps: Pick<JobDeps, 'due' | 'clock' | 'log'>,
  { kind, hubIds, signal }: { kind: DueKind; hubIds: readonly number[]; signal: AbortSignal },
  work: (hubId: number) => Promise<void>,
): Promise<void> {
  const waiting = [...hubIds]
  const lane = async () => {
    for (;;) {
      const hubId = waiting.shift()
      if (hubId === undefined) return
      await work(hubId).catch((error: unknown) => {
        deps.log.error({ code: `${kind}.error`, hubId, err: error }, 'this account could not be worked on')
      })
    }
  }
  let handedBack: Promise<void> | undefined
  // At the signal, not when the last one under way has ended: that may take longer than the process has.
  const handBack = () => {
    handedBack = deps.due.plan(kind, waiting.splice(0), deps.clock.now()).catch((error: unknown) => {
      deps.log.warn({ code: `${kind}.error`, err: error }, 'not handed back: due again when the claims end')
    })
  }
  if (signal.aborted) handBack()
  signal.addEventListener('abort', handBack, { once: true })
  await Promise.all(Array.from({ length: Math.min(LANES, hubIds.length) }, lane))
  signal.removeEventListener('abort', handBack)
  await handedBack
}
