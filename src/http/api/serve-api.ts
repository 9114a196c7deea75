import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import type { Directory } from '../../accounts/search/directory.ts'
import type { BegunUninstall } from '../../accounts/uninstall.ts'
import { readOpenAlerts } from '../../alerts/open-alerts.ts'
import type { SilenceStore } from '../../alerts/silences/silence-store.ts'
import type { Snapshot } from '../../limits/history/history.ts'
import type { KeptSamples } from '../../limits/history/kept-samples.ts'
import { ACCOUNT_STATES } from '../../redis/keys.ts'
import { NOBODY } from '../../redis/steps.ts'
import { type AccountHistoryDeps, RESOLUTIONS, readAccountHistory, snapshotJson } from '../../views/account-history.ts'
import { storyJson } from '../../views/account-story.ts'
import {
  type AccountView,
  accountJson,
  nextPollBecause,
  readAccountView,
  seriesJson,
  withPlan,
} from '../../views/account-view.ts'
import { type FleetStatusDeps, readFleetStatus, timedAlert, timedAttempt } from '../../views/fleet-status.ts'
import { historyHead, historyLines, type LineFormat } from '../../views/history-lines.ts'
import { receiverStatus } from '../../views/receiver-status.ts'
import { withMarks } from '../../views/silenced.ts'
import { unknownAccount } from '../problem.ts'
import { accountCursor, check, hubIdOf, moment, oneOf, wholeNumber } from '../query.ts'
import { requireRedis } from '../redis-away.ts'
import { searchAccounts } from '../search-accounts.ts'
import { pageOf } from './snapshot-page.ts'

export interface ApiDeps extends FleetStatusDeps, AccountHistoryDeps {
  directory: Directory
  samples: KeptSamples
  silences: SilenceStore
  actions: { uninstall(hubId: number, reason: string): Promise<BegunUninstall> }
}

const WEEK_MS = 7 * 86_400_000
/** Accounts whose alerts are read at once. */
const AT_ONCE = 100

/** JSON for programs: the same facts as the pages show. Lists are paged by a cursor: `next` goes back in as `after`. */
export function serveApi(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/status', () => readFleetStatus(deps))
  app.get('/accounts', (request) => listAccounts(deps, request.query))
  app.get('/accounts/:hubId', (request) => showAccount(deps, hubIdOf(request)))
  app.get('/accounts/:hubId/snapshots', (request, reply) => listSnapshots(deps, hubIdOf(request), request.query, reply))
  app.post('/accounts/:hubId/uninstall', (request, reply) => uninstall(deps, request, reply))
  app.delete('/accounts/:hubId', (request, reply) => uninstall(deps, request, reply))
  app.get('/alerts', (request) => listAlerts(deps, request.query))
  app.get('/deliveries', (request) => listDeliveries(deps, request.query))
}

const ACCOUNT_LIST = z.strictObject({
  limit: wholeNumber(1, 500).default(100),
  after: accountCursor(),
  state: oneOf(ACCOUNT_STATES).optional(),
  stale: oneOf(['true', 'false']).default('false'),
})

async function listAccounts(deps: ApiDeps, query: unknown): Promise<object> {
  const { limit, after, state, stale } = check(ACCOUNT_LIST, query)
  const { accounts, next } = await searchAccounts(deps, {
    ...{ text: '', state, stale: stale === 'true', sort: 'hubId', descending: false },
    ...{ after: after === 0 ? undefined : { hubId: after }, limit },
  })
  const items = await Promise.all(accounts.map((account) => withPlan(deps.due, account)))
  return { items: items.map(accountJson), ...cursor(next?.hubId) }
}

async function showAccount(deps: ApiDeps, hubId: number): Promise<object> {
  const view = await readAccountView(deps, hubId)
  if (view === undefined) throw unknownAccount(hubId)
  return { ...accountJson(view.account), nextPollBecause: nextPollBecause(view), ...detailsOf(view) }
}

function detailsOf({ scopes, series, alerts, story }: AccountView): object {
  return {
    scopes,
    series: series.map(seriesJson),
    alerts: alerts.map(timedAlert),
    story: storyJson(story),
  }
}

const SNAPSHOT_LIST = z
  .strictObject({
    from: moment().optional(),
    to: moment().optional(),
    resolution: oneOf(RESOLUTIONS).default('raw'),
    format: oneOf(['json', 'csv', 'jsonl']).default('json'),
    limit: wholeNumber(1, 1000).optional(),
    after: wholeNumber(0, Number.MAX_SAFE_INTEGER).optional(),
  })
  .superRefine(({ format, ...given }, context) => {
    for (const name of ['limit', 'after'] as const) {
      if (format === 'json' || given[name] === undefined) continue
      context.addIssue({
        code: 'custom',
        path: [name],
        message: `format=${format} is not paged: it is all of the range`,
      })
    }
  })

async function listSnapshots(deps: ApiDeps, hubId: number, query: unknown, reply: FastifyReply): Promise<object> {
  const now = deps.clock.now()
  const { to = now, from = to - WEEK_MS, resolution, format, limit = 500, after } = check(SNAPSHOT_LIST, query)
  const account = await deps.registry.get(hubId)
  if (account === undefined) throw unknownAccount(hubId)
  const snapshots = await readAccountHistory(deps, await withPlan(deps.due, account), { from, to, resolution })
  if (format !== 'json') return sendLines(reply, format, hubId, snapshots)
  const { items, next } = pageOf([...snapshots], after, limit)
  return { items: items.map(snapshotJson), ...cursor(next) }
}

const LINES_TYPE: Record<LineFormat, string> = {
  csv: 'text/csv; charset=utf-8; header=present',
  jsonl: 'application/x-ndjson',
}

/** Written as fast as it is read: years of an account are megabytes. */
function sendLines(reply: FastifyReply, format: LineFormat, hubId: number, snapshots: Iterable<Snapshot>) {
  const name = `history-${hubId}.${format}`
  reply.type(LINES_TYPE[format]).header('content-disposition', `attachment; filename="${name}"`)
  return reply.send(Readable.from(allLines(format, hubId, snapshots)))
}

function* allLines(format: LineFormat, hubId: number, snapshots: Iterable<Snapshot>): Generator<string> {
  const head = historyHead(format)
  if (head !== '') yield head
  for (const snapshot of snapshots) yield historyLines(format, hubId, snapshot)
}

const UNINSTALL = z
  .strictObject({
    reason: z.string('must be a text').trim().min(1, 'must not be empty').max(200, 'is too long').optional(),
  })
  .optional()

async function uninstall({ actions, registry, store }: ApiDeps, request: FastifyRequest, reply: FastifyReply) {
  const hubId = hubIdOf(request)
  const { reason = 'asked for over the HTTP API' } = check(UNINSTALL, request.body ?? undefined) ?? {}
  await requireRedis(store)
  const outcome = await actions.uninstall(hubId, reason)
  if (outcome === 'unknown') throw unknownAccount(hubId)
  if (outcome === 'begun') return reply.code(202).send({ hubId, state: 'uninstalling' })
  const account = await registry.get(hubId)
  return { hubId, state: account?.state ?? 'uninstalled' }
}

const ALERT_LIST = z.strictObject({
  limit: wholeNumber(1, 500).default(100),
  // Not 0 by default: what concerns the whole fleet comes first, under that id.
  after: wholeNumber(0, Number.MAX_SAFE_INTEGER).default(-1),
  level: oneOf(['warning', 'critical']).optional(),
  hubId: wholeNumber(1, Number.MAX_SAFE_INTEGER).optional(),
})

/** Account by account, worst first within one. The alerts of an account stay together, so a page may be a few longer. */
async function listAlerts({ store, keys, registry, silences, clock }: ApiDeps, query: unknown): Promise<object> {
  const { limit, after, level, hubId } = check(ALERT_LIST, query)
  const now = clock.now()
  const inForce = await silences.active(now)
  const hubIds = (await registry.alerting()).filter((id) => id > after && (hubId === undefined || id === hubId))
  const items: object[] = []
  for (let from = 0; from < hubIds.length; from += AT_ONCE) {
    const some = hubIds.slice(from, from + AT_ONCE)
    const marked = withMarks(await readOpenAlerts(store, keys, some), inForce, now)
    const byAccount = Map.groupBy(marked, (alert) => alert.hubId ?? NOBODY)
    for (const id of some) {
      const alerts = (byAccount.get(id) ?? []).filter((alert) => level === undefined || alert.level === level)
      items.push(...alerts.map(timedAlert))
      if (items.length >= limit) return { items, ...cursor(id === hubIds.at(-1) ? undefined : id) }
    }
  }
  return { items }
}

const DELIVERY_LIST = z.strictObject({ limit: wholeNumber(1, 500).default(100) })

async function listDeliveries({ deliveries, receiverStore }: ApiDeps, query: unknown): Promise<object> {
  const { limit } = check(DELIVERY_LIST, query)
  const [pending, dead, attempts, receivers] = await Promise.all([
    deliveries.countPending(),
    deliveries.countDead(),
    deliveries.log(limit),
    receiverStore.read(),
  ])
  return { pending, dead, receivers: receivers.map(receiverStatus), items: attempts.map(timedAttempt) }
}

function cursor(next: number | undefined): { next?: string } {
  return next === undefined ? {} : { next: String(next) }
}
