import { AppendOnlyFile } from '../redis/append-only-file.ts'
import { atInterval } from '../runtime/concurrency.ts'
import type { Parts } from './parts.ts'

const LOOK_EVERY_MS = 10_000

/** Of the private Redis alone: when another server rewrites its file is for its operator to set. */
export function tendAppendOnlyFile({ address, store, keys, clock, log }: Parts): () => void {
  if (address.kind !== 'embedded') return () => {}
  const file = new AppendOnlyFile(store, keys)
  return atInterval(async () => {
    const outcome = await file.tend(clock.now())
    if (outcome === 'rewritten') {
      log.info({ code: 'redis.rewritten' }, 'what was deleted is gone from the append-only file')
    } else if (outcome === 'failed') {
      log.warn({ code: 'redis.not-rewritten' }, 'the append-only file was not written anew: it holds what was deleted')
    }
  }, LOOK_EVERY_MS)
}
