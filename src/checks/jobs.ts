import { isSilent } from '../heartbeat/daemons.ts'
import { countOf, formatSpan } from '../text/format-number.ts'
import { type Check, inSeconds, warning } from './check.ts'
import { canMove, sinceBack } from './process-facts.ts'

/** Longer than any job takes whose calls all run into their deadline. */
const LONGEST_STANDSTILL_MS = 120_000
/** Longer than a lost connection takes to be noticed and replaced. */
const LONGEST_UNTAKEN_MS = 45_000
/** So long the next job of a queue may wait, as for the alert PlimsollQueueOld. */
const LONGEST_WAIT_MS = 120_000

export const standstills: Check = {
  name: 'queue',
  of: 'process',
  judge(facts) {
    if (!canMove(facts)) return []
    return Object.entries(facts.standstills).map(([queue, ms]) => {
      const stillMs = Math.min(ms, sinceBack(facts))
      const says = stillMs === 0 ? 'moves' : `no job has ended for ${inSeconds(stillMs)} s`
      return {
        name: `queue:${queue}`,
        level: stillMs <= LONGEST_STANDSTILL_MS ? 'ok' : 'critical',
        says,
        stops: 'work',
      }
    })
  },
}

/** Even if all else moves: what hangs may hold a resource that others wait for. */
export const oldestWork: Check = {
  name: 'oldest',
  of: 'process',
  judge(facts) {
    if (!canMove(facts)) return []
    return (facts.oldest ?? []).map(({ what, hubId, ms, longestMs }) => {
      const [heldMs, whose] = [Math.min(ms, sinceBack(facts)), hubId === undefined ? '' : ` of account ${hubId}`]
      const held = `the oldest${whose} has run for ${inSeconds(heldMs)} s, at most ${inSeconds(longestMs)} s allowed`
      const says = ms === 0 ? 'none is running' : held
      return { name: `oldest:${what}`, level: heldMs <= longestMs ? 'ok' : 'critical', says, stops: 'work' }
    })
  },
}

export const untaken: Check = {
  name: 'worker',
  of: 'process',
  judge(facts) {
    if (!canMove(facts)) return []
    return Object.entries(facts.untaken ?? {}).map(([queue, ms]) => {
      const untakenMs = Math.min(ms, sinceBack(facts))
      const isTaken = untakenMs <= LONGEST_UNTAKEN_MS
      const says = isTaken ? 'takes jobs' : `jobs wait, and none was taken for ${inSeconds(untakenMs)} s`
      return { name: `worker:${queue}`, level: isTaken ? 'ok' : 'critical', says, stops: 'work' }
    })
  },
}

/** Queues that grow although they move: one that stands still is reported by its daemon. */
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
      return [warning('Check the queue', says, { is: 'runbook', section: 'plimsoll-queue-old' })]
    })
  },
}
