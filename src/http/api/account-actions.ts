import type { NoToken } from '../../tokens/access-token.ts'
import { AccessTokenShape } from '../../views/shapes/account.ts'
import { Problem, unknownAccount } from '../problem.ts'
import type { WebDeps } from '../web-deps.ts'
import { OF_ACCOUNT, route } from './route.ts'

const EXAMPLE = { params: { hubId: '1234567' } }

export const accountActionRoutes = [
  route('showToken', 'GET /accounts/{hubId}/token', {
    scope: 'tokens',
    summary: 'A valid access token of the account',
    description:
      'Refreshed first if need be, once for all who ask. Ask whenever you need one and keep none. Who got one is noted.',
    params: OF_ACCOUNT,
    gives: { description: 'The token.', json: AccessTokenShape },
    problems: [404, 409, 410],
    example: EXAMPLE,
    answer: async (deps, { params: { hubId }, who }) => {
      const answer = await deps.actions.accessToken(hubId, who)
      if (answer.is !== 'served') throw noToken(answer, hubId, deps)
      deps.metrics.tokensServed.inc({ to: who.name })
      return {
        json: {
          accessToken: answer.token.reveal(),
          expiresAt: new Date(answer.expiresAt).toISOString(),
          expiresIn: Math.max(0, Math.floor((answer.expiresAt - deps.clock.now()) / 1000)),
          scopes: [...answer.scopes],
        },
      }
    },
  }),
]

function noToken(answer: NoToken, hubId: number, { publicUrl, clock }: Pick<WebDeps, 'publicUrl' | 'clock'>): Problem {
  const comeBack = (why: string, at: number) => new Problem(503, why, retryAfter(at, clock.now()))
  switch (answer.is) {
    case 'unknown':
      return unknownAccount(hubId)
    case 'gone':
      return new Problem(410, `Account ${hubId} was uninstalled: there is no token of it any more.`)
    case 'reauthorize': {
      const why = `The provider no longer accepts the refresh token of account ${hubId}: the customer must connect again at ${publicUrl}/install.`
      return new Problem(409, why, {}, [], 'reauthorize')
    }
    case 'later':
      return comeBack(
        `There is no valid access token of account ${hubId} at the moment. It is refreshed as soon as the provider lets us.`,
        answer.at,
      )
    case 'unopened':
      return comeBack(`The token of account ${hubId} can't be decrypted: ${answer.why}.`, answer.at)
    case 'unidentified':
      return comeBack(
        `Account ${hubId} was imported, and the provider has not confirmed yet that its token is its own. It is asked soon.`,
        answer.at,
      )
  }
}

function retryAfter(at: number, now: number): { 'retry-after': string } {
  return { 'retry-after': String(Math.max(1, Math.ceil((at - now) / 1000))) }
}
