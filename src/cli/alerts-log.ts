import type { Alert, AlertLevel } from '../alerts/alert.ts'
import { subjectOf } from '../alerts/open-alerts.ts'
import { seriesName } from '../alerts/series-name.ts'
import { formatMoment, formatTime } from '../text/format-time.ts'
import { forgottenUntil, readAlertLog, transitionJson, whyOf, whyPending } from '../views/alert-log.ts'
import type { AccountArgument, CommonOptions, Moment } from './arguments.ts'
import { type Io, printJson } from './io.ts'
import { hubIdNamed } from './named-account.ts'
import { say } from './say.ts'
import { accountCells, ageCell, named, number, printTable, prose, spare, state, usageCell, whole } from './table.ts'
import { withStore } from './with-parts.ts'

interface LogOptions extends CommonOptions {
  since?: Moment
  account?: AccountArgument
  level?: AlertLevel
}

const DAY_MS = 86_400_000

/** `plimsoll alerts log`: what was committed, by time, and its outcome. */
export async function log(io: Io, options: LogOptions): Promise<void> {
  const now = io.clock.now()
  const { since: from = () => now - DAY_MS, account, level } = options
  const { since, found, held, forgotten } = await withStore(io, options, async (parts) => {
    const since = from()
    const query = {
      since,
      ...(account === undefined ? {} : { hubId: await hubIdNamed(parts, account) }),
      ...(level === undefined ? {} : { level }),
    }
    const logged = await readAlertLog(parts, query)
    const receivers = Object.keys(parts.config.receivers)
    const [held, forgotten] = await Promise.all([
      whyPending({ ...parts, receivers }, logged),
      forgottenUntil(parts, query),
    ])
    return { since, found: logged, held, forgotten }
  })
  if (forgotten !== undefined) {
    io.err(
      `plimsoll: what alerts did before ${formatMoment(forgotten)} is not all kept: some of it may be missing here\n`,
    )
  }
  const json = () => found.map((one) => transitionJson(one, held))
  if (options.json === true) return printJson(io, 'alerts log', json())
  if (found.length === 0) return say(io, `no alert did anything since ${formatMoment(since)}`)
  printTable(
    io,
    [
      ...[whole('AGE'), state('LEVEL'), whole('REASON'), whole('HUB ID'), spare('DOMAIN'), named('WHAT')],
      ...[spare(number('USAGE')), state('FATE'), prose('WHY'), spare(whole('AT')), spare('ID')],
    ],
    found.map(({ transition, alert, fate }) => [
      ...[ageCell(alert.measuredAt, now), alert.level, alert.reason, ...accountCells(alert.account ?? { hubId: null })],
      ...[whatOf(alert), usageCell(alert), fate.is, whyOf({ transition, alert, fate }, held)],
      ...[formatTime(alert.measuredAt), alert.id],
    ]),
  )
}

/** As the list of open alerts calls it. Of the fleet and of receivers a transition has no other name than its rule's. */
function whatOf({ kind, level, rule, cause, series }: Alert): string {
  if (series !== undefined) return seriesName(series)
  if (kind === 'fleet' || kind === 'delivery') return rule
  return subjectOf({ kind, field: '', level, rule, ...(cause === undefined ? {} : { cause }) })
}
