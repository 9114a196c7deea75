import { planSooner } from '../src/limits/polling/plan-poll.ts'
import { pollSettingsOf } from '../src/limits/polling/poll-settings.ts'
import { InFlight } from '../src/runtime/concurrency.ts'
import type { JobDeps } from './job-deps.ts'

type ReplanPollsDeps = Pick<JobDeps, 'due' | 'polls' | 'polling' | 'clock' | 'log'>

/** Accounts that are planned together: they share the connection with work that does not wait. */
const AT_ONCE = 50

/**
 * At the start and after a reload: a period that was made shorter in the config holds from now on, not from the turn on that the longer one had
 * planned, which may be days away.
 */
export async function replanPolls(deps: ReplanPollsDeps): Promise<void> {
  const { due, polling, clock, log } = deps
  const shortest = Math.min(polling.every, ...polling.accounts.map(({ every }) => every ?? polling.every))
  const places = new InFlight(AT_ONCE)
  let accounts = 0
  for await (const hubIds of due.laterThan('poll', clock.now() + shortest)) {
    const moved = await Promise.all(hubIds.map((hubId) => places.run('normal', () => replanPoll(deps, hubId))))
    accounts += moved.filter((isMoved) => isMoved).length
  }
  if (accounts > 0)
    log.info({ code: 'poll.replanned', accounts }, 'their period is shorter now: they are polled sooner')
}

async function replanPoll({ polls, polling, clock }: ReplanPollsDeps, hubId: number): Promise<boolean> {
  const next = await polls.planned(hubId)
  // One that is parked waits for as long as the provider asked.
  if (next === undefined || next.state === 'parked') return false
  const { everyMs } = pollSettingsOf(polling, { hubId, hubDomain: next.hubDomain })
  const plan = planSooner(hubId, everyMs, next, clock.now())
  return plan !== undefined && (await polls.move(hubId, next.polls, plan)) === 'moved'
}
