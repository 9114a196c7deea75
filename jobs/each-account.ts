import type { DueKind } from '../src/redis/keys.ts'
import type { ChunkClaims } from './chunk-claims.ts'
import type { JobDeps } from './job-deps.ts'

/** Accounts of one chunk under way at a time. */
const LANES = 64

type ChunkDeps = Pick<JobDeps, 'log' | 'repair'>

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
    await Promise.all(Array.from({ length: Math.min(LANES, claims.size) }, lane))
    await atEnd()
  } finally {
    signal.removeEventListener('abort', handBack)
    endKeeping()
  }
  await handedBack
}

/** Repairs an account after a failure: the cause may be its stored data. */
export async function accountFailed(
  { repair, log }: Pick<ChunkDeps, 'repair' | 'log'>,
  kind: DueKind,
  hubId: number,
  error: unknown,
): Promise<void> {
  log.error({ code: `${kind}.error`, hubId, err: error }, 'this account could not be processed')
  await repair(hubId).catch((failure: unknown) => {
    log.error({ code: `${kind}.error`, hubId, err: failure }, 'the stored data of this account could not be checked')
  })
}
