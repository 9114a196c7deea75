import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Answer, json, noContent, send } from './answer.ts'
import { type FieldProblem, parseFault, wholeNumberProblem } from './faults.ts'
import type { Hooks } from './hooks.ts'
import type { Inbox } from './inbox.ts'
import type { JournalFilter } from './journal.ts'
import { hooksPage, inboxPage } from './mailbox-pages.ts'
import { variesByAccept, wantsPage } from './pages.ts'
import { type SandboxParts, textOf } from './provider-route.ts'
import { parseRate } from './token-limit.ts'
import type { Account } from './world.ts'

/** The paths below `/sandbox` with which tests and people arrange the world and see what happened in it. */
export function serveControl(
  server: FastifyInstance,
  parts: SandboxParts,
  arrivals: { inbox: Inbox; hooks: Hooks },
): void {
  serveAccounts(server, parts)
  serveReports(server, parts)
  serveFaults(server, parts)
  serveTokenLimit(server, parts)
  serveTokenLifetime(server, parts)
  serveArrivals(server, parts, arrivals)
}

function serveAccounts(server: FastifyInstance, { world }: SandboxParts): void {
  server.get('/sandbox/accounts', (_request, reply) => send(reply, json(200, [...world.accounts()].map(accountView))))

  server.post('/sandbox/accounts', (request, reply) => {
    const asked = objectOf(request)
    if ('problem' in asked) return send(reply, refusal(asked.problem))
    const { hubId, hubDomain } = asked.object
    if (typeof hubId !== 'number' || !Number.isSafeInteger(hubId) || hubId < 1) {
      return send(reply, refusal({ field: 'hubId', problem: 'must be a whole number above 0' }))
    }
    if (typeof hubDomain !== 'string' || hubDomain === '') {
      return send(reply, refusal({ field: 'hubDomain', problem: 'must be a text' }))
    }
    if (!world.addAccount(hubId, hubDomain)) return send(reply, json(409, { error: `account ${hubId} exists already` }))
    return send(reply, json(201, { hubId, hubDomain, installed: false }))
  })

  server.delete('/sandbox/accounts/:hubId', (request, reply) => {
    const account = accountIn(request, world)
    if (account === undefined) return send(reply, noSuchAccount())
    if ((request.query as Record<string, string>).hub === 'deleted') world.deleteAccount(account)
    else world.uninstall(account)
    return send(reply, noContent())
  })
}

function serveReports(server: FastifyInstance, { world, reports }: SandboxParts): void {
  const storeReport = (
    request: FastifyRequest,
    reply: FastifyReply,
    store: (hubId: number, text: string, params: Record<string, string>) => void,
  ) => {
    const account = accountIn(request, world)
    if (account === undefined) return send(reply, noSuchAccount())
    const report = objectOf(request)
    if ('problem' in report) return send(reply, refusal(report.problem))
    store(account.hubId, textOf(request), request.params as Record<string, string>)
    return send(reply, noContent())
  }

  server.put('/sandbox/accounts/:hubId/custom-properties', (request, reply) =>
    storeReport(request, reply, (hubId, text) => reports.putCustomProperties(hubId, text)),
  )
  server.put('/sandbox/accounts/:hubId/associations/:from/:to', (request, reply) =>
    storeReport(request, reply, (hubId, text, { from = '', to = '' }) =>
      reports.putAssociations(hubId, from, to, text),
    ),
  )
}

function serveFaults(server: FastifyInstance, { faults }: SandboxParts): void {
  server.get('/sandbox/faults', (_request, reply) => send(reply, json(200, faults.list())))

  server.post('/sandbox/faults', (request, reply) => {
    const asked = objectOf(request)
    if ('problem' in asked) return send(reply, refusal(asked.problem))
    const fault = parseFault(asked.object)
    if ('problem' in fault) return send(reply, refusal(fault))
    faults.add(fault)
    return send(reply, json(201, fault))
  })

  server.delete('/sandbox/faults', (_request, reply) => {
    faults.clear()
    return send(reply, noContent())
  })
}

function serveTokenLimit(server: FastifyInstance, { tokenLimit }: SandboxParts): void {
  server.put('/sandbox/token-limit', (request, reply) => {
    const asked = objectOf(request)
    if ('problem' in asked) return send(reply, refusal(asked.problem))
    const rate = parseRate(asked.object)
    if ('problem' in rate) return send(reply, refusal(rate))
    tokenLimit.set(rate)
    return send(reply, noContent())
  })

  server.delete('/sandbox/token-limit', (_request, reply) => {
    tokenLimit.lift()
    return send(reply, noContent())
  })
}

function serveTokenLifetime(server: FastifyInstance, { world }: SandboxParts): void {
  server.put('/sandbox/token-lifetime', (request, reply) => {
    const asked = objectOf(request)
    if ('problem' in asked) return send(reply, refusal(asked.problem))
    const { ms } = asked.object
    const problem = wholeNumberProblem(ms, 1_000, LONGEST_TOKEN_LIFE_MS)
    if (problem !== undefined) return send(reply, refusal({ field: 'ms', problem }))
    world.changeTokenLifetime(Number(ms))
    return send(reply, noContent())
  })
}

const LONGEST_TOKEN_LIFE_MS = 365 * 24 * 3_600_000

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

  const emptied = { requests: journal, inbox, hooks }
  for (const [name, log] of Object.entries(emptied)) {
    server.delete(`/sandbox/${name}`, (_request, reply) => {
      log.clear()
      return send(reply, noContent())
    })
  }
}

function accountView({ hubId, hubDomain, installed }: Account): object {
  return { hubId, hubDomain, installed }
}

function accountIn(request: FastifyRequest, world: SandboxParts['world']): Account | undefined {
  return world.account(Number((request.params as { hubId: string }).hubId))
}

function objectOf(request: FastifyRequest): { object: Record<string, unknown> } | { problem: FieldProblem } {
  try {
    const value: unknown = JSON.parse(textOf(request))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return { object: value as Record<string, unknown> }
    }
  } catch {
    // Reported below, as for any other body that is no object.
  }
  return { problem: { field: 'body', problem: 'must be a JSON object' } }
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

function refusal({ field, problem }: FieldProblem): Answer {
  return json(400, { error: `${field}: ${problem}`, field })
}

function noSuchAccount(): Answer {
  return json(404, { error: 'there is no such account' })
}
