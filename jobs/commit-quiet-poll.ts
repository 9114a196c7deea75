import { mayRest } from '../src/alerts/evaluation/judged-by.ts'
import type { KeptSamples } from '../src/limits/history/kept-samples.ts'
import { packedAt } from '../src/limits/history/packed-numbers.ts'
import type { PollContext } from '../src/limits/poll-context.ts'
import type { PollStore } from '../src/limits/poll-store.ts'
import type { AccountPollSettings } from '../src/limits/polling/poll-settings.ts'
import { encodeTurn } from '../src/limits/polling/poll-turn.ts'
import type { Seen } from '../src/limits/seen.ts'
import { NO_ALERT_WRITES } from '../src/redis/steps.ts'
import { NOTHING_NEW, type PlanNextPollDeps, planNextPoll } from './plan-next-poll.ts'

export interface CommitQuietPollDeps extends PlanNextPollDeps {
  polls: PollStore
  samples: KeptSamples
}

/** A poll of which nothing but its moment may be new. */
export interface QuietPoll {
  hubId: number
  context: PollContext
  settings: AccountPollSettings
  /** When it was: after the poll before it, and by this machine's clock. */
  at: number
  readAt: number
  gapMs: number
}

/**
 * What the last poll saw, if one that sees the same now has nothing to add but its moment. Where the answers' bytes are what
 * they were, nothing of them is parsed, compared or judged: that was four fifths of a poll beside its calls.
 */
export function seenIfQuiet({ alerts, samples }: CommitQuietPollDeps, poll: QuietPoll): Seen | undefined {
  const { context, settings, at, gapMs } = poll
  const { seen, polledAt, packed } = context
  if (seen === undefined || packed.readings === null || settings.pairs === 'auto') return undefined
  // Anything but what that poll left there is for whoever unpacks it to tell of.
  if (packedAt(packed.readings) !== polledAt) return undefined
  // The history tells of a gap.
  if (at - polledAt > gapMs) return undefined
  const { records } = samples.settings
  // Records that are gone, however that came, are stored anew.
  if (packed.hasSamples !== (records !== 'none' && settings.pairs.length > 0)) return undefined
  return mayRest(alerts, context, { pairs: settings.pairs, records }, at) ? seen : undefined
}

export function commitQuietPoll(
  deps: CommitQuietPollDeps,
  poll: QuietPoll,
  seen: Seen,
  { freshAt, notBefore }: { freshAt: number; notBefore: number },
): Promise<'committed' | 'gone' | 'lost'> {
  const { hubId, context, at } = poll
  const { polls, samples } = deps
  const { changedAt } = context
  const made = { ...poll, at: poll.readAt, changedAt, found: NOTHING_NEW, alerts: NO_ALERT_WRITES, failures: [] }
  const next = planNextPoll(deps, made).plan
  return polls.commitQuiet(hubId, {
    ...{ polls: context.polls, at, seen, nearness: seen.nearness, freshAt },
    nextAt: Math.max(next.at, notBefore),
    pollBecause: encodeTurn(next),
    keepSamplesMs: context.packed.hasSamples ? samples.settings.keepMs : 0,
  })
}
