import type { DueSets } from '../src/accounts/due-sets.ts'
import type { DueKind } from '../src/redis/keys.ts'
import type { Clock } from '../src/runtime/clock.ts'
import type { Metrics } from '../src/runtime/metrics.ts'
import type { ChunkJob, Queues, SweepJob, SweepKind } from './queues.ts'
import { type SweepAlertsDeps, sweepAlerts } from './sweep-alerts.ts'

export interface SweepDeps extends SweepAlertsDeps {
  due: DueSets
  queues: Queues
  metrics: Metrics
  clock: Clock
  /** Notes that a sweep finished: health is progress. */
  progress: (kind: SweepKind, at: number) => Promise<void>
}

/** Accounts per job: below 50 the queue itself is felt, above 500 nothing is won. */
const CHUNK = 200
/** Chunks that may wait: more would only age in the queue, and their claims with them. */
const MOST_WAITING = 50

/** Looks who is due and hands them on; then plans the next look, where that is before the clock's next tick. */
export async function sweep(deps: SweepDeps, { kind, until }: SweepJob): Promise<void> {
  const next = kind === 'alerts' ? await sweepAlerts(deps) : await sweepAccounts(deps, kind)
  const now = deps.clock.now()
  if (next !== undefined && next < until) await deps.queues.wake(kind, Math.max(next, now + 1), until)
  await deps.progress(kind, now)
  deps.metrics.sweeps.inc({ kind })
}

const DUE_KIND: Record<Exclude<SweepKind, 'alerts'>, DueKind> = {
  'refresh-tokens': 'refresh',
  'poll-limits': 'poll',
  uninstall: 'uninstall',
}

async function sweepAccounts(deps: SweepDeps, kind: Exclude<SweepKind, 'alerts'>): Promise<number | undefined> {
  const queue = {
    'refresh-tokens': deps.queues.refreshTokens,
    'poll-limits': deps.queues.pollLimits,
    uninstall: deps.queues.uninstall,
  }[kind]
  const room = MOST_WAITING - (await queue.getWaitingCount())
  if (room <= 0) return deps.clock.now()
  const { hubIds, next } = await deps.due.claim(DUE_KIND[kind], deps.clock.now(), room * CHUNK)
  if (hubIds.length > 0) await queue.addBulk(chunksOf(hubIds).map((data) => ({ name: kind, data })))
  return next
}

function chunksOf(hubIds: number[]): ChunkJob[] {
  const chunks: ChunkJob[] = []
  for (let from = 0; from < hubIds.length; from += CHUNK) chunks.push({ hubIds: hubIds.slice(from, from + CHUNK) })
  return chunks
}
