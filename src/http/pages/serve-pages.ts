import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { mailReconnectLink, pollAccount, refreshAccount, uninstallAccount } from '../../operations/accounts.ts'
import { replayDeliveries } from '../../operations/deliveries.ts'
import { testReceiver } from '../../operations/receivers.ts'
import { endSilence } from '../../operations/silences.ts'
import { acceptOwnForms } from '../access/forms.ts'
import { asProblem } from '../answer-error.ts'
import { requireRedis } from '../redis-away.ts'
import { pathOfNamed } from '../search-accounts.ts'
import type { WebDeps } from '../web-deps.ts'
import { confirmUninstall, contactByForm } from './account/account-forms.ts'
import { showAccountPage } from './account/account-page.ts'
import { showSeries } from './account/series-page.ts'
import { showAccounts } from './accounts.ts'
import { acknowledgeByForm, showAlertPage, unacknowledgeByForm } from './alerts/alert-page.ts'
import { showAlerts } from './alerts/alerts-page.ts'
import { actOnSelected } from './alerts/selection.ts'
import { showSilenceForm, silenceByForm } from './alerts/silence-form.ts'
import { showApi } from './api-page.ts'
import { showFleet } from './fleet/fleet-page.ts'
import { showList } from './list-page.ts'
import { LISTS } from './lists.ts'
import { notDone, operationForm } from './operation-form.ts'
import { type DoForm, type OperatorPage, type ShowPage, showOperatorPage } from './page.ts'
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
  '/api': showApi,
}

/** Forms of the pages: the same actions as in the API and on the command line. */
const FORMS: Readonly<Record<string, DoForm>> = {
  '/accounts/:hubId/poll': operationForm(pollAccount, ({ hubId }) => `/accounts/${hubId}?done=polled`),
  '/accounts/:hubId/refresh': operationForm(refreshAccount, ({ hubId }) => `/accounts/${hubId}?done=refreshed`),
  '/accounts/:hubId/contact': contactByForm,
  '/accounts/:hubId/reconnect-link': operationForm(mailReconnectLink, ({ hubId }) => `/accounts/${hubId}?done=mailed`),
  '/accounts/:hubId/uninstall': operationForm(uninstallAccount, ({ hubId }) => `/accounts/${hubId}?done=uninstalling`),
  '/alerts/:id/acknowledge': acknowledgeByForm,
  '/alerts/:id/unacknowledge': unacknowledgeByForm,
  '/alerts/selected': actOnSelected,
  '/silences/new': silenceByForm,
  '/silences/end': operationForm(
    endSilence,
    ({ outcome }) => `/silences?done=${outcome === 'over' ? 'over' : 'unsilenced'}`,
  ),
  '/deliveries/replay': operationForm(
    replayDeliveries,
    ({ replayed }) => `/deliveries?done=${replayed === 0 ? 'nothing-replayed' : 'replayed'}`,
  ),
  '/deliveries/test': operationForm(testReceiver, () => '/deliveries?done=tested'),
}

export function servePages(app: FastifyInstance, deps: WebDeps): void {
  const verdicts = verdictReader(deps)
  const show = (request: FastifyRequest, reply: FastifyReply, page: OperatorPage) =>
    showOperatorPage(verdicts, request, reply, page, deps.clock.now())
  const lists = LISTS.map((list): [string, ShowPage] => [list.path, (...asked) => showList(list, ...asked)])
  for (const [path, read] of [...Object.entries(PAGES), ...lists]) {
    app.get(path, async (request, reply) => {
      const page = await read(deps, request)
      return typeof page === 'string' ? reply.redirect(page, 302) : show(request, reply, page)
    })
  }
  app.register((scope, _options, done) => {
    acceptOwnForms(scope, deps.publicUrl)
    for (const [path, act] of Object.entries(FORMS)) {
      scope.post(path, async (request, reply) => {
        await requireRedis(deps.store)
        const done = await act(deps, request).catch((error) => {
          const problem = asProblem(error, deps)
          if (problem.status === 500) throw error
          return notDone(request, problem)
        })
        verdicts.forget()
        // Back to a page of ours, which shows the outcome.
        if (typeof done !== 'string') return show(request, reply, done)
        return reply.header('set-cookie', noteOnce(done)).redirect(done, 303)
      })
    }
    done()
  })
}
