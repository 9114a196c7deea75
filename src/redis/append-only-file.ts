import type { Store } from './connect.ts'
import type { Keys } from './keys.ts'

const DAY_MS = 86_400_000
/** Shortest pause between two rewrites: each copies all data, and a fleet may leave account by account. */
const PAUSE_MS = 10 * 60_000

export interface Rewrites {
  /** Begin of the last rewrite that worked. */
  rewrittenAt: number | undefined
  /** Moment of the last deletion that must not stay on the disk. */
  forgottenAt: number | undefined
  /** Begin of this process's last rewrite, successful or not. */
  begunAt: number | undefined
  /** Moment at which the server last failed to write to the file, as this process saw it; it can now. */
  refusedAt: number | undefined
}

export function isRewriteDue({ rewrittenAt, forgottenAt, begunAt, refusedAt }: Rewrites, now: number): boolean {
  // A disk that was full may have left it damaged: the next start would refuse it.
  if ((refusedAt ?? Number.NEGATIVE_INFINITY) > (begunAt ?? Number.NEGATIVE_INFINITY)) return true
  const isPast = (at: number | undefined, ms: number) => at === undefined || now - at >= ms
  if (!isPast(begunAt, PAUSE_MS)) return false
  const changedAt = Math.max(forgottenAt ?? Number.NEGATIVE_INFINITY, refusedAt ?? Number.NEGATIVE_INFINITY)
  return isPast(rewrittenAt, DAY_MS) || changedAt >= (rewrittenAt ?? 0)
}

/** To be called after the deletion. */
export async function noteForgotten(store: Store, keys: Keys, now: number): Promise<void> {
  await store.hset(keys.appendOnlyFile, 'forgottenAt', now)
}

/**
 * The file of the private Redis. What was deleted, or replaced, stays in it as it was once written, sealed tokens among it,
 * until the server writes the file anew from what there is.
 */
export class AppendOnlyFile {
  readonly #store: Store
  readonly #keys: Keys
  #begun: { at: number; run: string | undefined } | undefined
  #isUnderWay = false
  #refusedAt: number | undefined

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#keys = keys
  }

  /** Begins a rewrite where one is due; returns its outcome at one of the next calls. */
  async tend(now: number): Promise<'rewritten' | 'failed' | undefined> {
    const info = await this.#store.info()
    const fact = (name: string) => new RegExp(`^${name}:(.*)$`, 'm').exec(info)?.[1]?.trim()
    if (fact('aof_rewrite_in_progress') === '1' || fact('aof_rewrite_scheduled') === '1') return undefined
    if (this.#begun !== undefined && this.#isUnderWay) {
      this.#isUnderWay = false
      // A server that was started again knows of none.
      const isDone = fact('run_id') === this.#begun.run && fact('aof_last_bgrewrite_status') === 'ok'
      if (isDone) await this.#store.hset(this.#keys.appendOnlyFile, 'rewrittenAt', this.#begun.at)
      return isDone ? 'rewritten' : 'failed'
    }
    if (fact('aof_last_write_status') === 'err') {
      this.#refusedAt = now
      return undefined
    }
    const [rewrittenAt, forgottenAt] = await this.#store.hmget(this.#keys.appendOnlyFile, 'rewrittenAt', 'forgottenAt')
    const own = { begunAt: this.#begun?.at, refusedAt: this.#refusedAt }
    if (!isRewriteDue({ rewrittenAt: time(rewrittenAt), forgottenAt: time(forgottenAt), ...own }, now)) return undefined
    await this.#store.bgrewriteaof()
    this.#begun = { at: now, run: fact('run_id') }
    this.#isUnderWay = true
    return undefined
  }
}

function time(text: string | null | undefined): number | undefined {
  return text == null || !/^\d+$/.test(text) ? undefined : Number(text)
}
