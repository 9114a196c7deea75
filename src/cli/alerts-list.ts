import type { Command } from 'commander'
import type { Alert, AlertKind, AlertLevel } from '../alerts/alert.ts'
import { type OpenAlert, subjectOf } from '../alerts/open-alerts.ts'
import { seriesName } from '../alerts/series-name.ts'
import type { Stores } from '../app/stores.ts'
import type { Moment } from '../operations/field.ts'
import { accountCells, ageCell, usageCell } from '../text/cells.ts'
import { named, number, prose, spare, state, whole } from '../text/columns.ts'
import { formatMoment, formatTime } from '../text/format-time.ts'
import { forgottenUntil, readAlertLog, transitionJson } from '../views/alert-log.ts'
import { findAlerts, type OpenAlertFilter, timedAlert } from '../views/find-alerts.ts'
import type { AccountArgument, CommonOptions } from './arguments.ts'
import { type Io, printJson } from './io.ts'
import { say } from './say.ts'
import { printTable } from './table.ts'
import { carriersOf, hubIdNamed, showing, withStore } from './with-parts.ts'

interface ListOptions extends CommonOptions {
  state?: NonNullable<OpenAlertFilter['mark']>
  level?: AlertLevel
  kind?: AlertKind
  tag?: string
  search?: string
  sort: keyof typeof ORDERS
  watch?: boolean
}

/** Of a list that has the worst first. */
const ORDERS = {
  worst: () => 0,
  newest: (a: OpenAlert, b: OpenAlert) => b.since - a.since,
  account: (a: OpenAlert, b: OpenAlert) => (a.hubId ?? 0) - (b.hubId ?? 0),
}

/** `plimsoll alerts list`. */
export async function listAlerts(io: Io, options: ListOptions, command: Command): Promise<void> {
  await showing(io, options, {
    open: withStore,
    read: (parts) => find(parts, options, command),
    print: (alerts) => print(io, alerts, options),
  })
}

async function find(parts: Stores, options: ListOptions, command: Command): Promise<OpenAlert[]> {
  const { state: mark, level, kind, tag, search: account, sort } = options
  const carriers = tag === undefined ? undefined : carriersOf(parts.config, tag, command)
  const now = parts.clock.now()
  const silences = await parts.silences.active(now)
  const all = { accounts: Number.POSITIVE_INFINITY, alerts: Number.POSITIVE_INFINITY }
  const { alerts } = await findAlerts(parts, { mark, level, kind, carriers, account, silences }, all, now)
  return alerts.sort(ORDERS[sort])
}

function print(io: Io, alerts: readonly OpenAlert[], { state: mark, level, kind, tag, search, json }: ListOptions) {
  if (json === true) return printJson(io, 'alerts list', alerts.map(timedAlert))
  const isFiltered = [mark, level, kind, tag, search].some((given) => given !== undefined)
  if (alerts.length === 0) return say(io, isFiltered ? 'no open alert matches' : 'no alert is open')
  const now = io.clock.now()
  printTable(
    io,
    [
      ...[state('LEVEL'), whole('HUB ID'), spare('DOMAIN'), named('WHAT'), number('USAGE'), spare(whole('AGE'))],
      ...[whole('SILENCED'), 'ACK BY', whole('ID')],
    ],
    alerts.map((alert) => [
      ...[alert.level, ...accountCells(alert), subjectOf(alert), usageCell(alert), ageCell(alert.since, now)],
      ...[alert.silencedBy ?? '', alert.acknowledged?.by ?? ''],
      io.isTerminal ? alert.id.slice(0, ID_BEGINNING) : alert.id,
    ]),
  )
}

/** As much of an id as `alerts ack` needs, where room is scarce. */
const ID_BEGINNING = 8

interface LogOptions extends CommonOptions {
  since?: Moment
  account?: AccountArgument
  level?: AlertLevel
}

const DAY_MS = 86_400_000

/** `plimsoll alerts log`: what was committed, by time, and its outcome. */
export async function listTransitions(io: Io, options: LogOptions): Promise<void> {
  const now = io.clock.now()
  const { since: from = (until) => until - DAY_MS, account, level } = options
  const { since, found, forgotten } = await withStore(io, options, async (parts) => {
    const since = from(now)
    const query = {
      since,
      ...(account === undefined ? {} : { hubId: await hubIdNamed(parts, account) }),
      ...(level === undefined ? {} : { level }),
    }
    const logged = await readAlertLog(parts, query)
    return { since, found: logged, forgotten: await forgottenUntil(parts, query) }
  })
  if (forgotten !== undefined) {
    io.err(
      `plimsoll: what alerts did before ${formatMoment(forgotten)} is not all kept: some of it may be missing here\n`,
    )
  }
  const json = () => found.map(transitionJson)
  if (options.json === true) return printJson(io, 'alerts log', json())
  if (found.length === 0) return say(io, `no alert changed since ${formatMoment(since)}`)
  printTable(
    io,
    [
      ...[whole('AGE'), state('LEVEL'), whole('REASON'), whole('HUB ID'), spare('DOMAIN'), named('WHAT')],
      ...[
        spare(number('USAGE')),
        state('FATE'),
        prose('WHY'),
        spare(whole('AT')),
        spare('ID'),
        spare(prose('RECEIVERS')),
      ],
    ],
    found.map(({ alert, fate, receivers }) => [
      ...[ageCell(alert.measuredAt, now), alert.level, alert.reason, ...accountCells(alert.account ?? { hubId: null })],
      ...[whatOf(alert), usageCell(alert), fate.is, fate.why],
      ...[formatTime(alert.measuredAt), alert.id, receivers.map(({ receiver, is }) => `${receiver} ${is}`).join(', ')],
    ]),
  )
}

/** As the list of open alerts calls it. Of the fleet and of receivers a transition has no other name than its rule's. */
function whatOf({ kind, level, rule, cause, series }: Alert): string {
  if (series !== undefined) return seriesName(series)
  if (kind === 'fleet' || kind === 'delivery') return rule
  return subjectOf({ kind, field: '', level, rule, ...(cause === undefined ? {} : { cause }) })
}
