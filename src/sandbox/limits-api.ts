import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Answer, jsonAnswer } from './answer.ts'
import {
  expiredAuthentication,
  invalidAuthentication,
  missingScopes,
  rateLimited,
  usualLimitsError,
} from './provider-errors.ts'
import { type Caller, provide, type SandboxParts } from './provider-route.ts'
import { RATE_LIMIT, RateLimit } from './rate.ts'
import type { AssociationTotals } from './reports.ts'
import { objectType, percentage, typesOfHub } from './scenario.ts'

/** Where the limits endpoints live: v3, and the dated versions, which are the same in all but the path. */
const LIMITS_BASES = ['/crm/v3/limits', '/crm/limits/2025-09', '/crm/limits/2026-03', '/crm/limits/2026-09']

/** A GET below each of these bases: how it is journalled, and the text that it answers a live token with. */
interface LimitsRoute {
  path: string
  endpoint: 'associations' | 'customProperties' | 'companion'
  body: (hubId: number, request: FastifyRequest) => string
}

export function serveLimits(server: FastifyInstance, parts: SandboxParts): void {
  const rate = new RateLimit()
  for (const { path, endpoint, body } of [...limitsRoutes(parts), ...companionRoutes(parts)]) {
    for (const base of LIMITS_BASES) {
      provide(server, parts, {
        method: 'GET',
        path: `${base}${path}`,
        endpoint,
        identify: (request) => bearerCaller(request, parts),
        usualError: (status, { hubId }) => usualLimitsError(status, hubId, parts.clock.now()),
        answer: (request) =>
          withAccount(request, parts, rate, (hubId, headers) => jsonAnswer(200, body(hubId, request), headers)),
      })
    }
  }
}

function limitsRoutes({ reports }: SandboxParts): LimitsRoute[] {
  return [
    {
      path: '/associations/records/:from/:to',
      endpoint: 'associations',
      body: (hubId, request) => {
        const { from, to } = request.params as { from: string; to: string }
        return reports.associations(hubId, from, to)
      },
    },
    { path: '/custom-properties', endpoint: 'customProperties', body: (hubId) => reports.customProperties(hubId) },
  ]
}

/**
 * The endpoints beside the two limits endpoints. The two that name the object types with records at or near a limit
 * answer from the association reports; the rest give a plausible answer that never changes.
 */
function companionRoutes({ reports }: SandboxParts): LimitsRoute[] {
  const answers: Record<string, (hubId: number, request: FastifyRequest) => object> = {
    '/associations/records/from': (hubId) => ({ results: objectTypesIn(reports.busyPairs(hubId), 'from', hubId) }),
    '/associations/records/:from/to': (hubId, request) => {
      const { from } = request.params as { from: string }
      const pairs = reports.busyPairs(hubId).filter((pair) => pair.from === from)
      return { results: objectTypesIn(pairs, 'to', hubId) }
    },
    '/associations/labels': (_hubId, request) => associationLabels(request.query as Record<string, string>),
    '/calculated-properties': calculatedProperties,
    '/custom-object-types': () => ({ limit: 10, usage: 4, percentage: percentage(4, 10) }),
    '/pipelines': (hubId) => byOrigin(hubId, 100, (place) => 1 + (place % 3)),
    '/records': (hubId) => byOrigin(hubId, 15_000_000, (place) => (hubId % 1_000) * 40 + place * 94),
  }
  return Object.entries(answers).map(([path, answer]) => {
    return { path, endpoint: 'companion', body: (hubId, request) => JSON.stringify(answer(hubId, request)) }
  })
}

/** The account of the access token that a request carries, even if the token has expired. */
function bearerCaller(request: FastifyRequest, { world }: Pick<SandboxParts, 'world'>): Caller {
  const { from, to } = request.params as { from?: string; to?: string }
  return { hubId: world.hubIdOfAccessToken(bearerOf(request)), from: clipped(from), to: clipped(to) }
}

/** Lets a call through that comes with a live token, within its account's rate and scopes. */
function withAccount(
  request: FastifyRequest,
  { world, clock }: Pick<SandboxParts, 'world' | 'clock'>,
  rate: RateLimit,
  answer: (hubId: number, headers: Readonly<Record<string, string>>) => Answer,
): Answer {
  const token = world.accessToken(bearerOf(request))
  if (token === undefined) return invalidAuthentication()
  const now = clock.now()
  if (world.isExpired(token)) return expiredAuthentication(token.expiresAt, now)
  const { hubId } = token.grant.account
  const remaining = rate.take(hubId, now)
  if (remaining < 0) return rateLimited(hubId)
  if (!token.grant.readsLimits) return missingScopes()
  return answer(hubId, { ...RATE_HEADERS, 'x-hubspot-ratelimit-remaining': String(remaining) })
}

const RATE_HEADERS = {
  'x-hubspot-ratelimit-interval-milliseconds': String(RATE_LIMIT.perMs),
  'x-hubspot-ratelimit-max': String(RATE_LIMIT.requests),
}

function bearerOf(request: FastifyRequest): string {
  return /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? ''
}

/** The journal keeps object type ids, not other text in their place. */
function clipped(id: string | undefined): string | undefined {
  return id?.slice(0, 40)
}

function objectTypesIn(pairs: readonly AssociationTotals[], side: 'from' | 'to', hubId: number): object[] {
  return [...new Set(pairs.map((pair) => pair[side]))].map((id) => {
    const its = pairs.filter((pair) => pair[side] === id)
    return {
      ...objectType(hubId, id),
      hasRecordsAtLimit: its.some((pair) => pair.hasRecordsAtLimit),
      hasRecordsNearLimit: its.some((pair) => pair.hasRecordsNearLimit),
    }
  })
}

function associationLabels({ fromObjectTypeId: from, toObjectTypeId: to }: Record<string, string>): object {
  const labels = [
    { fromObjectTypeId: '0-1', toObjectTypeId: '0-2', limit: 50, usage: 3, percentage: 6 },
    { fromObjectTypeId: '0-1', toObjectTypeId: '0-3', limit: 50, usage: 1, percentage: 2 },
  ]
  const results = labels.filter(
    (label) =>
      (from === undefined || label.fromObjectTypeId === from) && (to === undefined || label.toObjectTypeId === to),
  )
  return { results }
}

function calculatedProperties(hubId: number): object {
  const byObjectType = typesOfHub(hubId).map((type, place) => ({ ...type, usage: place }))
  return { overallLimit: 200, overallUsage: 28, overallPercentage: percentage(28, 200), byObjectType }
}

/** The shape that splits the provider's own object types from those that the account made up. */
function byOrigin(hubId: number, limit: number, usageOf: (place: number) => number): object {
  const types = typesOfHub(hubId).map((type, place) => ({ ...type, usage: usageOf(place) }))
  const custom = types.filter((type) => type.objectTypeId.startsWith('2-'))
  const overallUsage = custom.reduce((sum, type) => sum + type.usage, 0)
  return {
    hubspotDefinedObjectTypes: types
      .filter((type) => !custom.includes(type))
      .map((type) => ({ ...type, limit, percentage: percentage(type.usage, limit) })),
    customObjectTypes: {
      overallLimit: limit,
      overallUsage,
      overallPercentage: percentage(overallUsage, limit),
      byObjectType: custom,
    },
  }
}
