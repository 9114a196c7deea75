import type { FleetStatus } from '../../../checks/fleet-status.ts'
import { formatCount } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import { when } from './cells.ts'
import { htmlTable } from './tables.ts'

/** A line for each queue with its non-zero counts. */
export function queueTable(queues: FleetStatus['queues'], now: number): Html {
  return htmlTable(
    'Queues',
    ['Queue', 'Jobs'],
    queues.map((queue) => [queue.queue, jobsText(queue, now)]),
  )
}

function jobsText({ waiting, active, delayed, failed, oldestWaitingAt }: FleetStatus['queues'][number], now: number) {
  const oldest = oldestWaitingAt === null ? undefined : html`, the oldest from ${when(oldestWaitingAt, now)}`
  const parts = [
    failed === 0 ? undefined : html`<span class="is-warning">${formatCount(failed)} failed</span>`,
    waiting === 0 ? undefined : html`${formatCount(waiting)} waiting${oldest}`,
    active === 0 ? undefined : html`${formatCount(active)} running`,
    delayed === 0 ? undefined : html`${formatCount(delayed)} scheduled for later`,
  ].filter((part) => part !== undefined)
  if (parts.length === 0) return html`<span class="soft">empty</span>`
  return html`${parts.map((part, n) => html`${n === 0 ? '' : ' · '}${part}`)}`
}
