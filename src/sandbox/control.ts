import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Answer, json, noContent, send } from './answer.ts'
import { type FieldProblem, parseFault, wholeNumberProblem } from './faults.ts'
import type { Hooks } from './hooks.ts'
import type { Inbox } from './inbox.ts'
import type { JournalFilter } from './journal.ts'
import { SERVED_REPORTS } from './limits/all-reports.ts'
import { hooksPage, inboxPage, variesByAccept, wantsPage } from './pages.ts'
import { type Lacks, lacksProblem } from './plan.ts'
import { type SandboxParts, textOf } from './provider-route.ts'
import { parseRate } from './rate.ts'
import { type SetCount, setCountsProblem } from './set-counts.ts'
import type { Hub } from './world.ts'

/** The paths below `/sandbox` with which tests and people arrange the world and see its events. */
export function serveControl(
  server: FastifyInstance,
  parts: SandboxParts,
  arrivals: { inbox: Inbox; hooks: Hooks },
): void {
  serveAccounts(server, parts)
  serveReports(server, parts)
  serveFaults(server, parts)
  serveTokens(server, parts)
  serveArrivals(server, parts, arrivals)
}

/** A path that takes a JSON object. */
function takeObject(
  server: FastifyInstance,
  method: 'POST' | 'PUT' | 'PATCH',
  url: string,
  answer: (object: Record<string, unknown>, request: FastifyRequest) => Answer,
): void {
  server.route({
    method,
    url,
    handler: (request, reply) => {
      const object = objectOf(request)
      return send(reply, object === undefined ? refusal(NO_OBJECT) : answer(object, request))
    },
  })
}

function serveAccounts(server: FastifyInstance, { world }: SandboxParts): void {
  server.get('/sandbox/accounts', (_request, reply) => {
    const accounts = [...world.accounts()]
    const views = accounts.map(({ hubId, hubDomain, installed }) => ({ hubId, hubDomain, installed }))
    return send(reply, json(200, views))
  })
  takeObject(server, 'POST', '/sandbox/accounts', ({ hubId, hubDomain }) => {
    if (typeof hubId !== 'number' || !Number.isSafeInteger(hubId) || hubId < 1) {
      return refusal({ field: 'hubId', problem: 'must be a whole number above 0' })
    }
    if (typeof hubDomain !== 'string' || hubDomain === '') {
      return refusal({ field: 'hubDomain', problem: 'must be a text' })
    }
    if (!world.addAccount(hubId, hubDomain)) return json(409, { error: `account ${hubId} exists already` })
    return json(201, { hubId, hubDomain, installed: false })
  })
  server.delete('/sandbox/accounts/:hubId', (request, reply) => {
    const account = accountIn(request, world)
    if (account === undefined) return send(reply, NO_SUCH_ACCOUNT)
    if ((request.query as Record<string, string>).hub === 'deleted') world.deleteAccount(account)
    else world.uninstall(account)
    return send(reply, noContent())
  })
}

function serveReports(server: FastifyInstance, { world, reports }: SandboxParts): void {
  const take = (
    method: 'PUT' | 'PATCH',
    path: string,
    change: (hubId: number, body: Record<string, unknown>, request: FastifyRequest) => void,
    problemIn: (body: Record<string, unknown>) => FieldProblem | undefined = () => undefined,
  ) =>
    takeObject(server, method, `/sandbox/accounts/:hubId${path}`, (body, request) => {
      const account = accountIn(request, world)
      if (account === undefined) return NO_SUCH_ACCOUNT
      const problem = problemIn(body)
      if (problem !== undefined) return refusal(problem)
      change(account.hubId, body, request)
      return noContent()
    })
  for (const report of SERVED_REPORTS) {
    const path = report.controlPath ?? report.path
    take('PUT', path, (hubId, _, request) =>
      reports.put(report, hubId, request.params as { from?: string; to?: string }, textOf(request)),
    )
    if (report.counts === undefined) continue
    const set = (hubId: number, body: Record<string, unknown>) =>
      reports.setCounts(report, hubId, body as Record<string, SetCount>)
    take('PATCH', path, set, setCountsProblem)
  }
  take('PUT', '/plan', (hubId, body) => reports.putLacks(hubId, body as Lacks), lacksProblem)
}

function serveFaults(server: FastifyInstance, { faults }: SandboxParts): void {
  server.get('/sandbox/faults', (_request, reply) => send(reply, json(200, faults.list())))
  takeObject(server, 'POST', '/sandbox/faults', (object) => {
    const fault = parseFault(object)
    if ('problem' in fault) return refusal(fault)
    faults.add(fault)
    return json(201, fault)
  })
  server.delete('/sandbox/faults', (_request, reply) => {
    faults.clear()
    return send(reply, noContent())
  })
}

const LONGEST_TOKEN_LIFE_MS = 365 * 24 * 3_600_000

function serveTokens(server: FastifyInstance, { tokenLimit, world }: SandboxParts): void {
  takeObject(server, 'PUT', '/sandbox/token-limit', (object) => {
    const rate = parseRate(object)
    if ('problem' in rate) return refusal(rate)
    tokenLimit.set(rate)
    return noContent()
  })
  server.delete('/sandbox/token-limit', (_request, reply) => {
    tokenLimit.lift()
    return send(reply, noContent())
  })
  takeObject(server, 'PUT', '/sandbox/token-lifetime', ({ ms }) => {
    const problem = wholeNumberProblem(ms, 1_000, LONGEST_TOKEN_LIFE_MS)
    if (problem !== undefined) return refusal({ field: 'ms', problem })
    world.changeTokenLifetime(Number(ms))
    return noContent()
  })
}

function serveArrivals(
  server: FastifyInstance,
  { journal }: SandboxParts,
  { inbox, hooks }: { inbox: Inbox; hooks: Hooks },
): void {
  server.get('/sandbox/requests', (request, reply) => {
    const filter = filterOf(request.query as Record<string, string>)
    return send(reply, 'problem' in filter ? refusal(filter) : json(200, journal.list(filter)))
  })
  server.get('/sandbox/inbox', (request, reply) => {
    variesByAccept(reply)
    return send(reply, wantsPage(request) ? inboxPage(inbox.mails()) : json(200, inbox.mails()))
  })
  server.get('/sandbox/hooks', (request, reply) => {
    variesByAccept(reply)
    return send(reply, wantsPage(request) ? hooksPage(hooks.list()) : json(200, hooks.list()))
  })
  for (const [name, log] of Object.entries({ requests: journal, inbox, hooks })) {
    server.delete(`/sandbox/${name}`, (_request, reply) => {
      log.clear()
      return send(reply, noContent())
    })
  }
}

function accountIn(request: FastifyRequest, world: SandboxParts['world']): Hub | undefined {
  return world.account(Number((request.params as { hubId: string }).hubId))
}

function objectOf(request: FastifyRequest): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(textOf(request))
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function filterOf({ since, endpoint, hubId }: Record<string, string>): JournalFilter | FieldProblem {
  if (since !== undefined && Number.isNaN(Date.parse(since)))
    return { field: 'since', problem: 'must be an ISO 8601 time' }
  if (hubId !== undefined && !/^\d+$/.test(hubId)) return { field: 'hubId', problem: 'must be a whole number' }
  return {
    ...(since !== undefined && { since: Date.parse(since) }),
    ...(endpoint !== undefined && { endpoint }),
    ...(hubId !== undefined && { hubId: Number(hubId) }),
  }
}

const NO_OBJECT: FieldProblem = { field: 'body', problem: 'must be a JSON object' }
const NO_SUCH_ACCOUNT = json(404, { error: 'there is no such account' })

function refusal({ field, problem }: FieldProblem): Answer {
  return json(400, { error: `${field}: ${problem}`, field })
}
