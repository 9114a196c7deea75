import { seriesName } from '../alerts/series-name.ts'
import { countOf, formatCount, formatPercent } from '../text/format-number.ts'
import { formatMoment } from '../text/format-time.ts'
import type { PlanSummary } from '../views/plan/plan-thresholds.ts'
import { FLAP_MS, type TallyResult } from '../views/plan/tally.ts'
import type { Io } from './io.ts'
import { say } from './say.ts'
import { named, number, printTable, state, whole } from './table.ts'
import type { PlanContext } from './thresholds-context.ts'

const SIDES = ['NOW', 'NEW'] as const

/** What would have been told so far, by either set of rules. */
export function printReplay(io: Io, { replay }: PlanSummary): void {
  const { from, to, before, after, offenders } = replay
  const span = `from ${formatMoment(from)} to ${formatMoment(to)}`
  say(io, '', `what would have been sent ${span}, by the rules of now and by the new ones:`, '')
  printTable(io, ['', ...SIDES.map(number)], overallRows(before, after))
  const counts = countRows(before, after)
  if (counts.length > 0) {
    io.out('\n')
    printTable(io, ['RULE', state('LEVEL'), 'REASON', ...SIDES.map(number)], counts)
  }
  if (offenders.length === 0) return
  say(io, '', 'most often told of:', '')
  printTable(
    io,
    [whole('HUB ID'), 'DOMAIN', named('SERIES'), ...SIDES.map(number)],
    offenders.map((one) => [
      ...[String(one.hubId), one.hubDomain, seriesName(one.series)],
      ...[formatCount(one.before), formatCount(one.after)],
    ]),
  )
}

function overallRows(before: TallyResult, after: TallyResult): string[][] {
  const row = (name: string, value: (tally: TallyResult) => string) => [name, value(before), value(after)]
  const receivers = [...new Set([...before.messages.keys(), ...after.messages.keys()])].sort()
  return [
    row('transitions', ({ transitions }) => formatCount(transitions)),
    row('alerts opened', ({ entered }) => formatCount(entered)),
    row(`of these flaps (over within ${FLAP_MS / 3_600_000} h)`, ({ flaps, entered }) => flapsText(flaps, entered)),
    row('repeats', ({ repeats }) => formatCount(repeats)),
    ...receivers.map((receiver) =>
      row(`messages to ${receiver}, estimated`, ({ messages }) => messagesText(messages.get(receiver))),
    ),
    ...(before.unrouted + after.unrouted === 0
      ? []
      : [row('transitions that no route is for', ({ unrouted }) => formatCount(unrouted))]),
  ]
}

function flapsText(flaps: number, entered: number): string {
  return flaps === 0 ? '0' : `${formatCount(flaps)} (${formatPercent((flaps * 100) / entered)})`
}

function messagesText(estimated: { messages: number; truncated: number } | undefined): string {
  if (estimated === undefined) return '0'
  const { messages, truncated } = estimated
  return truncated === 0
    ? formatCount(messages)
    : `${formatCount(messages)} (${countOf(truncated, 'alert')} only counted)`
}

/** By what both sets of rules told, the most frequent first. */
function countRows(before: TallyResult, after: TallyResult): string[][] {
  const rows = new Map<string, { cells: string[]; before: number; after: number }>()
  for (const [side, { counts }] of [['before', before] as const, ['after', after] as const]) {
    for (const { rule, level, reason, count } of counts) {
      const key = JSON.stringify([rule, level, reason])
      const row = rows.get(key) ?? { cells: [rule, level, reason], before: 0, after: 0 }
      row[side] = count
      rows.set(key, row)
    }
  }
  return [...rows.values()]
    .sort((a, b) => Math.max(b.before, b.after) - Math.max(a.before, a.after))
    .map((row) => [...row.cells, formatCount(row.before), formatCount(row.after)])
}

export function printNotes(io: Io, context: PlanContext, summary: PlanSummary): void {
  io.out('\n')
  for (const note of notesOf(context, summary)) say(io, `- ${note}`)
}

/** What the history can't tell, and what the replay leaves out. */
export function notesOf({ zones, asksForecasts }: PlanContext, { replay }: PlanSummary): string[] {
  const { from, knownFrom } = replay
  const { rawFrom, hourlyFrom } = zones
  const isShort = knownFrom === null || knownFrom > from
  return [
    ...(isShort ? [`The history begins ${knownFrom === null ? 'with the next poll' : formatMoment(knownFrom)}.`] : []),
    ...(from < rawFrom
      ? [
          `Every change is kept since ${formatMoment(rawFrom)} (limits.history.raw); before that one an hour` +
            `${from < hourlyFrom ? `, before ${formatMoment(hourlyFrom)} one a day` : ''}: what came and went in between is not seen.`,
        ]
      : []),
    'Polls that found nothing changed are not kept: between two changes they are taken to have come every limits.every.',
    ...(asksForecasts
      ? [
          "daysLeft is judged by forecasts told anew for each day, from the history as it was then, as from the day's start.",
        ]
      : []),
    'Messages are an estimate from alerts.group and routes. Silences, quiet hours, acknowledgements, and alerts about ' +
      'tokens, polls and the fleet are left out.',
  ]
}
