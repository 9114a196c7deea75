import { seriesName } from '../alerts/series-name.ts'
import { accountCells, percentCell } from '../text/cells.ts'
import { named, spare, whole } from '../text/columns.ts'
import { formatDaysLeft } from '../text/format-number.ts'
import { formatTime } from '../text/format-time.ts'
import { fullText, noneUpcomingText, readUpcoming, recordText, upcomingText } from '../views/upcoming.ts'
import type { CommonOptions } from './arguments.ts'
import { type Io, printJson } from './io.ts'
import { say } from './say.ts'
import { printTable } from './table.ts'
import { withStore } from './with-parts.ts'

/** `plimsoll upcoming`: which account reaches a limit next, and when. */
export async function listUpcoming(io: Io, options: CommonOptions & { max: number }): Promise<void> {
  const upcoming = await withStore(io, options, (parts) => readUpcoming(parts, { limit: options.max }, io.clock.now()))
  if (options.json === true) return printJson(io, 'upcoming', upcoming)
  const { accounts, items, full, record } = upcoming
  say(io, accounts === 0 ? noneUpcomingText(upcoming) : upcomingText(accounts))
  if (items.length > 0) {
    io.out('\n')
    printTable(
      io,
      [whole('HUB ID'), 'DOMAIN', named('WHAT'), spare(whole('%')), whole('LEFT'), whole('EXPECTED')],
      items.map((item) => [
        ...accountCells(item),
        seriesName(item),
        percentCell(item.percent),
        formatDaysLeft(item.daysLeft, item),
        formatTime(item.expectedAt).slice(0, 10),
      ]),
    )
    io.out('\n')
  }
  if (full.accounts > 0) say(io, `${fullText(full.accounts)}.`)
  say(io, recordText(record))
}
