import { isSilent } from '../heartbeat/daemons.ts'
import type { Oldest } from '../heartbeat/movement.ts'
import { countOf, formatSpan } from '../text/format-number.ts'
import { type Check, inSeconds, NOWHERE, type OwnFinding, warning, workFinding } from './check.ts'
import { canMove, sinceBack } from './process-facts.ts'

/** Longer than any job takes whose calls all run into their deadline. */
const LONGEST_STANDSTILL_MS = 120_000
/** Longer than a lost connection takes to be noticed and replaced. */
const LONGEST_UNTAKEN_MS = 45_000
/** So long the next job of a queue may wait, as for the alert PlimsollQueueOld. */
const LONGEST_WAIT_MS = 120_000

/** Jobs that run end, and jobs that wait are taken. */
export const ownJobs: Check = {
  name: 'jobs',
  of: 'process',
  judge(facts) {
    if (!canMove(facts)) return []
    const since = sinceBack(facts)
    return [
      ...Object.entries(facts.standstills).map(([queue, ms]) => judgeQueue(queue, Math.min(ms, since))),
      ...(facts.oldest ?? []).map((one) => judgeOldest(one, Math.min(one.ms, since))),
      ...Object.entries(facts.untaken ?? {}).map(([queue, ms]) => judgeWorker(queue, Math.min(ms, since))),
    ]
  },
}

function judgeQueue(queue: string, ms: number): OwnFinding {
  const says = ms === 0 ? 'moves' : `no job has ended for ${inSeconds(ms)} s`
  return workFinding(`queue:${queue}`, ms <= LONGEST_STANDSTILL_MS, says)
}

/** Even if all else moves: what hangs may hold a resource that others wait for. */
function judgeOldest({ what, hubId, ms, longestMs }: Oldest, heldMs: number): OwnFinding {
  const owner = hubId === undefined ? '' : ` of account ${hubId}`
  const held = `the oldest${owner} has run for ${inSeconds(heldMs)} s, at most ${inSeconds(longestMs)} s allowed`
  return workFinding(`oldest:${what}`, heldMs <= longestMs, ms === 0 ? 'none is running' : held)
}

function judgeWorker(queue: string, ms: number): OwnFinding {
  const isTaken = ms <= LONGEST_UNTAKEN_MS
  const says = isTaken ? 'takes jobs' : `jobs wait, and none was taken for ${inSeconds(ms)} s`
  return workFinding(`worker:${queue}`, isTaken, says)
}

/** Queues that grow although they move: one without movement is reported by its daemon. */
export const queues: Check = {
  name: 'queues',
  of: 'fleet',
  judge({ now, queues, daemons }) {
    const stuck = new Set(
      daemons.flatMap((daemon) => (isSilent(daemon, now) ? [] : (daemon.ill ?? []))).map(({ name }) => name),
    )
    return queues.flatMap(({ queue, waiting, oldestWaitingAt }) => {
      const waitedMs = now - (oldestWaitingAt ?? Number.POSITIVE_INFINITY)
      if (waitedMs <= LONGEST_WAIT_MS || stuck.has(`queue:${queue}`) || stuck.has(`worker:${queue}`)) return []
      const says = `queue ${queue}: ${countOf(waiting, 'job')} waiting, the next for ${formatSpan(waitedMs)}`
      return [warning('Check the queue', says, NOWHERE)]
    })
  },
}
