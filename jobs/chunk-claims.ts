import { ACCOUNT_CLAIM_MS, type DueSets } from '../src/accounts/due-sets.ts'
import type { DueKind } from '../src/redis/keys.ts'
import type { JobDeps } from './job-deps.ts'
import type { ChunkJob } from './queues.ts'

export type ClaimsDeps = Pick<JobDeps, 'clock' | 'log'> & {
  due: Pick<DueSets, 'plan' | 'moveClaims' | 'claimEnd'>
}

export interface ClaimedChunk extends ChunkJob {
  kind: DueKind
}

/**
 * The accounts of a chunk that are still its own. Where the provider is slow, a chunk waits and is worked on for longer than
 * its claims last: they are renewed while it is worked on, and what was claimed by another sweep while it waited is left to
 * that one. Else each account would be polled as often as it is claimed.
 */
export class ChunkClaims {
  readonly kind: DueKind
  /** Accounts that the chunk began with. */
  readonly size: number
  readonly #deps: ClaimsDeps
  readonly #lastMs: number
  readonly #renewEveryMs: number
  #until: number | undefined
  /** The end that is being written: which of the two ends is in force is not known until the answer. */
  #renewed: number | undefined
  #waiting: number[]
  readonly #underWay = new Set<number>()

  constructor(deps: ClaimsDeps, { kind, hubIds, claimedUntil }: ClaimedChunk) {
    this.#deps = deps
    this.kind = kind
    this.size = hubIds.length
    this.#lastMs = kind === 'refresh' ? 0 : ACCOUNT_CLAIM_MS[kind]
    this.#renewEveryMs = this.#lastMs / 3
    this.#until = claimedUntil
    this.#waiting = [...hubIds]
  }

  /** Ends that the claims may have now. */
  get ends(): readonly [number, number] {
    const until = this.#until ?? 0
    return [until, this.#renewed ?? until]
  }

  /** The chunk has waited. */
  mayBeLost(): boolean {
    if (this.#until === undefined) return false
    const leftMs = this.#until - this.#deps.clock.now()
    return leftMs < this.#lastMs - this.#renewEveryMs
  }

  /** Renews the claims as often as it takes, until the returned function is called. */
  keep(): () => void {
    if (this.#until === undefined) return () => {}
    let isUnderWay = false
    return this.#deps.clock.every(this.#renewEveryMs, async () => {
      if (isUnderWay) return
      isUnderWay = true
      await this.renew().catch((error: unknown) => {
        const event = { code: `${this.kind}.error`, err: error } as const
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
    if (this.#until === undefined) await due.plan(this.kind, waiting, clock.now())
    else await this.#moveTo(waiting, clock.now())
  }

  /** An account that is not done has another moment, unless another worker has it by now. */
  async move(hubId: number, at: number): Promise<void> {
    await this.#moveTo([hubId], at)
  }

  async #moveTo(hubIds: readonly number[], at: number): Promise<void> {
    for (const end of new Set(this.ends)) await this.#deps.due.moveClaims(this.kind, hubIds, end, at)
  }

  async renew(): Promise<void> {
    if (this.#until === undefined) return
    const { clock, due } = this.#deps
    const now = clock.now()
    // One that failed may have been done in part: the same end again finds all of them.
    const isPending = this.#renewed !== undefined && this.#renewed !== this.#until && this.#renewed > now
    const after = isPending ? (this.#renewed as number) : due.claimEnd(this.kind as Exclude<DueKind, 'refresh'>, now)
    this.#renewed = after
    const all = [...this.#waiting, ...this.#underWay]
    const ours = await due.moveClaims(this.kind, all, this.#until, after)
    this.#until = after
    this.#waiting = this.#waiting.filter((hubId) => ours.has(hubId))
  }
}
