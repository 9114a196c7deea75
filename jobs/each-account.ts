import type { DueKind } from '../src/redis/keys.ts'
import type { ChunkClaims } from './chunk-claims.ts'
import type { JobDeps } from './job-deps.ts'

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

type ChunkDeps = Pick<JobDeps, 'log' | 'repair' | 'inFlight'>

/**
 * Works through a chunk. One account that fails stops no other: it is due again when its claim ends. After the signal to
 * stop nothing new is begun, and what was not begun is handed back at once. Where `work` resolves with 'goes on', the account's
 * claim is kept until `claims.end`.
 */
export async function eachAccount(
  deps: ChunkDeps,
  claims: ChunkClaims,
  signal: AbortSignal,
  work: (hubId: number) => Promise<unknown>,
  /** Called when all are done. */
  atEnd: () => Promise<void> = async () => {},
): Promise<void> {
  const { kind } = claims
  if (claims.mayBeLost() && !signal.aborted) await claims.renew()
  const endKeeping = claims.keep()
  const lane = async () => {
    for (let hubId = claims.begin(); hubId !== undefined; hubId = claims.begin()) {
      try {
        if ((await work(hubId)) === 'goes on') continue
      } catch (error) {
        await accountFailed(deps, kind, hubId, error)
      }
      claims.end(hubId)
    }
  }
  let handedBack: Promise<void> | undefined
  // At the signal, not when the last one under way has ended: that may take longer than the process has.
  const handBack = () => {
    handedBack = claims.handBack().catch((error: unknown) => {
      deps.log.warn({ code: `${kind}.error`, err: error }, 'not handed back: due again when the claims end')
    })
  }
  if (signal.aborted) handBack()
  signal.addEventListener('abort', handBack, { once: true })
  try {
    await Promise.all(Array.from({ length: Math.min(lanesFor(deps.inFlight), claims.size) }, lane))
    await atEnd()
  } finally {
    signal.removeEventListener('abort', handBack)
    endKeeping()
  }
  await handedBack
}

/** Repairs an account after a failure: the cause may be its stored data. */
export async function accountFailed(
  { repair, log }: Pick<JobDeps, 'repair' | 'log'>,
  kind: DueKind,
  hubId: number,
  error: unknown,
): Promise<void> {
  log.error({ code: `${kind}.error`, hubId, err: error }, 'this account could not be processed')
  await repair(hubId).catch((failure: unknown) => {
    log.error({ code: `${kind}.error`, hubId, err: failure }, 'the stored data of this account could not be checked')
  })
}
