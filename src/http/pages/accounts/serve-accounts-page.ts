import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import { ACCOUNT_STATES } from '../../../redis/keys.ts'
import { accountCursor, check, oneOf } from '../../query.ts'
import { showOperatorPage } from '../page.ts'
import type { PagesDeps } from '../pages-deps.ts'
import { accountsPage } from './accounts-page.ts'
import { plannedAccounts } from './planned-accounts.ts'

const ACCOUNTS_A_PAGE = 50

/** All accounts, searched and filtered. */
export function serveAccountsPage(app: FastifyInstance, deps: PagesDeps): void {
  app.get('/accounts', (request, reply) => showAccounts(deps, request, reply))
}

const ACCOUNT_SEARCH = z.object({
  q: z.string('must be given once').max(200, 'is too long').default(''),
  // The form sends an empty one for "any".
  state: oneOf(['', ...ACCOUNT_STATES]).default(''),
  stale: oneOf(['', '0', '1']).default(''),
  after: accountCursor(),
})

async function showAccounts(deps: PagesDeps, request: FastifyRequest, reply: FastifyReply) {
  const { q: text, after, ...given } = check(ACCOUNT_SEARCH, request.query)
  const state = given.state === '' ? undefined : given.state
  const stale = given.stale === '1'
  const page = await plannedAccounts(deps, { text, state, stale, after, limit: ACCOUNTS_A_PAGE })
  const body = accountsPage({ ...page, text, state, stale, now: deps.clock.now() })
  return showOperatorPage(request, reply, { at: '/accounts', title: 'Accounts', body })
}
