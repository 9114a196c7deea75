import type { Series } from '../../limits/series.ts'
import { formatCount, formatPercent } from '../../text/format-number.ts'
import type { Alert, AlertLevel } from '../alert.ts'
import { alertId } from '../alert-state.ts'
import type { RuleSubject } from '../evaluation/rules.ts'
import { seriesFields } from '../series-fields.ts'

const RULE = 'limit-changed'

/** A series as the poll before read it, if it was there. */
export interface SeriesBefore {
  series: Series | undefined
  level: AlertLevel | 'ok'
  /** ms */
  at: number | undefined
}

/**
 * The alert about a limit that moved, whichever way, between two readings of a series: usage that is nearer to it did not
 * grow. It is an event: nothing stays open, so nothing is ever resolved. Its id follows from account, series and the
 * moment of the poll.
 */
export function limitChangedAlert(
  { hubId, hubDomain }: RuleSubject,
  before: SeriesBefore,
  series: Series,
  now: number,
  pageOf: (hubId: number) => string,
): Alert | undefined {
  const { series: was, at } = before
  if (was === undefined || at === undefined || was.limit === series.limit) return undefined
  // A pair that the provider did not know had no limit to move: with automatic pairs each of them begins like that.
  if (was.limit === null && series.from !== undefined) return undefined
  return {
    id: `${alertId(hubId, `${RULE}/${series.id}`, now)}-1`,
    kind: 'limit-changed',
    status: 'firing',
    level: 'warning',
    reason: 'entered',
    rule: RULE,
    account: { hubId, hubDomain },
    ...seriesFields(series),
    previous: {
      level: before.level,
      usage: was.usage,
      ...(was.limit === null ? {} : { limit: was.limit }),
      measuredAt: new Date(at).toISOString(),
    },
    measuredAt: new Date(now).toISOString(),
    since: new Date(now).toISOString(),
    message: describeChange(was, series),
    url: pageOf(hubId),
  }
}

function describeChange(was: Series, { usage, limit, percent }: Series): string {
  const used = formatCount(usage)
  if (limit === null) {
    const before = formatCount(was.limit ?? 0)
    return `The provider reports no limit any more (it was ${before}): usage is ${used}, and no share of it can be told.`
  }
  const now = `usage is now ${formatPercent(percent ?? 0)} (${used})`
  if (was.limit === null) return `There is a limit now, ${formatCount(limit)}, where none was reported before: ${now}.`
  const way = limit < was.limit ? 'down' : 'up'
  return `The limit went ${way} from ${formatCount(was.limit)} to ${formatCount(limit)}: ${now}.`
}
