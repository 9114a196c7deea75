import { countedRecords, countsRecords, seriesName } from '../alerts/series-name.ts'
import { decodeTurn, type Near, type RisingSeries, type TurnBecause } from '../limits/polling/poll-turn.ts'
import { parseSeriesId, type Series } from '../limits/series.ts'
import { formatCount, formatDays, formatPercent } from '../text/format-number.ts'
import { formatMoment } from '../text/format-time.ts'

/** Series by id, for the names that the account gives its object types; without them their ids are told. */
export type Labels = ReadonlyMap<string, Pick<Series, 'label'>>

const NO_LABELS: Labels = new Map()

/**
 * Why an account is polled next when it is: what follows `because` in a sentence. Labels are made harmless.
 *
 * @param stored as the account's record keeps it
 * @returns undefined where nothing is known, for example before the first poll
 */
export function pollBecause(stored: string | null, labels: Labels = NO_LABELS): string | undefined {
  const turn = decodeTurn(stored ?? undefined)
  return turn === undefined ? undefined : reason(turn.because, labels)
}

function reason(because: TurnBecause, labels: Labels): string {
  switch (because.is) {
    case 'near':
      return nearness(because, labels)
    case 'rising':
      return rise(because, labels)
    case 'changed':
      return `its numbers last changed at ${formatMoment(because.at)}`
    case 'new':
      return 'it was just connected and got a turn of its own'
    case 'still':
      return 'it is its regular turn, and nothing asks for an earlier one'
    case 'failed':
      return 'the last poll failed'
    case 'told':
      return 'the provider asked to wait until then'
    case 'budget':
      return `${reason(because.instead, labels)}; it was due earlier, but limits.callsPerHour had no room`
  }
}

function nearness({ series, usage, limit, level, move, asks, of }: Near, labels: Labels): string {
  const name = nameOf(series, labels)
  const turning = `${level} ${move === 'enter' ? `from ${entered(asks, of)}` : `until ${left(asks, of)}`}`
  if (countsRecords(name)) return `${countedRecords(name, usage)} (${turning})`
  const standing =
    limit === null
      ? formatCount(usage)
      : asks === 'percent'
        ? formatPercent((usage * 100) / limit)
        : `${formatCount(usage)} of ${formatCount(limit)}`
  return `${seriesName(name)} ${isOrAre(name.metric)} at ${standing} (${turning})`
}

function entered(asks: Near['asks'], of: number): string {
  if (asks === 'percent') return formatPercent(of)
  return asks === 'count' ? formatCount(of) : `${formatCount(of)} left`
}

function left(asks: Near['asks'], of: number): string {
  if (asks === 'remaining') return `more than ${formatCount(of)} are left`
  return `below ${asks === 'percent' ? formatPercent(of) : formatCount(of)}`
}

function rise({ series, days, to }: RisingSeries, labels: Labels): string {
  const name = nameOf(series, labels)
  const rises = isOrAre(name.metric) === 'is' ? 'rises' : 'rise'
  const target = to === 'limit' ? 'its limit' : to
  return `${seriesName(name)} ${rises}: at this pace ${target} in ${formatDays(days)}`
}

function nameOf(series: string, labels: Labels) {
  const label = labels.get(series)?.label
  const name = parseSeriesId(series) ?? { metric: series }
  return label === undefined ? name : { ...name, label }
}

function isOrAre(metric: string): 'is' | 'are' {
  return metric === 'associations.fullest' ? 'is' : 'are'
}
