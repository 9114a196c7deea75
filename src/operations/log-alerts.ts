import { alertTitle } from '../alerts/alert-title.ts'
import { byCommit, type TransitionRef } from '../alerts/transition-log.ts'
import { defined } from '../runtime/defined.ts'
import { accountCells, ageCell, usageCell } from '../text/cells.ts'
import { named, number, prose, spare, state, whole } from '../text/columns.ts'
import { formatMoment, formatTime } from '../text/format-time.ts'
import { forgottenUntil, type LoggedTransition, readAlertLog, transitionJson } from '../views/alert-log.ts'
import { TransitionShape } from '../views/shapes/alert.ts'
import { accountField, choiceField, momentField } from './field.ts'
import { listing } from './operation.ts'
import { ALERT_LEVELS, numberAndId, pageOfList } from './searches.ts'

export const alertLog = listing({
  id: 'listTransitions',
  route: 'GET /transitions',
  is: 'list what alerts did, and the outcome of each: pending, delivered, dead, withheld',
  description: 'The last 1,000 transitions of each of the 64 partitions.',
  takes: {
    since: momentField('from when on', '24h'),
    hubId: accountField('of one account'),
    level: choiceField(ALERT_LEVELS, 'of one level'),
  },
  gives: TransitionShape,
  order: 'Oldest first: what comes meanwhile comes at the end.',
  // The moment and the transition that came last.
  pages: { cursor: /^\d{1,15}\.\d{1,4}(-\d{1,15}){1,2}$/ },
  example: { query: { since: '2026-11-21T00:00:00Z', hubId: '1234567' } },
  examples: ['--since 2h --account 1234567'],
  reads: async (deps, { given: { since: from, hubId, level }, page: { limit, after }, now }) => {
    const query = { since: from(now), ...defined({ hubId, level }) }
    const [logged, forgotten] = await Promise.all([readAlertLog(deps, query), forgottenUntil(deps, query)])
    const sorted = logged.toSorted((a, b) => compare(placeOf(a), placeOf(b)))
    const rest = after === undefined ? sorted : sorted.filter((one) => compare(placeOf(one), numberAndId(after)) > 0)
    const { items, next } = pageOfList(rest, limit, (last) => placeOf(last).join('.'))
    return { items, next, forgotten }
  },
  json: transitionJson,
  notes: ({ forgotten }) =>
    forgotten === undefined
      ? []
      : [`what alerts did before ${formatMoment(forgotten)} is not all kept: some of it may be missing here`],
  show: ({ items }, { given, now }) => {
    if (items.length === 0) return [`no alert changed since ${formatMoment(given.since(now))}`]
    const columns = [
      whole('AGE'),
      state('LEVEL'),
      whole('REASON'),
      whole('HUB ID'),
      spare('DOMAIN'),
      named('WHAT'),
      spare(number('USAGE')),
      state('FATE'),
      prose('WHY'),
      spare(whole('AT')),
      spare('ID'),
      spare(prose('RECEIVERS')),
    ]
    const rows = items.map(({ alert, fate, receivers }) => [
      ageCell(alert.measuredAt, now),
      alert.level,
      alert.reason,
      ...accountCells(alert.account ?? { hubId: null }),
      alertTitle(alert),
      usageCell(alert),
      fate.is,
      fate.why,
      formatTime(alert.measuredAt),
      alert.id,
      receivers.map(({ receiver, is }) => `${receiver} ${is}`).join(', '),
    ])
    return [{ columns, rows }]
  },
})

type Place = readonly [at: number, transition: TransitionRef]

function placeOf({ alert, transition }: LoggedTransition): Place {
  return [Date.parse(alert.measuredAt), transition]
}

/** One order for all pages: those of one moment as they were committed, in several partitions by their names. */
function compare([at, one]: Place, [otherAt, other]: Place): number {
  return at - otherAt || byCommit(one, other) || (one < other ? -1 : Number(one > other))
}
