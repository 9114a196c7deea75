import { ACCOUNT_CLAIM_MS, type DueSets } from '../src/accounts/due-sets.ts'
import type { DueKind } from '../src/redis/keys.ts'
import type { JobDeps } from './job-deps.ts'
import type { ChunkJob } from './queues.ts'

/** Accounts of one chunk under way at a time. */
const LANES = 64

type ChunkDeps = Pick<JobDeps, 'clock' | 'log' | 'mend'> & { due: Pick<DueSets, 'plan' | 'moveClaims'> }

interface Chunk extends ChunkJob {
  kind: DueKind
  signal: AbortSignal
}

/**
 * Works through a chunk. One account that fails stops no other: it is due again when its claim ends. After the signal to
 * stop nothing new is begun, and what was not begun is handed back at once.
 */
export async function eachAccount(
  deps: ChunkDeps,
  chunk: Chunk,
  work: (hubId: number) => Promise<void>,
): Promise<void> {
  const { kind, signal } = chunk
  const claims = new ChunkClaims(deps, chunk)
  if (claims.mayBeLost() && !signal.aborted) await claims.renew()
  const endKeeping = claims.keep()
  const lane = async () => {
    for (let hubId = claims.begin(); hubId !== undefined; hubId = claims.begin()) {
      try {
        await work(hubId)
      } catch (error) {
        deps.log.error({ code: `${kind}.error`, hubId, err: error }, 'this account could not be processed')
        await mend(deps, kind, hubId)
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
  await Promise.all(Array.from({ length: Math.min(LANES, chunk.hubIds.length) }, lane))
  signal.removeEventListener('abort', handBack)
  endKeeping()
  await handedBack
}

/** What it failed for may be what is stored of it. */
async function mend({ mend, log }: ChunkDeps, kind: DueKind, hubId: number): Promise<void> {
  await mend(hubId).catch((error: unknown) => {
    log.error({ code: `${kind}.error`, hubId, err: error }, 'what is stored of this account could not be checked')
  })
}

/**
 * The accounts of a chunk that are still its own. Where the provider is slow, a chunk waits and is worked on for longer than
 * its claims last: they are renewed while it is worked on, and what was claimed by another sweep while it waited is left to
 * that one. Else each account would be polled as often as it is claimed.
 */
class ChunkClaims {
  readonly #deps: ChunkDeps
  readonly #kind: DueKind
  readonly #lastMs: number
  readonly #renewEveryMs: number
  #until: number | undefined
  #waiting: number[]
  readonly #underWay = new Set<number>()

  constructor(deps: ChunkDeps, { kind, hubIds, claimedUntil }: Chunk) {
    this.#deps = deps
    this.#kind = kind
    this.#lastMs = kind === 'refresh' ? 0 : ACCOUNT_CLAIM_MS[kind]
    this.#renewEveryMs = this.#lastMs / 3
    this.#until = claimedUntil
    this.#waiting = [...hubIds]
  }

  /** The chunk has waited; or it comes from a daemon whose clock is ahead, and its claims seem to last for longer than they can. */
  mayBeLost(): boolean {
    if (this.#until === undefined) return false
    const leftMs = this.#until - this.#deps.clock.now()
    return leftMs < this.#lastMs - this.#renewEveryMs || leftMs > this.#lastMs
  }

  /** Renews the claims as often as it takes, until the returned function is called. */
  keep(): () => void {
    if (this.#until === undefined) return () => {}
    let isUnderWay = false
    return this.#deps.clock.every(this.#renewEveryMs, async () => {
      if (isUnderWay) return
      isUnderWay = true
      await this.renew().catch((error: unknown) => {
        const event = { code: `${this.#kind}.error`, err: error } as const
        this.#deps.log.warn(event, 'claims are not renewed: their work may be done twice')
      })
      isUnderWay = false
    })
  }

  begin(): number | undefined {
    const hubId = this.#waiting.shift()
    if (hubId !== undefined) this.#underWay.add(hubId)
    return hubId
  }

  end(hubId: number): void {
    this.#underWay.delete(hubId)
  }

  async handBack(): Promise<void> {
    const { due, clock } = this.#deps
    const waiting = this.#waiting.splice(0)
    if (this.#until === undefined) await due.plan(this.#kind, waiting, clock.now())
    else await due.moveClaims(this.#kind, waiting, this.#until, clock.now())
  }

  async renew(): Promise<void> {
    if (this.#until === undefined) return
    const after = this.#deps.clock.now() + this.#lastMs
    const all = [...this.#waiting, ...this.#underWay]
    const ours = await this.#deps.due.moveClaims(this.#kind, all, this.#until, after)
    this.#until = after
    this.#waiting = this.#waiting.filter((hubId) => ours.has(hubId))
  }
}
