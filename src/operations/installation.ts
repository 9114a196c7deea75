import * as z from 'zod'
import { parsePlace } from '../accounts/search/account-query.ts'
import { alertTitle } from '../alerts/alert-title.ts'
import { readChanges } from '../alerts/read-changes.ts'
import { seriesName } from '../alerts/series-name.ts'
import { readFleetStatus } from '../checks/fleet-status.ts'
import { type ChangedAccount, changeText, describeChanges } from '../delivery/describe/describe-changes.ts'
import { seriesId } from '../limits/series.ts'
import { accountCells, ageCell, percentCell, usageCell } from '../text/cells.ts'
import { named, number, prose, spare, state, whole } from '../text/columns.ts'
import { countOf, formatCount, formatDaysLeft } from '../text/format-number.ts'
import { formatTime } from '../text/format-time.ts'
import type { Cell } from '../text/shown.ts'
import { EXIT_CODES } from '../views/check-fleet.ts'
import { readCoverage } from '../views/fleet-health.ts'
import { FleetChangesShape } from '../views/shapes/changes.ts'
import { CoverageShape, FleetStatusShape } from '../views/shapes/fleet-status.ts'
import { type FullAccountShape, type UpcomingLimitShape, UpcomingShape } from '../views/shapes/upcoming.ts'
import { fullText, noneUpcomingText, readUpcoming, recordText, upcomingText } from '../views/upcoming.ts'
import { cursorField, limitField, momentField } from './input.ts'
import { operation } from './operation.ts'
import { wrongField } from './refusal.ts'
import { statusFacts } from './status-facts.ts'

export const showStatus = operation({
  id: 'showStatus',
  method: 'GET',
  path: '/status',
  summary: 'show all accounts at a glance',
  input: z.strictObject({}),
  output: FleetStatusShape,
  answers: { 200: 'How the fleet is.' },
  command: {
    name: 'status',
    examples: ['--config config/plimsoll.yaml', '--exit-code'],
    isWatched: true,
    exitCodeOption: 'end with 0 where nothing needs action, 1 at a warning, 2 at critical, 3 unknown',
  },
  run: (deps) => readFleetStatus(deps),
  exitCode: ({ verdict }) => EXIT_CODES[verdict.level],
  // The verdict, troubles that need action, then everything else.
  table: (fleet, { now }) => {
    const { worst, critical, warning } = fleet.alerts
    const { says, troubles } = fleet.verdict
    const toDo = {
      columns: [state('LEVEL'), whole('TO DO'), prose('WHAT')],
      rows: troubles.map((one) => [one.level, one.verb, one.says]),
    }
    const alerts = {
      columns: [state('LEVEL'), whole('HUB ID'), spare('DOMAIN'), named('WHAT'), number('USAGE'), spare(whole('AGE'))],
      rows: worst.map((alert) => [
        alert.level,
        ...accountCells(alert),
        alertTitle(alert),
        usageCell(alert),
        ageCell(alert.since, now),
      ]),
    }
    const more = critical + warning - worst.length
    return [
      says,
      '',
      ...(troubles.length > 1 ? [toDo, ''] : []),
      ...(worst.length > 0 ? [alerts] : []),
      ...(worst.length > 0 && more > 0 ? [`and ${countOf(more, 'more alert')}: plimsoll alerts list shows all`] : []),
      ...(worst.length > 0 ? [''] : []),
      { facts: statusFacts(fleet, now) },
    ]
  },
})

export const showCoverage = operation({
  id: 'showCoverage',
  method: 'GET',
  path: '/coverage',
  summary: 'how far readings can be relied on',
  description: 'The accounts without a fresh reading are those of `/accounts?stale=true`.',
  input: z.strictObject({}),
  output: CoverageShape,
  answers: { 200: 'The coverage now.' },
  run: ({ coverage }, { now }) => readCoverage(coverage, now),
})

export const listChanges = operation({
  id: 'listChanges',
  method: 'GET',
  path: '/changes',
  summary: 'show what changed: accounts, alerts, limits',
  description:
    'Several changes of one alert, limit or account are one: its first state and its last. `counts` are of all of them, `leftOut` is how many of them `items` does not have; a later `since` has fewer.',
  input: z.strictObject({
    since: momentField('from when on').prefault('24h'),
    limit: limitField(500, 100, 'the most items of each of the four groups'),
  }),
  output: FleetChangesShape,
  example: { query: { since: '24h' } },
  command: { name: 'changes', examples: ['--since 24h'], maxRows: 'most changes of each group' },
  run: (deps, { input: { since, limit }, now }) =>
    readChanges(deps, { since: since(now), until: now, mostOfEach: limit }),
  notes: (found) => {
    const { note } = describeChanges(found)
    return note === undefined ? [] : [`${note.charAt(0).toLowerCase()}${note.slice(1)}`]
  },
  table: (found) => {
    const { line, groups } = describeChanges(found)
    const { items, leftOut } = found
    const isConnect = ({ counted }: ChangedAccount) => counted === '1 account connected'
    const columns = [named('ACCOUNT'), prose('CHANGE'), spare(whole('WHEN'))]
    const tables = groups.flatMap(({ title, accounts }) => {
      const rows = accounts.filter((one) => !isConnect(one)).map((one) => [linked(one), changesOf(one), one.at])
      return rows.length === 0 ? [] : ['', title, { columns, rows }]
    })
    // The line counts all of them, which are many where a fleet is new.
    const connected = groups.flatMap(({ accounts }) => accounts.filter(isConnect)).slice(0, 5)
    const last =
      connected.length === 0 ? [] : ['', `Connected last: ${connected.map(({ subject }) => subject).join(', ')}.`]
    const shown = `Showing ${formatCount(items.length)} of ${countOf(items.length + leftOut, 'change')}.`
    return [line, ...tables, ...last, ...(leftOut === 0 ? [] : ['', shown])]
  },
})

function changesOf({ others, ...worst }: ChangedAccount): string {
  return `${changeText(worst)}${others.length === 0 ? '' : `, and ${countOf(others.length, 'more change')}`}`
}

function linked({ subject, hubId }: ChangedAccount): Cell {
  return hubId === undefined ? subject : { text: subject, href: `/accounts/${hubId}` }
}

export const listUpcoming = operation({
  id: 'listUpcoming',
  method: 'GET',
  path: '/upcoming',
  summary: 'show which accounts reach a limit in the next 30 days, by forecast',
  description: 'Soonest first. An account that moves between two pages may be listed twice or not at all.',
  input: z.strictObject({ limit: limitField(), after: cursorField(/^.{1,60}$/) }),
  output: UpcomingShape,
  example: { query: { limit: '2' } },
  command: { name: 'upcoming', examples: ['--max 20'], maxRows: 'most accounts to show' },
  run: (deps, { input: { limit, after }, now }) => readUpcoming(deps, { limit, after: placeIn(after) }, now),
  table: (found) => {
    const { accounts, items, full, record } = found
    const account = [whole('HUB ID'), 'DOMAIN', named('LIMIT')]
    const columns = [...account, spare(whole('%')), whole('LEFT'), whole('EXPECTED')]
    const reached = full.items.map((item) => [
      ...accountCells(item),
      seriesCell(item),
      `${formatCount(item.usage)} of ${formatCount(item.limit ?? 0)}`,
    ])
    const rows = items.map((item) => [
      ...accountCells(item),
      seriesCell(item),
      percentCell(item.percent),
      formatDaysLeft(item.daysLeft, item),
      formatTime(item.expectedAt).slice(0, 10),
    ])
    return [
      accounts === 0 ? noneUpcomingText(found) : upcomingText(accounts),
      ...(items.length > 0 ? ['', { columns, rows }] : []),
      ...(record.held + record.later + record.sooner > 0 ? ['', recordText(record)] : []),
      ...(full.accounts > 0 ? ['', fullText(full.accounts)] : []),
      ...(reached.length > 0 ? [{ columns: [...account, whole('USED')], rows: reached }] : []),
    ]
  },
})

function seriesCell(item: UpcomingLimitShape | FullAccountShape): Cell {
  return { text: seriesName(item), href: `/accounts/${item.hubId}/series?id=${encodeURIComponent(seriesId(item))}` }
}

/** In this list each account has a key. */
function placeIn(after: string | undefined) {
  const place = after === undefined ? undefined : parsePlace(after, 'nearest')
  if (after !== undefined && place?.key === undefined) throw wrongField('after', 'is no place in this list')
  return place
}
