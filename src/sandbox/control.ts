import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Answer, json, noContent, send } from './answer.ts'
import { type FieldProblem, parseFault, wholeNumberProblem } from './faults.ts'
import type { Hooks } from './hooks.ts'
import type { Inbox } from './inbox.ts'
import { hooksPage, inboxPage, variesByAccept, wantsPage } from './pages.ts'
import { type SandboxParts, textOf } from './provider-route.ts'
import { parseRate } from './rate.ts'
import { type Count, REPORT_TABLE } from './report-table.ts'
import type { AccountReports } from './reports.ts'
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

function serveReports(server: FastifyInstance, { world }: SandboxParts): void {
  const take = (
    method: 'PUT' | 'PATCH',
    path: string,
    change: (account: Hub, body: Record<string, unknown>, request: FastifyRequest) => void,
    problemIn: (body: Record<string, unknown>) => FieldProblem | undefined = () => undefined,
  ) =>
    takeObject(server, method, `/sandbox/accounts/:hubId${path}`, (body, request) => {
      const account = accountIn(request, world)
      if (account === undefined) return NO_SUCH_ACCOUNT
      const problem = problemIn(body)
      if (problem !== undefined) return refusal(problem)
      change(account, body, request)
      return noContent()
    })
  for (const report of REPORT_TABLE) {
    const path = report.controlPath ?? report.path
    take('PUT', path, ({ reports }, _, request) =>
      reports.put(report, request.params as { from?: string; to?: string }, textOf(request)),
    )
    if (report.counts === undefined) continue
    const set = ({ reports }: Hub, body: Record<string, unknown>) =>
      reports.setCounts(report, body as Record<string, Partial<Count>>)
    take('PATCH', path, set, countsProblem)
  }
  take(
    'PUT',
    '/plan',
    ({ reports }, body) => {
      reports.lacks = body as AccountReports['lacks']
    },
    lacksProblem,
  )
}

const MOST = 1_000_000_000_000

function countsProblem(value: Record<string, unknown>): FieldProblem | undefined {
  for (const [key, given] of Object.entries(value)) {
    if (typeof given !== 'object' || given === null) return { field: key, problem: 'must be an object' }
    for (const [name, number] of Object.entries(given)) {
      const isKnown = name === 'usage' || name === 'limit'
      const problem = isKnown ? wholeNumberProblem(number, 0, MOST) : 'unknown, allowed are usage, limit'
      if (problem !== undefined) return { field: `${key}.${name}`, problem }
    }
  }
  return undefined
}

function lacksProblem(value: Record<string, unknown>): FieldProblem | undefined {
  const names = REPORT_TABLE.map(({ name }) => name)
  for (const [field, given] of Object.entries(value)) {
    if (!names.some((name) => name === field)) return { field, problem: `unknown, allowed are ${names.join(', ')}` }
    if (given !== 403 && given !== 404 && given !== 'empty') return { field, problem: 'must be 403, 404 or empty' }
  }
  return undefined
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
    const { endpoint } = request.query as Record<string, string>
    return send(reply, json(200, journal.list(endpoint)))
  })
  server.get('/sandbox/inbox', (request, reply) => {
    variesByAccept(reply)
    return send(reply, wantsPage(request) ? inboxPage(inbox.mails()) : json(200, inbox.mails()))
  })
  server.get('/sandbox/hooks', (request, reply) => {
    variesByAccept(reply)
    return send(reply, wantsPage(request) ? hooksPage(hooks.list()) : json(200, hooks.list()))
  })
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

const NO_OBJECT: FieldProblem = { field: 'body', problem: 'must be a JSON object' }
const NO_SUCH_ACCOUNT = json(404, { error: 'there is no such account' })

function refusal({ field, problem }: FieldProblem): Answer {
  return json(400, { error: `${field}: ${problem}`, field })
}
