import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { cleanText } from '../../../text/clean-text.ts'
import { readAccountView } from '../../../views/account-view.ts'
import { whyOpen } from '../../../views/series-because.ts'
import { unknownAccount } from '../../problem.ts'
import { parseHubId } from '../../query.ts'
import { showOperatorPage } from '../page.ts'
import type { PagesDeps } from '../pages-deps.ts'
import { accountPage } from './account-page.ts'
import { seriesChanges } from './series-changes.ts'

const CHANGES_A_PAGE = 50
const WEEK_MS = 7 * 86_400_000

/** Everything about one account but its tokens. */
export function serveAccountPage(app: FastifyInstance, deps: PagesDeps): void {
  app.get('/accounts/:hubId', (request, reply) => showAccount(deps, request, reply))
}

async function showAccount(deps: PagesDeps, request: FastifyRequest, reply: FastifyReply) {
  const { hubId: text } = request.params as { hubId: string }
  const hubId = parseHubId(text)
  const view = hubId === undefined ? undefined : await readAccountView(deps, hubId)
  if (hubId === undefined || view === undefined) throw unknownAccount(text.slice(0, 40))
  const now = deps.clock.now()
  const [history, states] = await Promise.all([
    deps.history.read(hubId, now - WEEK_MS, now),
    deps.store.hgetall(deps.keys.account(hubId).alerts),
  ])
  const changes = seriesChanges(history, CHANGES_A_PAGE)
  const why = whyOpen(deps.judging, view.account, view.series, states, now)
  const title = cleanText(view.account.hubDomain, 120) || `Account ${hubId}`
  return showOperatorPage(request, reply, { at: '/accounts', title, body: accountPage({ ...view, changes, why, now }) })
}
