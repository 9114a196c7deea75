import type { NoToken } from '../../tokens/access-token.ts'
import { AccessTokenShape } from '../../views/shapes/account.ts'
import { Problem, unknownAccount } from '../problem.ts'
import type { ApiDeps } from './api-deps.ts'
import { OF_ACCOUNT, ok, route, TAKES_NOTHING } from './route.ts'

/** A valid access token of one account, for the vendor's own services. */
export const showToken = route({
  ...TAKES_NOTHING,
  ...{ id: 'showToken', method: 'GET', path: '/accounts/{hubId}/token', scope: 'tokens' },
  summary: 'A valid access token of the account',
  description:
    'Refreshed first if need be, once for all who ask. Ask whenever you need one and keep none. Who got one is noted.',
  params: OF_ACCOUNT,
  answers: { 200: { description: 'The token.', json: AccessTokenShape } },
  ...{ problems: [404, 409, 410], example: { params: { hubId: '1234567' } } },
  answer: async (deps, { params: { hubId }, caller: to }) => {
    const answer = await deps.actions.accessToken(hubId, to)
    if (answer.is !== 'served') throw problemOf(answer, hubId, deps)
    deps.metrics.tokensServed.inc({ to })
    deps.log.info({ code: 'token.served', hubId, to }, 'an access token was handed out')
    return ok({
      accessToken: answer.token.reveal(),
      expiresAt: new Date(answer.expiresAt).toISOString(),
      expiresIn: Math.max(0, Math.floor((answer.expiresAt - deps.clock.now()) / 1000)),
      scopes: [...answer.scopes],
    })
  },
})

function problemOf(answer: NoToken, hubId: number, { publicUrl, clock }: ApiDeps): Problem {
  switch (answer.is) {
    case 'unknown':
      return unknownAccount(hubId)
    case 'gone':
      return new Problem(410, `Account ${hubId} was uninstalled: there is no token of it any more.`)
    case 'reauthorize':
      return new Problem(
        409,
        `The provider no longer accepts the refresh token of account ${hubId}: the customer must connect again at ${publicUrl}/install.`,
        {},
        [],
        'reauthorize',
      )
    case 'later':
      return new Problem(
        503,
        `There is no valid access token of account ${hubId} at the moment. It is refreshed as soon as the provider lets us.`,
        retryAfter(answer.at, clock.now()),
      )
    case 'unopened':
      return new Problem(
        503,
        `The token of account ${hubId} can't be decrypted: ${answer.why}.`,
        retryAfter(answer.at, clock.now()),
      )
    case 'unidentified':
      return new Problem(
        503,
        `Account ${hubId} was imported, and the provider has not confirmed yet that its token is its own. It is asked soon.`,
        retryAfter(answer.at, clock.now()),
      )
  }
}

function retryAfter(at: number, now: number): { 'retry-after': string } {
  return { 'retry-after': String(Math.max(1, Math.ceil((at - now) / 1000))) }
}
