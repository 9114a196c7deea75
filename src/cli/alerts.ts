import type { Command } from 'commander'
import { readOpenAlerts, subjectOf } from '../alerts/open-alerts.ts'
import { timedAlert } from '../views/open-alert-json.ts'
import { withMarks } from '../views/silenced.ts'
import { addAck } from './alerts-ack.ts'
import { addAlertsExplain } from './alerts-explain.ts'
import { addAlertsLog } from './alerts-log.ts'
import { addSilences } from './alerts-silence.ts'
import { addAlertsTest } from './alerts-test.ts'
import { type Io, printJson } from './io.ts'
import { type CommonOptions, withConfig, withExample, withJson } from './options.ts'
import { say } from './say.ts'
import { accountCells, howFull, momentCell, named, number, printTable, spare, state, whole } from './table.ts'
import { withParts } from './with-parts.ts'

export function addAlerts(program: Command, io: Io): void {
  const alerts = program
    .command('alerts')
    .description('alerts: what is open, what was; silence, acknowledge, test receivers')
  withExample(withJson(withConfig(alerts.command('list'))), 'plimsoll alerts list')
    .description('list the alerts that are open, worst first')
    .action((options: CommonOptions) => list(io, options))
  addAlertsLog(alerts, io)
  addAck(alerts, io)
  addSilences(alerts, io)
  addAlertsExplain(alerts, io)
  addAlertsTest(alerts, io)
}

async function list(io: Io, options: CommonOptions): Promise<void> {
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
