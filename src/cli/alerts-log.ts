import { type Command, Option } from 'commander'
import type { AlertLevel } from '../alerts/alert.ts'
import { seriesName } from '../alerts/series-name.ts'
import { type LoggedTransition, readAlertLog } from '../views/alert-log.ts'
import { type Io, printJson } from './io.ts'
import { parseTime } from './moment.ts'
import { type CommonOptions, parseHubId, withConfig, withExample, withJson } from './options.ts'
import { accountCells, printTable, timeCell } from './table.ts'
import { withParts } from './with-parts.ts'

interface LogOptions extends CommonOptions {
  since?: number
  account?: number
  level?: AlertLevel
}

const DAY_MS = 86_400_000

/** `plimsoll alerts log`: what was committed, by time, and what became of it. */
export function addAlertsLog(alerts: Command, io: Io): void {
  withExample(
    withJson(withConfig(alerts.command('log')))
      .addOption(
        new Option('--since <time>', 'ISO 8601, or how long ago; default: 24h').argParser((text) =>
          parseTime(text, io.clock.now()),
        ),
      )
      .addOption(new Option('--account <hubId>', 'of one account').argParser(parseHubId))
      .addOption(new Option('--level <level>', 'of one level').choices(['warning', 'critical'])),
    'plimsoll alerts log --since 2h --account 1234567',
  )
    .description('list what alerts did, and what became of each: pending, delivered, dead, withheld')
    .action((options: LogOptions) => log(io, options))
}

async function log(io: Io, options: LogOptions): Promise<void> {
  const { since = io.clock.now() - DAY_MS, account, level } = options
  const query = {
    since,
    ...(account === undefined ? {} : { hubId: account }),
    ...(level === undefined ? {} : { level }),
  }
  const found = await withParts(io, options.config, (parts) => readAlertLog(parts, query))
  if (options.json === true) return printJson(io, found.map(jsonOf))
  printTable(
    io,
    ['AT', 'LEVEL', 'REASON', 'HUB ID', 'DOMAIN', 'WHAT', '%', 'FATE', 'WHY', 'ID'],
    found.map(({ alert, fate }) => [
      timeCell(alert.measuredAt),
      alert.level,
      alert.reason,
      ...accountCells(alert.account ?? { hubId: null }),
      alert.series === undefined ? alert.rule : seriesName(alert.series),
      alert.percent === undefined ? '' : String(alert.percent),
      fate.is,
      whyOf(fate),
      alert.id,
    ]),
  )
}

function jsonOf({ transition, alert, fate }: LoggedTransition): object {
  return { at: alert.measuredAt, transition, fate: fate.is, ...(whyOf(fate) === '' ? {} : { why: whyOf(fate) }), alert }
}

function whyOf(fate: LoggedTransition['fate']): string {
  return 'why' in fate ? fate.why : ''
}
