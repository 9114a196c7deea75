import type { JobDeps } from './job-deps.ts'
import { accountFailed } from './work-off.ts'

/**
 * Accounts of one chunk under way at a time: a quarter of the calls that the process may make, since several chunks are worked on
 * beside each other. More of them only wait, and what waits is copied about by each collection of garbage: with 64 for 64 calls a
 * poll cost 1.13 of its CPU, a refresh 1.03.
 */
const SHARE_OF_CALLS = 4
const [LEAST_LANES, MOST_LANES] = [4, 64]

function lanesFor({ limit }: JobDeps['inFlight']): number {
  return Math.min(MOST_LANES, Math.max(LEAST_LANES, Math.ceil(limit / SHARE_OF_CALLS)))
}

/**
 * Works through a chunk. One account that fails stops no other: it is due again when its claim ends. After the signal to
 * stop nothing new is begun, and what was not begun is handed back at once.
 */
export async function eachAccount(
  deps: Pick<JobDeps, 'log' | 'repair' | 'inFlight' | 'due' | 'clock'>,
  hubIds: readonly number[],
  signal: AbortSignal,
  work: (hubId: number) => Promise<unknown>,
): Promise<void> {
  const waiting = [...hubIds]
  const lane = async () => {
    for (let hubId = waiting.shift(); hubId !== undefined; hubId = waiting.shift()) {
      await work(hubId).catch((error: unknown) => accountFailed(deps, 'refresh', hubId as number, error))
    }
  }
  let handedBack: Promise<void> | undefined
  // At the signal, not when the last one under way has ended: that may take longer than the process has.
  const handBack = () => {
    handedBack = deps.due.plan('refresh', waiting.splice(0), deps.clock.now()).catch((error: unknown) => {
      deps.log.warn({ code: 'refresh.error', err: error }, 'not handed back: due again when the claims end')
    })
  }
  if (signal.aborted) handBack()
  signal.addEventListener('abort', handBack, { once: true })
  try {
    await Promise.all(Array.from({ length: Math.min(lanesFor(deps.inFlight), hubIds.length) }, lane))
  } finally {
    signal.removeEventListener('abort', handBack)
  }
  await handedBack
}
