import type { FastifyInstance } from 'fastify'
import { listAudit } from '../../operations/audit.ts'
import { listChanges, listUpcoming } from '../../operations/installation.ts'
import type { Operation } from '../../operations/operation.ts'
import { acceptOwnForms } from '../access/forms.ts'
import { pathOfNamed } from '../search-accounts.ts'
import type { WebDeps } from '../web-deps.ts'
import { confirmUninstall, contactByForm, pollByForm, refreshByForm, uninstallByForm } from './account/account-forms.ts'
import { showAccountPage } from './account/account-page.ts'
import { showSeries } from './account/series-page.ts'
import { showAccounts } from './accounts.ts'
import { acknowledgeByForm, showAlertPage, unacknowledgeByForm } from './alerts/alert-page.ts'
import { showAlerts } from './alerts/alerts-page.ts'
import { actOnSelected } from './alerts/selection.ts'
import { endSilenceByForm, showSilenceForm, silenceByForm } from './alerts/silence-form.ts'
import { replayByForm, showDeliveries, testReceiverByForm } from './deliveries.ts'
import { showFleet } from './fleet/fleet-page.ts'
import { type ListPage, showList } from './list-page.ts'
import { type DoForm, type ShowPage, showOperatorPage } from './page.ts'
import { noteOnce } from './parts/forms.ts'
import { verdictReader } from './verdict-line.ts'

/** The pages of the operators. */
const PAGES: Readonly<Record<string, ShowPage>> = {
  '/': showFleet,
  '/accounts': async (deps, request) => (await pathOfNamed(deps, request.query)) ?? showAccounts(deps, request),
  '/accounts/:hubId': showAccountPage,
  '/accounts/:hubId/series': showSeries,
  '/accounts/:hubId/uninstall': confirmUninstall,
  '/alerts': showAlerts,
  '/alerts/:id': showAlertPage,
  '/silences/new': showSilenceForm,
  '/deliveries': showDeliveries,
}

/** Lists that are made of their operations alone. */
const LISTS: readonly ListPage[] = [
  { operation: listUpcoming as unknown as Operation, at: '/upcoming', path: '/upcoming', title: 'Upcoming' },
  {
    operation: listChanges as unknown as Operation,
    at: '/changes',
    path: '/changes',
    title: 'Changes',
    defaults: { since: '24h' },
  },
  {
    operation: listAudit as unknown as Operation,
    at: '/audit',
    path: '/audit',
    title: 'Audit',
    defaults: { since: '7d' },
  },
]

/** Forms of the pages: the same actions as in the API and on the command line. */
const FORMS: Readonly<Record<string, DoForm>> = {
  '/accounts/:hubId/poll': pollByForm,
  '/accounts/:hubId/refresh': refreshByForm,
  '/accounts/:hubId/contact': contactByForm,
  '/accounts/:hubId/uninstall': uninstallByForm,
  '/alerts/:id/acknowledge': acknowledgeByForm,
  '/alerts/:id/unacknowledge': unacknowledgeByForm,
  '/alerts/selected': actOnSelected,
  '/silences/new': silenceByForm,
  '/silences/:id/end': endSilenceByForm,
  '/deliveries/replay': replayByForm,
  '/deliveries/test': testReceiverByForm,
}

export function servePages(app: FastifyInstance, deps: WebDeps): void {
  const verdicts = verdictReader(deps)
  const lists = LISTS.map((list): [string, ShowPage] => [list.path, (...asked) => showList(list, ...asked)])
  for (const [path, show] of [...Object.entries(PAGES), ...lists]) {
    app.get(path, async (request, reply) => {
      const page = await show(deps, request)
      return typeof page === 'string' ? reply.redirect(page, 302) : showOperatorPage(verdicts, request, reply, page)
    })
  }
  app.register((scope, _options, done) => {
    acceptOwnForms(scope, deps.publicUrl)
    for (const [path, act] of Object.entries(FORMS)) {
      scope.post(path, async (request, reply) => {
        const done = await act(deps, request)
        verdicts.forget()
        // Back to a page of ours, which shows the outcome.
        if (typeof done !== 'string') return showOperatorPage(verdicts, request, reply, done)
        return reply.header('set-cookie', noteOnce(done)).redirect(done, 303)
      })
    }
    done()
  })
}
