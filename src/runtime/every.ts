interface Repeated {
  work: () => Promise<void>
  everyMs: number
  nextAt: number
}

/** Checked this often: a few times within the third of the shortest lease. */
const LOOK_EVERY_MS = 100

const repeated = new Set<Repeated>()
let timer: NodeJS.Timeout | undefined

/**
 * One timer for all that is repeated: nearly all leases end before they are renewed once, and a timer of its own for each
 * was 2 % of a refresh. By the monotonic clock: a clock that is set must not end a lease.
 */
export function every(ms: number, work: () => Promise<void>): () => void {
  const one = { work, everyMs: ms, nextAt: performance.now() + ms }
  repeated.add(one)
  timer ??= setInterval(repeatDue, LOOK_EVERY_MS)
  return () => repeated.delete(one)
}

function repeatDue(): void {
  const now = performance.now()
  for (const one of repeated) {
    if (now < one.nextAt) continue
    one.nextAt = now + one.everyMs
    void one.work()
  }
  if (repeated.size > 0) return
  clearInterval(timer)
  timer = undefined
}
