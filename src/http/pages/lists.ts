import { listTransitions } from '../../operations/alerts.ts'
import { listAudit } from '../../operations/audit.ts'
import { listDeliveries } from '../../operations/deliveries.ts'
import { listChanges, listUpcoming } from '../../operations/installation.ts'
import { listSilences } from '../../operations/silences.ts'
import { html } from '../../text/html.ts'
import { formTokenField } from '../access/forms.ts'
import { type ListPage, listPage } from './list-page.ts'
import { hidden, select } from './parts/forms.ts'

/** How far back deliveries that were given up are sent again. They are kept for 30 days. */
const GIVEN_UP_IN = {
  name: 'since',
  label: 'Given up in the last',
  of: [
    ['1h', 'hour'],
    ['24h', '24 hours'],
    ['3d', '3 days'],
    ['30d', '30 days'],
  ],
} as const

/** Lists that are made of their operations alone. */
export const LISTS: readonly ListPage[] = [
  listPage({ operation: listUpcoming, at: '/upcoming', path: '/upcoming', title: 'Upcoming' }),
  listPage({
    operation: listChanges,
    at: '/changes',
    path: '/changes',
    title: 'Changes',
    defaults: { since: '24h' },
  }),
  listPage({ operation: listAudit, at: '/audit', path: '/audit', title: 'Audit', defaults: { since: '7d' } }),
  listPage({
    operation: listTransitions,
    at: '/alerts',
    path: '/alerts/log',
    title: 'Alert log',
    defaults: { since: '24h' },
  }),
  listPage({
    operation: listSilences,
    at: '/alerts',
    path: '/silences',
    title: 'Silences',
    above: () => html`<p><a class="button" href="/silences/new">New silence</a></p>`,
    toDo: ({ items }, token) =>
      items.map(
        ({ id }) =>
          html`<form method="post" action="/silences/end">${formTokenField(token)}${hidden('id', id)}<button class="small">End now<span class="unseen"> ${id}</span></button></form>`,
      ),
  }),
  listPage({
    operation: listDeliveries,
    at: '/deliveries',
    path: '/deliveries',
    title: 'Deliveries',
    above: (
      _value,
      token,
    ) => html`<form method="post" action="/deliveries/replay" class="search">${formTokenField(token)}
${select(GIVEN_UP_IN, '24h')} <button>Replay all of them</button>
</form>`,
    toDo: ({ receivers }, token) =>
      receivers.map(
        ({ receiver }) =>
          html`<form method="post" class="row">${formTokenField(token)}${hidden('name', receiver)}${hidden('receiver', receiver)}${hidden('since', '30d')}
<button class="small" formaction="/deliveries/test">Send a test<span class="unseen"> to ${receiver}</span></button>
<button class="small" formaction="/deliveries/replay">Retry<span class="unseen"> what ${receiver} did not get</span></button></form>`,
      ),
  }),
]
