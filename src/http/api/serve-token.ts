import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import type { AccessTokenAnswer, NoToken } from '../../tokens/access-token.ts'
import { Problem, unknownAccount } from '../problem.ts'
import { hubIdOf } from '../query.ts'

export interface TokenDeps {
  actions: { accessToken(hubId: number, to: string): Promise<AccessTokenAnswer> }
  /** Where people reach this server. */
  publicUrl: string
  metrics: Metrics
  clock: Clock
  log: Logger
}

/** A valid access token of one account, for the vendor's own services. */
export function serveToken(app: FastifyInstance, deps: TokenDeps): void {
  // No HEAD: it would hand a token out to nobody.
  app.get('/accounts/:hubId/token', { exposeHeadRoute: false }, (request) => tokenOf(deps, request))
}

async function tokenOf(deps: TokenDeps, request: FastifyRequest): Promise<object> {
  const hubId = hubIdOf(request)
  const to = request.caller
  const answer = await deps.actions.accessToken(hubId, to)
  if (answer.is !== 'served') throw problemOf(answer, hubId, deps)
  deps.metrics.tokensServed.inc({ to })
  deps.log.info({ code: 'token.served', hubId, to }, 'an access token was handed out')
  return {
    accessToken: answer.token.reveal(),
    expiresAt: new Date(answer.expiresAt).toISOString(),
    expiresIn: Math.max(0, Math.floor((answer.expiresAt - deps.clock.now()) / 1000)),
    scopes: answer.scopes,
  }
}

function problemOf(answer: NoToken, hubId: number, { publicUrl, clock }: TokenDeps): Problem {
  switch (answer.is) {
    case 'unknown':
      return unknownAccount(hubId)
    case 'gone':
      return new Problem(410, `Account ${hubId} was uninstalled: there is no token of it any more.`)
    case 'reauthorize':
      return new Problem(
        409,
        `The provider no longer accepts the refresh token of account ${hubId}: the customer must connect again at ${publicUrl}/install.`,
      )
    case 'later':
      return new Problem(
        503,
        `There is no valid access token of account ${hubId} at the moment. It is refreshed as soon as the provider lets us.`,
        retryAfter(answer.at, clock),
      )
    case 'unidentified':
      return new Problem(
        503,
        `Account ${hubId} was imported, and the provider has not told yet whether its token is its own. It is asked soon.`,
        retryAfter(answer.at, clock),
      )
  }
}

function retryAfter(at: number, clock: Clock): { 'retry-after': string } {
  return { 'retry-after': String(Math.max(1, Math.ceil((at - clock.now()) / 1000))) }
}
