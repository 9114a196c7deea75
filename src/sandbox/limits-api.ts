import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Answer, json, rawJson } from './answer.ts'
import { objectType } from './object-types.ts'
import {
  anyError,
  expiredAuthentication,
  invalidAuthentication,
  missingScopes,
  rateLimited,
  usualLimitsError,
} from './provider-errors.ts'
import { type Caller, type ProviderRoute, provide, type SandboxParts } from './provider-route.ts'
import { ACCOUNT_RATE } from './rate.ts'
import { type AskedPair, REPORT_TABLE } from './report-table.ts'
import type { BusyPair } from './reports.ts'
import { FEWER_LIMIT_SCOPES, LIMIT_SCOPES, type ScopeRule } from './scopes.ts'
import type { Hub } from './world.ts'

/** Paths of the limits endpoints: v3, and the dated versions, which are the same in all but the path and some scopes. */
const LIMITS_BASES: readonly (readonly [base: string, scopes: ScopeRule])[] = [
  ['/crm/v3/limits', LIMIT_SCOPES],
  ['/crm/limits/2026-03', LIMIT_SCOPES],
  ['/crm/limits/2026-09', FEWER_LIMIT_SCOPES],
]

/** A GET below each of these bases: its name in the journal, and its answer to a call that may be made. */
interface LimitsRoute {
  readonly path: string
  readonly endpoint: ProviderRoute['endpoint']
  readonly scopes?: ScopeRule | undefined
  readonly answer: (account: Hub, asked: AskedPair) => Answer
}

export function serveLimits(server: FastifyInstance, parts: SandboxParts): void {
  for (const { path, endpoint, answer, scopes: own } of [...reportRoutes(parts), ...companionRoutes(parts)]) {
    for (const [base, usual] of LIMITS_BASES) {
      const scopes = own ?? usual
      provide(server, parts, {
        method: 'GET',
        path: `${base}${path}`,
        endpoint,
        identify: (request) => bearerCaller(request, parts),
        usualError: (status, { hubId }) =>
          usualLimitsError(status, { hubId, now: parts.clock.now(), scopes: scopes.named }),
        answer: (request) =>
          withAccount(request, parts, scopes, (account) => answer(account, request.params as AskedPair)),
      })
    }
  }
}

function reportRoutes({ world }: SandboxParts): LimitsRoute[] {
  return REPORT_TABLE.map((report) => ({
    path: report.path,
    endpoint: report.name,
    scopes: report.scopes,
    answer: (account, asked) => {
      const lack = account.reports.lacks[report.name]
      if (lack === 'empty') return json(200, {})
      return lack === undefined
        ? rawJson(200, account.reports.text(report, world.momentOf(account), asked))
        : anyError(lack)
    },
  }))
}

/** The two that name the object types with records at or near a limit, by the association reports. */
function companionRoutes({ world }: SandboxParts): LimitsRoute[] {
  const listed = (account: Hub, side: 'from' | 'to', isWanted: (pair: BusyPair) => boolean) => {
    const pairs = account.reports.busyPairs(world.momentOf(account)).filter(isWanted)
    return json(200, { results: objectTypesIn(pairs, side, account.hubId) })
  }
  return [
    {
      path: '/associations/records/from',
      endpoint: 'companion',
      answer: (account) => listed(account, 'from', () => true),
    },
    {
      path: '/associations/records/:from/to',
      endpoint: 'companion',
      answer: (account, asked) => listed(account, 'to', ({ from }) => from === asked.from),
    },
  ]
}

/** The account of the access token that a request carries, even if the token has expired. */
function bearerCaller(request: FastifyRequest, { world }: Pick<SandboxParts, 'world'>): Caller {
  const { from, to } = request.params as { from?: string; to?: string }
  return { hubId: world.hubIdOf(bearerOf(request)), from: clipped(from), to: clipped(to) }
}

/** Lets a call through that comes with a live token, within its account's rate and scopes. */
function withAccount(
  request: FastifyRequest,
  { world, clock }: Pick<SandboxParts, 'world' | 'clock'>,
  scopes: ScopeRule,
  work: (account: Hub) => Answer,
): Answer {
  const token = world.accessToken(bearerOf(request))
  if (token === undefined) return invalidAuthentication()
  const now = clock.now()
  if (world.isExpired(token)) return expiredAuthentication(token.expiresAt, now)
  const { account, scopes: granted } = token.grant
  const remaining = account.rate.take(now)
  const answered = () => (scopes.allows(granted) ? work(account) : missingScopes(scopes.named))
  const answer = remaining < 0 ? rateLimited(account.hubId) : answered()
  const headers = { ...RATE_HEADERS, 'x-hubspot-ratelimit-remaining': String(Math.max(0, remaining)) }
  return { ...answer, headers: { ...answer.headers, ...headers } }
}

const RATE_HEADERS = {
  'x-hubspot-ratelimit-interval-milliseconds': String(ACCOUNT_RATE.perMs),
  'x-hubspot-ratelimit-max': String(ACCOUNT_RATE.requests),
}

function bearerOf(request: FastifyRequest): string {
  return /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? ''
}

/** The journal keeps object type ids, not other text in their place. */
function clipped(id: string | undefined): string | undefined {
  return id?.slice(0, 40)
}

function objectTypesIn(pairs: readonly BusyPair[], side: 'from' | 'to', hubId: number): object[] {
  return [...new Set(pairs.map((pair) => pair[side]))].map((id) => {
    const its = pairs.filter((pair) => pair[side] === id)
    return {
      ...objectType(hubId, id),
      hasRecordsAtLimit: its.some((pair) => pair.hasRecordsAtLimit),
      hasRecordsNearLimit: its.some((pair) => pair.hasRecordsNearLimit),
    }
  })
}
