import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import type { AckLinks } from '../alerts/acknowledge/ack-links.ts'
import { alertOfTransition } from '../alerts/alert.ts'
import { readOpenAlerts } from '../alerts/open-alerts.ts'
import type { SilenceStore } from '../alerts/silences/silence-store.ts'
import type { History } from '../limits/history/history.ts'
import type { KeptSamples } from '../limits/history/kept-samples.ts'
import { ACCOUNT_STATES } from '../redis/keys.ts'
import { NOBODY } from '../redis/steps.ts'
import { cleanText } from '../text/clean-text.ts'
import { type PlannedAccount, readAccountView, withPlan } from '../views/account-view.ts'
import { type FleetStatusDeps, readFleetStatus, timedAlert, timedAttempt } from '../views/fleet-status.ts'
import { receiverStatus } from '../views/receiver-status.ts'
import { type Judging, whyOpen } from '../views/series-because.ts'
import { countCovered, silenceJson, withMarks } from '../views/silenced.ts'
import { surveyAlerts, worstAccounts } from '../views/survey-alerts.ts'
import type { HealthReport } from './health.ts'
import { operatorPage, type PageContent, sendPage } from './page.ts'
import { accountPage } from './pages/account-page.ts'
import { accountsPage } from './pages/accounts-page.ts'
import { alertsPage } from './pages/alerts-page.ts'
import { deliveriesPage } from './pages/deliveries-page.ts'
import { statusPage } from './pages/status-page.ts'
import { unknownAccount } from './problem.ts'
import { accountCursor, check, oneOf, parseHubId } from './query.ts'
import { type AccountSearch, searchAccounts } from './search-accounts.ts'
import { seriesChanges } from './series-changes.ts'

export interface PagesDeps extends FleetStatusDeps {
  history: History
  samples: KeptSamples
  silences: SilenceStore
  ackLinks: AckLinks
  /** What levels are decided by. */
  judging: Judging
  health: () => Promise<HealthReport>
}

const ACCOUNTS_A_PAGE = 50
const ALERTS_A_PAGE = 200
const ATTEMPTS_A_PAGE = 100
const CHANGES_A_PAGE = 50
const REFRESH_SECONDS = 10
const WEEK_MS = 7 * 86_400_000

/** The status page and those below it, for people. */
export function servePages(app: FastifyInstance, deps: PagesDeps): void {
  app.get('/', (request, reply) => showStatus(deps, request, reply))
  app.get('/accounts', (request, reply) => showAccounts(deps, request, reply))
  app.get('/accounts/:hubId', (request, reply) => showAccount(deps, request, reply))
  app.get('/alerts', (request, reply) => showAlerts(deps, request, reply))
  app.get('/deliveries', (request, reply) => showDeliveries(deps, request, reply))
}

type Page = PageContent & { at: Parameters<typeof operatorPage>[0]['at'] }

function show(request: FastifyRequest, reply: FastifyReply, page: Page): FastifyReply {
  return sendPage(reply, 200, operatorPage({ ...page, signedIn: request.signedIn }))
}

async function showStatus(deps: PagesDeps, request: FastifyRequest, reply: FastifyReply) {
  const { after } = check(z.object({ after: accountCursor() }), request.query)
  const [status, health, page] = await Promise.all([
    readFleetStatus(deps),
    deps.health(),
    plannedAccounts(deps, { text: '', state: undefined, after, limit: ACCOUNTS_A_PAGE }),
  ])
  const body = statusPage({ status, health, ...page })
  return show(request, reply, { at: '/', title: 'Status', refreshSeconds: REFRESH_SECONDS, body })
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
  return show(request, reply, { at: '/accounts', title: 'Accounts', body })
}

async function plannedAccounts(
  deps: PagesDeps,
  search: AccountSearch,
): Promise<{ accounts: PlannedAccount[]; next: number | undefined }> {
  const { accounts, next } = await searchAccounts(deps, search)
  return { accounts: await Promise.all(accounts.map((account) => withPlan(deps.due, account))), next }
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
  return show(request, reply, { at: '/accounts', title, body: accountPage({ ...view, changes, why, now }) })
}

async function showAlerts(deps: PagesDeps, request: FastifyRequest, reply: FastifyReply) {
  const { level } = check(z.object({ level: oneOf(['warning', 'critical']).optional() }), request.query)
  const now = deps.clock.now()
  const [survey, silences] = await Promise.all([surveyAlerts(deps), deps.silences.active(now)])
  const [found, covered] = await Promise.all([
    readOpenAlerts(deps.store, deps.keys, worstAccounts(survey, ALERTS_A_PAGE, level)),
    countCovered(deps, silences),
  ])
  const alerts = found.filter((alert) => level === undefined || alert.level === level).slice(0, ALERTS_A_PAGE)
  const body = alertsPage({
    alerts: withMarks(alerts, silences, now).map(timedAlert),
    ...{ counts: survey.counts, level, now },
    // Whoever has the link acknowledges: a token that may only read gets none.
    acknowledge: ({ hubId, id }) =>
      request.mayWrite
        ? deps.ackLinks.pathTo({ hubId: hubId ?? NOBODY, alertId: alertOfTransition(id) }, now)
        : undefined,
    silences: silences.map((silence) => silenceJson(silence, covered.get(silence.id) ?? 0, now)),
  })
  return show(request, reply, { at: '/alerts', title: 'Open alerts', body })
}

async function showDeliveries(
  { deliveries, receiverStore, clock }: PagesDeps,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const [pending, dead, receivers, log] = await Promise.all([
    deliveries.countPending(),
    deliveries.countDead(),
    receiverStore.read(),
    deliveries.log(ATTEMPTS_A_PAGE),
  ])
  const body = deliveriesPage({
    ...{ pending, dead },
    receivers: receivers.map(receiverStatus),
    attempts: log.map(timedAttempt),
    now: clock.now(),
  })
  return show(request, reply, { at: '/deliveries', title: 'Deliveries', body })
}
