import { formatCount } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import type { FleetStatus } from '../../../views/fleet-status.ts'
import { table } from '../parts/table.ts'
import { when } from '../parts/when.ts'
import { BOARD_PATH } from '../queues/queue-board.ts'

/** How much stands in each queue, and for how long; each leads to its jobs. */
export function queueTable(queues: FleetStatus['queues'], now: number): Html {
  return table(
    'Queues',
    [
      { title: 'Queue' },
      { title: 'Waiting', number: true },
      { title: 'Active', number: true },
      { title: 'Later', number: true },
      { title: 'Failed', number: true },
      { title: 'Oldest waiting' },
    ],
    queues.map(({ queue, waiting, active, delayed, failed, oldestWaitingAt }) => [
      html`<a href="${BOARD_PATH}/queue/${queue}">${queue}</a>`,
      ...[waiting, active, delayed].map(formatCount),
      failed === 0 ? '0' : html`<span class="is-warning">${formatCount(failed)}</span>`,
      oldestWaitingAt === null ? html`<span class="soft none">–</span>` : when(Date.parse(oldestWaitingAt), now),
    ]),
  )
}
