import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type Answer, json, noContent, send, textOf } from './answer.ts'
import { faultShape } from './faults.ts'
import { fields, wholeFrom } from './fields.ts'
import type { JournalEntry } from './journal.ts'
import { hooksPage, inboxPage, wantsPage } from './pages.ts'
import type { SandboxParts } from './provider-route.ts'
import { rateShape, SlidingWindow } from './rate.ts'
import { type AskedPair, REPORT_TABLE } from './report-table.ts'
import type { Hub } from './world.ts'

/** The paths below `/sandbox` with which tests and people arrange the world and see its events. */
export function serveControl(server: FastifyInstance, parts: SandboxParts): void {
  serveAccounts(server, parts)
  serveReports(server, parts)
  serveFaults(server, parts)
  serveTokens(server, parts)
  serveArrivals(server, parts)
}

function serve(
  server: FastifyInstance,
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  url: string,
  answer: (request: FastifyRequest) => Answer,
): void {
  server.route({ method, url, handler: (request, reply) => send(reply, answer(request)) })
}

/** A path that takes JSON of this shape. */
function take<T>(
  server: FastifyInstance,
  method: 'POST' | 'PUT' | 'PATCH',
  url: string,
  shape: z.ZodType<T>,
  answer: (body: T, request: FastifyRequest) => Answer,
): void {
  serve(server, method, url, (request) => {
    const { data, error } = shape.safeParse(jsonOf(request))
    return error === undefined ? answer(data, request) : refusal(error)
  })
}

function jsonOf(request: FastifyRequest): unknown {
  try {
    return JSON.parse(textOf(request))
  } catch {
    return undefined
  }
}

/** Names the first field that is wrong. */
function refusal({ issues: [issue] }: z.ZodError): Answer {
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
  const field = [...(issue?.path ?? []), ...unknown].join('.')
  return field === ''
    ? json(400, { error: 'body: must be a JSON object', field: 'body' })
    : json(400, { error: `${field}: ${issue?.message}`, field })
}

const accountShape = fields({ hubId: wholeFrom(1), hubDomain: z.string().min(1) })

function serveAccounts(server: FastifyInstance, { world }: SandboxParts): void {
  serve(server, 'GET', '/sandbox/accounts', () => {
    const accounts = [...world.accounts()]
    return json(
      200,
      accounts.map(({ hubId, hubDomain, installed }) => ({ hubId, hubDomain, installed })),
    )
  })
  take(server, 'POST', '/sandbox/accounts', accountShape, ({ hubId, hubDomain }) => {
    if (!world.addAccount(hubId, hubDomain)) return json(409, { error: `account ${hubId} exists already` })
    return json(201, { hubId, hubDomain, installed: false })
  })
  serve(server, 'DELETE', '/sandbox/accounts/:hubId', (request) => {
    const account = accountIn(request, world)
    if (account === undefined) return NO_SUCH_ACCOUNT
    if ((request.query as Record<string, string>).hub === 'deleted') world.deleteAccount(account)
    else world.uninstall(account)
    return noContent()
  })
}

const MOST = 1_000_000_000_000
const countsShape = z.record(
  z.string(),
  fields({ usage: wholeFrom(0, MOST).exactOptional(), limit: wholeFrom(0, MOST).exactOptional() }),
)
const lackShape = z.literal([403, 404, 'empty'])
const planShape = fields(Object.fromEntries(REPORT_TABLE.map(({ name }) => [name, lackShape.exactOptional()])))

function serveReports(server: FastifyInstance, { world }: SandboxParts): void {
  const change = <T>(
    method: 'PUT' | 'PATCH',
    path: string,
    shape: z.ZodType<T>,
    work: (account: Hub, body: T, request: FastifyRequest) => void,
  ) =>
    take(server, method, `/sandbox/accounts/:hubId${path}`, shape, (body, request) => {
      const account = accountIn(request, world)
      if (account === undefined) return NO_SUCH_ACCOUNT
      work(account, body, request)
      return noContent()
    })
  for (const report of REPORT_TABLE) {
    const path = report.controlPath ?? report.path
    change('PUT', path, z.looseObject({}), ({ reports }, _, request) =>
      reports.put(report, request.params as AskedPair, textOf(request)),
    )
    if (report.counts === undefined) continue
    change('PATCH', path, countsShape, ({ reports }, counts) => reports.setCounts(report, counts))
  }
  change('PUT', '/plan', planShape, ({ reports }, lacks) => {
    reports.lacks = lacks
  })
}

function serveFaults(server: FastifyInstance, { faults }: SandboxParts): void {
  serve(server, 'GET', '/sandbox/faults', () => json(200, faults.list()))
  take(server, 'POST', '/sandbox/faults', faultShape, (fault) => {
    faults.add(fault)
    return json(201, fault)
  })
  serve(server, 'DELETE', '/sandbox/faults', () => {
    faults.clear()
    return noContent()
  })
}

const LONGEST_TOKEN_LIFE_MS = 365 * 24 * 3_600_000
const lifetimeShape = fields({ ms: wholeFrom(1_000, LONGEST_TOKEN_LIFE_MS) })

function serveTokens(server: FastifyInstance, { world }: SandboxParts): void {
  take(server, 'PUT', '/sandbox/token-limit', rateShape, (rate) => {
    world.grantRate = new SlidingWindow(rate)
    return noContent()
  })
  serve(server, 'DELETE', '/sandbox/token-limit', () => {
    world.grantRate = undefined
    return noContent()
  })
  take(server, 'PUT', '/sandbox/token-lifetime', lifetimeShape, ({ ms }) => {
    world.tokenLifetimeMs = ms
    return noContent()
  })
}

function serveArrivals(server: FastifyInstance, { journal, mails, hooks }: SandboxParts): void {
  serve(server, 'GET', '/sandbox/requests', (request) => {
    const { endpoint, hubId } = request.query as Record<string, string>
    const isWanted = (entry: JournalEntry) =>
      entry.status !== undefined &&
      (endpoint === undefined || entry.endpoint === endpoint) &&
      (hubId === undefined || entry.hubId === Number(hubId))
    return json(200, journal.all().filter(isWanted))
  })
  serve(server, 'DELETE', '/sandbox/requests', () => {
    journal.clear()
    return noContent()
  })
  serve(server, 'GET', '/sandbox/inbox', (request) =>
    wantsPage(request) ? inboxPage(mails.all()) : json(200, mails.all()),
  )
  serve(server, 'GET', '/sandbox/hooks', (request) =>
    wantsPage(request) ? hooksPage(hooks.all()) : json(200, hooks.all()),
  )
}

function accountIn(request: FastifyRequest, world: SandboxParts['world']): Hub | undefined {
  return world.account(Number((request.params as { hubId: string }).hubId))
}

const NO_SUCH_ACCOUNT = json(404, { error: 'there is no such account' })
