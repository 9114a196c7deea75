import type { PollContext } from '../src/limits/poll-context.ts'
import type { PollStore } from '../src/limits/poll-store.ts'
import type { CallBudget } from '../src/limits/polling/call-budget.ts'
import { planWithoutRoom } from '../src/limits/polling/plan-poll.ts'
import { decodeTurn, type PollTurn } from '../src/limits/polling/poll-turn.ts'
import type { Clock } from '../src/runtime/clock.ts'

export interface AdmitPollDeps {
  /** Undefined: the fleet may make as many calls as there are. */
  callBudget: CallBudget | undefined
  polls: PollStore
  clock: Clock
}

/** `due`: its moment has come; `wanted`: somebody waits for it, whenever its turn is. */
export type PollOccasion = 'due' | 'wanted'

/** Takes what the budget has before any other early poll, and is no sign that the budget is too small for regular turns. */
const WANTED = { regularAt: Number.POSITIVE_INFINITY, urgency: 1 }

/**
 * Whether the fleet's call budget has room for a poll of `calls` now. Where it has not, and the account was due, its next
 * moment is moved, and its record says why; one that is wanted keeps its turn.
 */
export async function admitPoll(
  { callBudget, polls, clock }: AdmitPollDeps,
  hubId: number,
  context: PollContext,
  calls: number,
  occasion: PollOccasion,
): Promise<boolean> {
  if (callBudget === undefined) return true
  if (occasion === 'wanted') return callBudget.admits({ calls, ...WANTED })
  const now = clock.now()
  const turn = decodeTurn(context.pollBecause) ?? turnNow(context, now)
  if (await callBudget.admits({ calls, regularAt: turn.regularAt, urgency: turn.urgency })) return true
  const plan = planWithoutRoom(turn, context.polledAt, now)
  await polls.move(hubId, context.polls, plan)
  return false
}

/** One without a turn was connected and not polled since: it has waited from then on. */
function turnNow({ polledAt, obtainedAt }: PollContext, now: number): PollTurn {
  return { regularAt: Math.min(now, obtainedAt), urgency: 0, because: { is: polledAt === 0 ? 'new' : 'still' } }
}
