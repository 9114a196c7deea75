import { parsePlace } from '../accounts/search/account-query.ts'
import { seriesName } from '../alerts/series-name.ts'
import { accountCells, percentCell } from '../text/cells.ts'
import { named, spare, whole } from '../text/columns.ts'
import { formatDaysLeft } from '../text/format-number.ts'
import { formatTime } from '../text/format-time.ts'
import { UpcomingShape } from '../views/shapes/upcoming.ts'
import { fullText, noneUpcomingText, readUpcoming, recordText, upcomingText } from '../views/upcoming.ts'
import { operation } from './operation.ts'
import { wrongField } from './refusal.ts'

export const upcoming = operation({
  id: 'listUpcoming',
  route: 'GET /upcoming',
  is: 'show which accounts reach a limit in the next 30 days, by forecast',
  description: 'Soonest first. An account that moves between two pages may be listed twice or not at all.',
  takes: {},
  gives: UpcomingShape,
  pages: { cursor: /^.{1,60}$/, max: 'most accounts to show' },
  example: { query: { limit: '2' } },
  examples: ['--max 20'],
  reads: (deps, { page: { limit, after }, now }) => readUpcoming(deps, { limit, after: placeIn(after) }, now),
  show: (found) => {
    const { accounts, items, full, record } = found
    const columns = [whole('HUB ID'), 'DOMAIN', named('WHAT'), spare(whole('%')), whole('LEFT'), whole('EXPECTED')]
    const rows = items.map((item) => [
      ...accountCells(item),
      seriesName(item),
      percentCell(item.percent),
      formatDaysLeft(item.daysLeft, item),
      formatTime(item.expectedAt).slice(0, 10),
    ])
    return [
      accounts === 0 ? noneUpcomingText(found) : upcomingText(accounts),
      ...(items.length > 0 ? ['', { columns, rows }, ''] : []),
      ...(full.accounts > 0 ? [`${fullText(full.accounts)}.`] : []),
      recordText(record),
    ]
  },
})

/** In this list each account has a key. */
function placeIn(after: string | undefined) {
  const place = after === undefined ? undefined : parsePlace(after, 'nearest')
  if (after !== undefined && place?.key === undefined) throw wrongField('after', 'is no place in this list')
  return place
}
