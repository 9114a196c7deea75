import { listTransitions } from '../../operations/alerts.ts'
import { listAudit } from '../../operations/audit.ts'
import { listDeliveries, OUTCOME_WORDS } from '../../operations/deliveries.ts'
import { listChanges, listUpcoming } from '../../operations/installation.ts'
import { listRules } from '../../operations/rules.ts'
import { listSilences } from '../../operations/silences.ts'
import { html } from '../../text/html.ts'
import { formTokenField } from '../access/forms.ts'
import { type ListPage, listPage } from './list-page.ts'
import { hidden } from './parts/forms.ts'

/** Lists that are made of their operations alone. */
export const LISTS: readonly ListPage[] = [
  listPage({ operation: listUpcoming, at: '/upcoming', path: '/upcoming', title: 'Upcoming' }),
  listPage({
    operation: listChanges,
    at: '/changes',
    path: '/changes',
    title: 'Changes',
    defaults: { since: '24h', limit: '10' },
  }),
  listPage({ operation: listAudit, at: '/audit', path: '/audit', title: 'Audit', defaults: { since: '7d' } }),
  listPage({ operation: listRules, at: '/rules', path: '/rules', title: 'Rules and routes' }),
  listPage({
    operation: listTransitions,
    at: '/alerts',
    path: '/alerts/log',
    title: 'Alert log',
    defaults: { since: '24h', newest: 'true' },
    without: ['AGE', 'ID', 'RECEIVERS'],
  }),
  listPage({
    operation: listSilences,
    at: '/alerts',
    path: '/silences',
    title: 'Silences',
    without: ['ID'],
    above: html`<p><a class="button" href="/silences/new">New silence</a></p>`,
    toDo: ({ items }, token) =>
      items.map(
        ({ id }) =>
          html`<form method="post" action="/silences/end">${formTokenField(token)}${hidden('id', id)}<button class="small">End now<span class="visually-hidden"> ${id}</span></button></form>`,
      ),
  }),
  listPage({
    operation: listDeliveries,
    at: '/deliveries',
    path: '/deliveries',
    title: 'Deliveries',
    defaults: { last: 'true', limit: '10' },
    linked: ['receiver'],
    words: OUTCOME_WORDS,
    toDo: ({ receivers, counted: [_, ...toRetry] }, token) =>
      receivers.map(
        ({
          receiver,
        }) => html`<form method="post" class="row">${formTokenField(token)}${hidden('name', receiver)}${hidden('receiver', receiver)}${hidden('since', '30d')}
${toRetry.every((by) => !by.has(receiver)) ? undefined : html`<button class="small" formaction="/deliveries/replay">Retry now<span class="visually-hidden"> what ${receiver} did not get</span></button>`}
<button class="small" formaction="/deliveries/test">Send a test<span class="visually-hidden"> to ${receiver}</span></button></form>`,
      ),
  }),
]
