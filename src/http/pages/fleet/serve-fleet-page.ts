import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import { readFleetStatus } from '../../../views/fleet-status.ts'
import { accountCursor, check } from '../../query.ts'
import { plannedAccounts } from '../accounts/planned-accounts.ts'
import { showOperatorPage } from '../page.ts'
import type { PagesDeps } from '../pages-deps.ts'
import { statusPage } from './status-page.ts'

const ACCOUNTS_A_PAGE = 50
const REFRESH_SECONDS = 10

/** The fleet at a glance. */
export function serveFleetPage(app: FastifyInstance, deps: PagesDeps): void {
  app.get('/', (request, reply) => showFleet(deps, request, reply))
}

async function showFleet(deps: PagesDeps, request: FastifyRequest, reply: FastifyReply) {
  const { after } = check(z.object({ after: accountCursor() }), request.query)
  const [status, health, page] = await Promise.all([
    readFleetStatus(deps),
    deps.health(),
    plannedAccounts(deps, { text: '', state: undefined, after, limit: ACCOUNTS_A_PAGE }),
  ])
  const body = statusPage({ status, health, ...page })
  return showOperatorPage(request, reply, { at: '/', title: 'Status', refreshSeconds: REFRESH_SECONDS, body })
}
