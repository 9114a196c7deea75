import type { Command } from 'commander'
import type { AlertKind, AlertLevel } from '../alerts/alert.ts'
import { type OpenAlert, subjectOf } from '../alerts/open-alerts.ts'
import type { Stores } from '../app/stores.ts'
import { findAlerts, type OpenAlertFilter, timedAlert } from '../views/find-alerts.ts'
import type { CommonOptions } from './arguments.ts'
import { type Io, printJson } from './io.ts'
import { say } from './say.ts'
import { accountCells, ageCell, named, number, printTable, spare, state, usageCell, whole } from './table.ts'
import { carriersOf, showing, withStore } from './with-parts.ts'

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
  await showing(
    io,
    options,
    withStore,
    (parts) => find(parts, options, command),
    (alerts) => print(io, alerts, options),
  )
}

async function find(parts: Stores, options: ListOptions, command: Command): Promise<OpenAlert[]> {
  const { state: mark, level, kind, tag, search: account, sort } = options
  const carriers = tag === undefined ? undefined : carriersOf(parts.config, tag, command)
  const now = parts.clock.now()
  const silences = await parts.silences.active(now)
  const all = { accounts: Number.POSITIVE_INFINITY, alerts: Number.POSITIVE_INFINITY }
  const { alerts } = await findAlerts(parts, { mark, level, kind, carriers, account }, silences, all, now)
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
