import type { FastifyInstance, FastifyRequest } from 'fastify'
import { json } from './answer.ts'
import { bearerCaller, withAccount } from './bearer.ts'
import { LIMITS_BASES } from './limits-api.ts'
import { objectType, objectTypesOf } from './object-types.ts'
import { usualLimitsError } from './provider-errors.ts'
import { provide, type SandboxParts } from './provider-route.ts'
import type { RateLimit } from './rate-limit.ts'
import type { AssociationTotals } from './reports.ts'
import { percentage } from './scenario.ts'

/**
 * The endpoints beside the two limits endpoints. The two that name the object types with records at or near a limit
 * answer from the association reports; the rest give a plausible answer that never changes.
 */
export function serveCompanions(server: FastifyInstance, parts: SandboxParts, rate: RateLimit): void {
  const { reports, clock } = parts
  const companions: Record<string, (hubId: number, request: FastifyRequest) => object> = {
    '/associations/records/from': (hubId) => ({
      results: objectTypesIn(reports.busyPairs(hubId), 'from', hubId),
    }),
    '/associations/records/:from/to': (hubId, request) => {
      const { from } = request.params as { from: string }
      const pairs = reports.busyPairs(hubId).filter((pair) => pair.from === from)
      return { results: objectTypesIn(pairs, 'to', hubId) }
    },
    '/associations/labels': (_hubId, request) => associationLabels(request.query as Record<string, string>),
    '/calculated-properties': calculatedProperties,
    '/custom-object-types': () => ({ limit: 10, usage: 4, percentage: percentage(4, 10) }),
    '/pipelines': pipelines,
    '/records': records,
  }
  for (const base of LIMITS_BASES) {
    for (const [path, body] of Object.entries(companions)) {
      provide(server, parts, {
        method: 'GET',
        path: `${base}${path}`,
        endpoint: 'companion',
        identify: (request) => bearerCaller(request, parts),
        usualError: (status, { hubId }) => usualLimitsError(status, hubId, clock.now()),
        answer: (request) =>
          withAccount(request, parts, rate, (hubId, headers) => json(200, body(hubId, request), headers)),
      })
    }
  }
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
  const byObjectType = objectTypesOf(hubId).map((type, place) => ({ ...type, usage: place }))
  return { overallLimit: 200, overallUsage: 28, overallPercentage: percentage(28, 200), byObjectType }
}

function pipelines(hubId: number): object {
  return byOrigin(hubId, 100, (place) => 1 + (place % 3))
}

function records(hubId: number): object {
  return byOrigin(hubId, 15_000_000, (place) => (hubId % 1_000) * 40 + place * 94)
}

/** The shape that splits the provider's own object types from those that the account made up. */
function byOrigin(hubId: number, limit: number, usageOf: (place: number) => number): object {
  const types = objectTypesOf(hubId).map((type, place) => ({ ...type, usage: usageOf(place) }))
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
