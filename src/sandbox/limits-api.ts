import type { FastifyInstance } from 'fastify'
import { jsonText } from './answer.ts'
import { bearerCaller, withAccount } from './bearer.ts'
import { usualLimitsError } from './provider-errors.ts'
import { provide, type SandboxParts } from './provider-route.ts'
import type { RateLimit } from './rate-limit.ts'

/** Where the limits endpoints live: v3, and the dated versions, which are the same in all but the path. */
export const LIMITS_BASES = ['/crm/v3/limits', '/crm/limits/2025-09', '/crm/limits/2026-03', '/crm/limits/2026-09']

export function serveLimits(server: FastifyInstance, parts: SandboxParts, rate: RateLimit): void {
  const { reports, clock } = parts
  const shared = {
    method: 'GET' as const,
    identify: (request: Parameters<typeof bearerCaller>[0]) => bearerCaller(request, parts),
    usualError: (status: number, { hubId }: { hubId: number | null }) => usualLimitsError(status, hubId, clock.now()),
  }
  for (const base of LIMITS_BASES) {
    provide(server, parts, {
      ...shared,
      path: `${base}/associations/records/:from/:to`,
      endpoint: 'associations',
      answer: (request) => {
        const { from, to } = request.params as { from: string; to: string }
        return withAccount(request, parts, rate, (hubId, headers) =>
          jsonText(200, reports.associations(hubId, from, to), headers),
        )
      },
    })
    provide(server, parts, {
      ...shared,
      path: `${base}/custom-properties`,
      endpoint: 'customProperties',
      answer: (request) =>
        withAccount(request, parts, rate, (hubId, headers) => jsonText(200, reports.customProperties(hubId), headers)),
    })
  }
}
