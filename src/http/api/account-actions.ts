import * as z from 'zod'
import { polledJson, refreshedJson } from '../../views/account-now-json.ts'
import { PolledShape, RefreshedShape, UninstallShape } from '../../views/shapes/account.ts'
import type { RefreshedAnswer } from '../actions.ts'
import { Problem, unknownAccount } from '../problem.ts'
import { requireRedis } from '../redis-away.ts'
import type { ApiDeps } from './api-deps.ts'
import { OF_ACCOUNT, ok, route, TAKES_NOTHING } from './route.ts'

const EXAMPLE = { params: { hubId: '1234567' } }

export const pollAccount = route({
  ...TAKES_NOTHING,
  ...{ id: 'pollAccount', method: 'POST', path: '/accounts/{hubId}/poll', scope: 'write' },
  summary: "Read the account's limits now",
  description:
    'As the daemon does when they are due: what is read is stored and alerted on. It takes as long as it takes.',
  params: OF_ACCOUNT,
  answers: { 200: { description: 'The result; `outcome` shows whether all was read.', json: PolledShape } },
  ...{ problems: [404], example: EXAMPLE },
  answer: async ({ actions, registry, store }, { params: { hubId } }) => {
    await requireRedis(store)
    if ((await registry.get(hubId)) === undefined) throw unknownAccount(hubId)
    const { account, reason } = await actions.poll(hubId)
    return ok(polledJson(hubId, account, reason))
  },
})

export const refreshAccount = route({
  ...TAKES_NOTHING,
  ...{ id: 'refreshAccount', method: 'POST', path: '/accounts/{hubId}/refresh', scope: 'write' },
  summary: "Refresh the account's tokens now",
  description: 'At once, unless the next attempt is planned after one that failed.',
  params: OF_ACCOUNT,
  answers: { 200: { description: 'They are refreshed.', json: RefreshedShape } },
  ...{ problems: [404, 409, 410, 502, 503], example: EXAMPLE },
  answer: async ({ actions, store, clock }, { params: { hubId } }) => {
    await requireRedis(store)
    const refreshed = await actions.refresh(hubId)
    if (refreshed.is !== 'refreshed') throw notRefreshed(hubId, refreshed, clock.now())
    return ok(refreshedJson(refreshed.account))
  },
})

function notRefreshed(hubId: number, refreshed: Exclude<RefreshedAnswer, { is: 'refreshed' }>, now: number): Problem {
  if (refreshed.is === 'unknown') return unknownAccount(hubId)
  const { is, why, until } = refreshed
  const status = { gone: 410, held: 409, planned: 409, closed: 503, failed: 502 }[is]
  const seconds = until === undefined ? undefined : Math.max(1, Math.ceil((until - now) / 1000))
  const headers: Record<string, string> = seconds === undefined ? {} : { 'retry-after': String(seconds) }
  return new Problem(status, `Account ${hubId} was not refreshed: ${why}.`, headers)
}

const UNINSTALL = {
  ...TAKES_NOTHING,
  scope: 'write',
  description:
    'At once nothing works for the account any more; a job deletes its refresh token at the provider, and later all that is ' +
    'kept of it is forgotten.',
  params: OF_ACCOUNT,
  body: z
    .strictObject({
      reason: z
        .string('must be a text')
        .trim()
        .min(1, 'must not be empty')
        .max(200, 'is too long')
        .optional()
        .describe('Why: it is kept in the log and with the account.'),
    })
    .optional(),
  answers: {
    200: { description: 'It was asked for before.', json: UninstallShape },
    202: { description: 'It is begun.', json: UninstallShape },
  },
  problems: [400, 404],
  example: { params: { hubId: '7654321' }, body: { reason: 'left us' } },
  answer: async (
    deps: ApiDeps,
    asked: { params: { hubId: number }; body: { reason?: string | undefined } | undefined },
  ) => beginUninstall(deps, asked.params.hubId, asked.body?.reason),
} as const

export const uninstallAccount = route({
  ...UNINSTALL,
  ...{ id: 'uninstallAccount', method: 'POST', path: '/accounts/{hubId}/uninstall' },
  summary: 'Uninstall an account',
})

export const deleteAccount = route({
  ...UNINSTALL,
  ...{ id: 'deleteAccount', method: 'DELETE', path: '/accounts/{hubId}' },
  summary: 'Uninstall an account: the same by another method',
})

async function beginUninstall({ actions, registry, store }: ApiDeps, hubId: number, given: string | undefined) {
  await requireRedis(store)
  const outcome = await actions.uninstall(hubId, given ?? 'asked for over the HTTP API')
  if (outcome === 'unknown') throw unknownAccount(hubId)
  if (outcome === 'begun') return { status: 202, json: { hubId, state: 'uninstalling' } } as const
  const account = await registry.get(hubId)
  return ok({ hubId, state: account?.state ?? 'uninstalled' })
}
