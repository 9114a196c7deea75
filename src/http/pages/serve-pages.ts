import type { FastifyInstance } from 'fastify'
import { serveAccountPage } from './account/serve-account-page.ts'
import { serveAccountsPage } from './accounts/serve-accounts-page.ts'
import { serveAlertsPage } from './alerts/serve-alerts-page.ts'
import { serveDeliveriesPage } from './deliveries/serve-deliveries-page.ts'
import { serveFleetPage } from './fleet/serve-fleet-page.ts'
import type { PagesDeps } from './pages-deps.ts'

/** The pages of the operators, a folder each. */
export function servePages(app: FastifyInstance, deps: PagesDeps): void {
  serveFleetPage(app, deps)
  serveAccountsPage(app, deps)
  serveAccountPage(app, deps)
  serveAlertsPage(app, deps)
  serveDeliveriesPage(app, deps)
}
