import type { Series } from '../../limits/series.ts'
import { defined } from '../../runtime/defined.ts'
import { formatCount, formatPercent } from '../../text/format-number.ts'
import type { Alert, AlertLevel } from '../alert.ts'
import { alertId } from '../alert-state.ts'
import { seriesFields } from '../series-name.ts'

const RULE = 'limit-changed'

/** A series as the poll before read it, if it was there. */
export interface SeriesBefore {
  series: Series | undefined
  level: AlertLevel | 'ok'
  /** ms */
  at: number | undefined
}

interface ReadLimit {
  account: { hubId: number; hubDomain: string }
  before: SeriesBefore
  series: Series
  now: number
  url: string
}

/**
 * The alert about a limit that moved, up or down, between two readings of a series: usage that is nearer to it did not
 * grow. It is an event: nothing stays open, so nothing is ever resolved. Its id follows from account, series and the
 * moment of the poll.
 */
export function limitChangedAlert({ account, before, series, now, url }: ReadLimit): Alert | undefined {
  const { hubId, hubDomain } = account
  const { series: was, at } = before
  if (was === undefined || at === undefined || !hasMoved(was, series)) return undefined
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
      ...defined({ limit: was.limit ?? undefined }),
      measuredAt: new Date(at).toISOString(),
    },
    measuredAt: new Date(now).toISOString(),
    since: new Date(now).toISOString(),
    message: describeChange(was, series),
    url,
  }
}

type Limited = Pick<Series, 'limit'>

/** An unknown limit, absent or unreadable, never counts as moved. */
export function hasMoved(was: Limited, is: Limited): boolean {
  return was.limit !== null && is.limit !== null && was.limit !== is.limit
}

function describeChange(was: Limited, { usage, limit, percent }: Series): string {
  const [before, now] = [was.limit ?? 0, limit ?? 0]
  const direction = now < before ? 'down' : 'up'
  const used = `usage is now ${formatPercent(percent ?? 0)} (${formatCount(usage)})`
  return `The limit went ${direction} from ${formatCount(before)} to ${formatCount(now)}: ${used}.`
}
