import { decideAlerts } from '../src/alerts/evaluation/decide.ts'
import { judgedBy } from '../src/alerts/evaluation/judged-by.ts'
import { packMoves } from '../src/limits/history/pack-poll.ts'
import type { Moved } from '../src/limits/moved-since.ts'
import { nearnessAfter } from '../src/limits/nearest-limit.ts'
import { disagreeingPercentage } from '../src/limits/percentage.ts'
import { growthBetween } from '../src/limits/polling/growth.ts'
import { encodeTurn } from '../src/limits/polling/poll-turn.ts'
import { type Fetched, mergeReadings } from '../src/limits/readings.ts'
import { mergeSamples, type Samples } from '../src/limits/samples.ts'
import { NOT_JUDGED, type Seen } from '../src/limits/seen.ts'
import type { Logger } from '../src/runtime/logger.ts'
import type { CommitQuietPollDeps, QuietPoll } from './commit-quiet-poll.ts'
import { logDisagreement } from './log-disagreement.ts'
import { planNextPoll } from './plan-next-poll.ts'
import type { Queues } from './queues.ts'

export interface CommitMovedPollDeps extends CommitQuietPollDeps {
  queues: Queues
  log: Logger
}

/**
 * A poll of an account that would have had nothing to add if all were as it was, and that found some numbers moved: what
 * did not move is not judged, ranked, planned for or packed anew. That took half a millisecond of such a poll.
 *
 * @param seen what the last poll saw; but for the answers, which are those of this one
 * @param whole what it would have read if it had read all, for where that is not enough
 */
export async function commitMovedPoll(
  deps: CommitMovedPollDeps,
  poll: QuietPoll,
  seen: Seen,
  moved: Moved,
  whole: () => Fetched,
  { freshAt, notBefore }: { freshAt: number; notBefore: number },
): Promise<'committed' | 'gone' | 'lost'> {
  const { hubId, context, settings, at, readAt } = poll
  const { before, after, moves } = moved
  const { hubDomain, alertStates: states, forecasts } = context
  const { keepMs, records } = deps.samples.settings
  let merged: Samples | undefined
  const shown = () => {
    merged ??= mergeSamples({}, whole(), deps.samples.settings)
    return merged
  }
  const account = {
    ...{ hubId, hubDomain, forecasts, states, before, after, moves },
    get samples() {
      return shown()
    },
  }
  const alerts = decideAlerts(deps.alerts, account, at)
  const changedAt = moves.length > 0 ? at : context.changedAt
  // Nothing was near a threshold: what did not move is no nearer.
  const series = moves.map((move) => move.series)
  const growth = growthBetween({ readings: before, series: moves.map(({ was }) => was) }, { readings: after, series })
  const found = { series, growth, isFirst: false }
  const next = planNextPoll(deps, { hubId, at: readAt, context, settings, found, changedAt, alerts, failures: [] })
  const nearness = nearnessAfter(seen.nearness, moves, () => mergeReadings(undefined, whole()), forecasts, at)
  const disagreement = context.disagreed ? undefined : disagreeingPercentage(after, moved.readAnew)
  const judged = next.isNear
    ? NOT_JUDGED
    : judgedBy(deps.alerts, context, next.states, { pairs: settings.pairs, records })
  const same = context.packed.hasSamples ? { sameAt: at, keepMs } : undefined
  const committed = await deps.polls.commitMoved(hubId, {
    ...{ polls: context.polls, at, alerts, nearness, freshAt },
    nextAt: Math.max(next.plan.at, notBefore),
    pollBecause: encodeTurn(next.plan),
    fields: {
      ...(changedAt === context.changedAt ? {} : { changedAt: String(changedAt) }),
      ...(disagreement === undefined ? {} : { disagreed: '1' }),
    },
    packed: { readings: moved.packed, record: packMoves(at, moves) },
    samples: moved.isShownAlike ? same : { shown: shown(), keepMs },
    seen: { answers: seen.answers, words: moved.words, judged, nearness },
  })
  logDisagreement(deps.log, hubId, disagreement)
  if (committed === 'committed' && alerts.entries.length > 0) await deps.queues.wake('alerts', deps.clock.now())
  return committed
}
