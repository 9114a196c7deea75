import type { FastifyInstance } from 'fastify'
import { acceptOwnForms } from '../access/accept-forms.ts'
import type { Actions } from '../actions.ts'
import { serveAccountForms, serveAccountPage } from './account/serve-account-page.ts'
import { serveAccountsPage } from './accounts/serve-accounts-page.ts'
import { serveAcknowledgeForm, serveAlertPage } from './alerts/serve-alert-page.ts'
import { serveAlertsPage } from './alerts/serve-alerts-page.ts'
import { serveSelectionForm } from './alerts/serve-selection-form.ts'
import { serveSilenceForms, serveSilencePage } from './alerts/serve-silence-forms.ts'
import { serveDeliveriesPage } from './deliveries/serve-deliveries-page.ts'
import { serveDeliveryForms } from './deliveries/serve-delivery-forms.ts'
import { serveFleetPage } from './fleet/serve-fleet-page.ts'
import type { PagesDeps } from './pages-deps.ts'
import { serveQueues } from './queues/serve-queues.ts'
import { serveGuide } from './serve-guide.ts'

export type PageFormsDeps = PagesDeps & { actions: Actions }

/** The pages of the operators, a folder each. */
export function servePages(app: FastifyInstance, deps: PageFormsDeps): void {
  serveFleetPage(app, deps)
  serveAccountsPage(app, deps)
  serveAccountPage(app, deps)
  serveAlertsPage(app, deps)
  serveAlertPage(app, deps)
  serveSilencePage(app, deps)
  serveDeliveriesPage(app, deps)
  serveQueues(app, deps)
  serveGuide(app)
  app.register((scope, _options, done) => {
    acceptOwnForms(scope, deps.publicUrl)
    serveAccountForms(scope, deps)
    serveAcknowledgeForm(scope, deps)
    serveSelectionForm(scope, deps)
    serveSilenceForms(scope, deps)
    serveDeliveryForms(scope, deps)
    done()
  })
}
