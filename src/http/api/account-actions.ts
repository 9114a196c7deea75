import * as z from 'zod'
import type { Who } from '../../audit/audited.ts'
import type { NoToken } from '../../tokens/access-token.ts'
import { polledJson } from '../../views/account-now-json.ts'
import { AccessTokenShape, ContactShape, PolledShape, UninstallShape } from '../../views/shapes/account.ts'
import { Problem, unknownAccount } from '../problem.ts'
import { mailbox } from '../query.ts'
import { requireRedis } from '../redis-away.ts'
import type { WebDeps } from '../web-deps.ts'
import { OF_ACCOUNT, route } from './route.ts'

const EXAMPLE = { params: { hubId: '1234567' } }

const UNINSTALL_BODY = z
  .strictObject({
    reason: z
      .string('must be a text')
      .trim()
      .min(1, 'must not be empty')
      .max(200, 'is too long')
      .optional()
      .describe('Why: it is kept in the log and with the account.'),
  })
  .optional()

const UNINSTALL = {
  description:
    'At once nothing works for the account any more; a job deletes its refresh token at the provider, and later all that is ' +
    'kept of it is forgotten.',
  params: OF_ACCOUNT,
  body: UNINSTALL_BODY,
  answers: {
    200: { description: 'It was asked for before.', json: UninstallShape },
    202: { description: 'It is begun.', json: UninstallShape },
  },
  problems: [400, 404],
  example: { params: { hubId: '7654321' }, body: { reason: 'left us' } },
  answer: (
    deps: WebDeps,
    { params, body, who }: { params: z.output<typeof OF_ACCOUNT>; body: z.output<typeof UNINSTALL_BODY>; who: Who },
  ) => beginUninstall(deps, params.hubId, body?.reason, who),
}

export const accountActionRoutes = [
  route('showToken', 'GET /accounts/{hubId}/token', {
    scope: 'tokens',
    summary: 'A valid access token of the account',
    description:
      'Refreshed first if need be, once for all who ask. Ask whenever you need one and keep none. Who got one is noted.',
    params: OF_ACCOUNT,
    answers: { 200: { description: 'The token.', json: AccessTokenShape } },
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

  route('pollAccount', 'POST /accounts/{hubId}/poll', {
    summary: "Read the account's limits now",
    description:
      'As the daemon does when they are due: what is read is stored and alerted on. It takes as long as it takes.',
    params: OF_ACCOUNT,
    answers: { 200: { description: 'The result; `outcome` shows whether all was read.', json: PolledShape } },
    problems: [404],
    example: EXAMPLE,
    answer: async ({ actions, registry, store }, { params: { hubId }, who }) => {
      await requireRedis(store)
      if ((await registry.get(hubId)) === undefined) throw unknownAccount(hubId)
      const { account, reason } = await actions.poll(hubId, who)
      return { json: polledJson(hubId, account, reason) }
    },
  }),

  route('setContact', 'PUT /accounts/{hubId}/contact', {
    summary: "Set the account's own contact",
    description: 'Who gets what a receiver with `to: account` sends about this account.',
    params: OF_ACCOUNT,
    body: z.strictObject({ contact: mailbox() }),
    answers: { 200: { description: 'It is set.', json: ContactShape } },
    problems: [400, 404],
    example: { ...EXAMPLE, body: { contact: 'ada@acme.example.com' } },
    answer: (deps, { params: { hubId }, body: { contact }, who }) => changeContact(deps, hubId, contact, who),
  }),

  route('removeContact', 'DELETE /accounts/{hubId}/contact', {
    summary: "Take the account's own contact away",
    params: OF_ACCOUNT,
    answers: { 200: { description: 'It has none.', json: ContactShape } },
    problems: [404],
    example: EXAMPLE,
    answer: (deps, { params: { hubId }, who }) => changeContact(deps, hubId, null, who),
  }),

  route('uninstallAccount', 'POST /accounts/{hubId}/uninstall', { ...UNINSTALL, summary: 'Uninstall an account' }),

  route('deleteAccount', 'DELETE /accounts/{hubId}', {
    ...UNINSTALL,
    summary: 'Uninstall an account: the same by another method',
  }),
]

async function changeContact({ actions, store }: WebDeps, hubId: number, contact: string | null, who: Who) {
  await requireRedis(store)
  if ((await actions.setContact(hubId, contact, who)) === 'unknown') throw unknownAccount(hubId)
  return { json: { hubId, contact } }
}

async function beginUninstall(
  { actions, registry, store }: Pick<WebDeps, 'actions' | 'registry' | 'store'>,
  hubId: number,
  given: string | undefined,
  who: Who,
) {
  await requireRedis(store)
  const outcome = await actions.uninstall(hubId, given ?? 'asked for over the HTTP API', who)
  if (outcome === 'unknown') throw unknownAccount(hubId)
  if (outcome === 'begun') return { status: 202, json: { hubId, state: 'uninstalling' } } as const
  const account = await registry.get(hubId)
  return { json: { hubId, state: account?.state ?? 'uninstalled' } }
}

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
