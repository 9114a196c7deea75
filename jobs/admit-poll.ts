import type { CallBudget } from '../src/limits/call-budget.ts'
import type { PollContext } from '../src/limits/poll-store.ts'
import { decodeTurn, type PollTurn } from '../src/limits/poll-turn.ts'
import type { Clock } from '../src/runtime/clock.ts'

export interface AdmitPollDeps {
  /** Undefined: the fleet may make as many calls as there are. */
  callBudget: CallBudget | undefined
  clock: Clock
}

/** An early poll that found no room waits at least so long. */
const LEAST_PAUSE_MS = 60_000

/**
 * Whether the fleet's call budget has room for a poll of `calls` now. Where it has not, the account's next moment is
 * moved, and its record says why: early ones come again a little later, each time after a longer pause; who waits for a
 * regular turn keeps its place, so that the oldest stay first.
 */
export async function admitPoll(
  { callBudget, clock }: AdmitPollDeps,
  hubId: number,
  context: PollContext,
  calls: number,
): Promise<boolean> {
  if (callBudget === undefined) return true
  const now = clock.now()
  const turn = decodeTurn(context.pollBecause) ?? turnNow(context, now)
  if (await callBudget.admits({ calls, regularAt: turn.regularAt, urgency: turn.urgency })) return true
  const { because, regularAt } = turn
  const pause = Math.max(LEAST_PAUSE_MS, (now - context.polledAt) / 2)
  const instead = because.is === 'budget' ? because.instead : because
  await callBudget.putOff(hubId, context.polls, Math.min(regularAt, now + pause), {
    ...turn,
    because: { is: 'budget', instead },
  })
  return false
}

function turnNow({ polledAt }: PollContext, now: number): PollTurn {
  return { regularAt: now, urgency: 0, because: { is: polledAt === 0 ? 'new' : 'still' } }
}
