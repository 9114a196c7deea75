import { readOpenAlerts, subjectOf } from '../alerts/open-alerts.ts'
import { timedAlert } from '../views/open-alert-json.ts'
import { withMarks } from '../views/silenced.ts'
import type { CommonOptions } from './arguments.ts'
import { type Io, printJson } from './io.ts'
import { say } from './say.ts'
import { accountCells, howFull, momentCell, named, number, printTable, spare, state, whole } from './table.ts'
import { withParts } from './with-parts.ts'

/** `plimsoll alerts list`. */
export async function list(io: Io, options: CommonOptions): Promise<void> {
  const now = io.clock.now()
  const alerts = await withParts(io, options.config, async ({ store, keys, registry, silences }) =>
    withMarks(await readOpenAlerts(store, keys, await registry.alerting()), await silences.active(now), now),
  )
  if (options.json === true) {
    return printJson(io, 'alerts list', alerts.map(timedAlert))
  }
  if (alerts.length === 0) return say(io, 'no alert is open')
  printTable(
    io,
    [
      ...[state('LEVEL'), whole('HUB ID'), spare('DOMAIN'), named('WHAT'), number('HOW FULL'), spare(whole('SINCE'))],
      ...[whole('SILENCED'), 'ACK BY', whole('ID')],
    ],
    alerts.map((alert) => [
      alert.level,
      ...accountCells(alert),
      subjectOf(alert),
      howFull(alert),
      momentCell(alert.since),
      alert.silencedBy ?? '',
      alert.acknowledged?.by ?? '',
      io.isTerminal ? alert.id.slice(0, ID_BEGINNING) : alert.id,
    ]),
  )
}

/** As much of an id as `alerts ack` needs, where room is scarce. */
const ID_BEGINNING = 8
