import { formatCount } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import type { QueueDepth } from '../../../views/queue-depth.ts'
import { table } from '../parts/table.ts'
import { when } from '../parts/when.ts'
import { BOARD_PATH } from './queue-board.ts'

/** How much stands in each queue, and since when. */
export function queuesPage(depths: readonly QueueDepth[], now: number): Html {
  return html`<p>Work waits here until a worker takes it up. A job carries ids only.</p>
${table(
  'Queues',
  [
    { title: 'Queue' },
    { title: 'Waiting', number: true },
    { title: 'At work', number: true },
    { title: 'Planned', number: true },
    { title: 'Failed', number: true },
    { title: 'Oldest waiting' },
  ],
  depths.map(({ queue, waiting, active, delayed, failed, oldestWaitingAt }) => [
    html`<a href="${BOARD_PATH}/queue/${queue}">${queue}</a>`,
    formatCount(waiting),
    formatCount(active),
    formatCount(delayed),
    failed === 0 ? formatCount(failed) : html`<span class="is-warning">${formatCount(failed)}</span>`,
    oldestWaitingAt === null ? html`<span class="soft">–</span>` : when(oldestWaitingAt, now),
  ]),
)}
<p><a class="button" href="${BOARD_PATH}/">Look at the jobs</a></p>
<p class="soft">Nothing can be changed there: what a queue has lost is planned anew by the next tick.</p>`
}
