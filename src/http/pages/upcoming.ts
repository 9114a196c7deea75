import type { FastifyRequest } from 'fastify'
import { seriesName } from '../../alerts/series-name.ts'
import { upcoming } from '../../operations/upcoming.ts'
import { formatCount, formatDaysLeft } from '../../text/format-number.ts'
import { formatTime } from '../../text/format-time.ts'
import { type Html, html } from '../../text/html.ts'
import { fullText, noneUpcomingText, recordText, type Upcoming, upcomingText } from '../../views/upcoming.ts'
import { readForPage } from '../field-schemas.ts'
import type { WebDeps } from '../web-deps.ts'
import type { OperatorPage } from './page.ts'
import { accountLink, fullness } from './parts/cells.ts'
import { withQuery } from './parts/forms.ts'
import { htmlTable, nothing } from './parts/tables.ts'

const ACCOUNTS_A_PAGE = 50

/** Accounts that reach a limit next, and when; full limits; and how many forecasts came true. */
export async function showUpcoming(deps: WebDeps, request: FastifyRequest): Promise<OperatorPage> {
  const found = await readForPage(upcoming, deps, request, ACCOUNTS_A_PAGE)
  const { accounts, items, next, record } = found
  const isLater = ((request.query as { after?: string }).after ?? '') !== ''
  const body = html`<div data-live="upcoming">
${accounts === 0 ? undefined : html`<p>${upcomingText(accounts)}</p>`}
${items.length === 0 ? nothing(accounts === 0 ? noneUpcomingText(found) : 'No account is left on this page.') : upcomingTable(items)}
${pager(next, isLater)}
<p class="soft">${recordText(record)}</p>
${fullAccounts(found)}
</div>`
  return { at: '/upcoming', title: 'Upcoming', body }
}

function upcomingTable(items: Upcoming['items']): Html {
  return htmlTable(
    'Upcoming limits',
    ['Account', 'What', 'Used', 'Days left', 'Expected'],
    items.map((item) => [
      accountLink(item),
      withMore(seriesName(item), item),
      fullness(item),
      upcomingDays(item),
      html`<time datetime="${item.expectedAt}">${formatTime(item.expectedAt).slice(0, 10)}</time>`,
    ]),
  )
}

/** Days left with their range, in a cell. */
export function upcomingDays({ daysLeft, earliest, latest }: Upcoming['items'][number]): string {
  return formatDaysLeft(daysLeft, { earliest, latest })
}

function withMore(name: string, { hubId, more }: { hubId: number; more: number }): Html {
  if (more === 0) return html`${name}`
  return html`${name} <a class="soft" href="/accounts/${hubId}">and ${formatCount(more)} more</a>`
}

function pager(next: string | undefined, isLater: boolean): Html | undefined {
  if (next === undefined && !isLater) return undefined
  return html`<nav class="row" aria-label="Pages">
${isLater ? html`<a href="/upcoming">First page</a>` : undefined}
${next === undefined ? undefined : html`<a rel="next" href="${withQuery('/upcoming', { after: next })}">Later limits</a>`}
</nav>`
}

/** Folded: full limits need no forecast, and alerts name them. A link to a row inside opens it. */
function fullAccounts({ full }: Upcoming): Html | undefined {
  if (full.accounts === 0) return undefined
  const isMore = full.accounts > full.items.length
  return html`<details><summary>${fullText(full.accounts)}</summary>
<div id="full">${htmlTable(
    'Accounts that are full',
    ['Account', 'What', 'Used'],
    full.items.map((item) => [accountLink(item), withMore(seriesName(item), item), fullness(item)]),
  )}
${isMore ? html`<p><a href="/accounts?sort=nearest">All accounts, nearest limit first</a></p>` : undefined}</div></details>`
}
