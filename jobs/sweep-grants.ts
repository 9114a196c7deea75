import { type FinishDeps, finishGrant } from '../src/accounts/finish-grant.ts'
import { claimGrants } from '../src/accounts/parked-grants.ts'
import type { JobDeps } from './job-deps.ts'

type SweepGrantsDeps = Pick<JobDeps, 'queues' | 'metrics'> & FinishDeps

/** Asks again whose the grants are that had no answer at their install. The clock brings the next sweep. */
export async function sweepGrants(deps: SweepGrantsDeps): Promise<undefined> {
  const ids = await claimGrants(deps, deps.clock.now())
  const finish = async (id: string) => {
    try {
      const outcome = await finishGrant(deps, id)
      deps.metrics.parkedGrants.inc({ outcome })
      return outcome
    } catch (error) {
      deps.log.error({ code: 'grant.error', err: error }, 'a parked grant could not be worked on')
      return 'later'
    }
  }
  const outcomes = await Promise.all(ids.map(finish))
  if (!outcomes.includes('connected')) return
  const now = deps.clock.now()
  await Promise.all([deps.queues.wake('poll-limits', now), deps.queues.wake('alerts', now)])
}
