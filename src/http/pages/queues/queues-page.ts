import { type Html, html } from '../../../text/html.ts'
import type { FleetStatus } from '../../../views/fleet-status.ts'
import { queueTable } from '../fleet/queue-table.ts'
import { BOARD_PATH } from './queue-board.ts'

/** How much stands in each queue, and since when. */
export function queuesPage(queues: FleetStatus['queues'], now: number): Html {
  return html`<p>Jobs wait here until a worker takes them. A job carries ids only.</p>
<div data-live="queues">
${queueTable(queues, now)}
</div>
<p><a class="button" href="${BOARD_PATH}/">Show the jobs</a></p>
<p class="soft">Nothing can be changed there, and need not be: what a queue has lost is planned anew by the next tick.</p>`
}
