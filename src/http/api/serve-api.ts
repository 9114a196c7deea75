import type { FastifyInstance } from 'fastify'
import { deleteAccount, pollAccount, refreshAccount, uninstallAccount } from './account-actions.ts'
import { explainAccount, listAccounts, showAccount } from './accounts.ts'
import { acknowledgeAlert, listAlerts, showAlert, unacknowledgeAlert } from './alerts.ts'
import type { ApiDeps } from './api-deps.ts'
import { listDeliveries, replayDeliveries } from './deliveries.ts'
import { openApiRoute } from './openapi-route.ts'
import { listReceivers, testReceiver } from './receivers.ts'
import { registerRoutes } from './register-routes.ts'
import type { Route } from './route.ts'
import { endSilence, listSilences, makeSilence, showSilence } from './silences.ts'
import { listSnapshots } from './snapshots.ts'
import { showCoverage, showOutbox, showStatus } from './status.ts'
import { showToken } from './token.ts'
import { listTransitions } from './transitions.ts'

const ALL: readonly Route[] = [
  ...[showStatus, showCoverage, showOutbox],
  ...[listAccounts, showAccount, explainAccount, listSnapshots, showToken],
  ...[pollAccount, refreshAccount, uninstallAccount, deleteAccount],
  ...[listAlerts, showAlert, acknowledgeAlert, unacknowledgeAlert, listTransitions],
  ...[listSilences, makeSilence, showSilence, endSilence],
  ...[listDeliveries, replayDeliveries, listReceivers, testReceiver],
]

/** All that answers under /api/v1, and the document that tells of it. */
export const API_ROUTES: readonly Route[] = [...ALL, openApiRoute(ALL)]

/** JSON for programs: the same facts as the pages show, and the same actions as the command line's. */
export function serveApi(app: FastifyInstance, deps: ApiDeps): void {
  registerRoutes(app, deps, API_ROUTES)
}
