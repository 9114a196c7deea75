import * as z from 'zod'
import { ACCOUNT_STATES } from '../../redis/keys.ts'
import { accountDetailsJson, accountJson, readAccountView, withPlan } from '../../views/account-view.ts'
import { explanationJson } from '../../views/explanation-json.ts'
import { readExplanation } from '../../views/read-explanation.ts'
import { AccountDetailsShape, AccountShape } from '../../views/shapes/account.ts'
import { ExplanationShape } from '../../views/shapes/explanation.ts'
import { unknownAccount } from '../problem.ts'
import { accountCursor, atMost, oneOf } from '../query.ts'
import { searchAccounts } from '../search-accounts.ts'
import { nextOf } from './next-of.ts'
import { OF_ACCOUNT, ok, pageOf, route, TAKES_NOTHING } from './route.ts'

export const listAccounts = route({
  ...TAKES_NOTHING,
  ...{ id: 'listAccounts', method: 'GET', path: '/accounts', scope: 'read' },
  summary: 'Accounts, by hub id',
  query: z.strictObject({
    q: z
      .string('must be given once')
      .max(200, 'is longer than 200 characters')
      .default('')
      .describe(
        'Only the account with this hub id, or those whose hub id begins with this or whose domain has it in it.',
      ),
    state: oneOf(ACCOUNT_STATES).optional().describe('Only accounts in this state.'),
    stale: oneOf(['true', 'false']).default('false').describe('`true`: only those without a fresh reading.'),
    limit: atMost(500, 100),
    after: accountCursor(),
  }),
  answers: { 200: { description: 'A page of accounts.', json: pageOf(AccountShape, 'By hub id, upwards.') } },
  ...{ problems: [400], example: { query: { state: 'active', limit: '2' } } },
  answer: async (deps, { query: { q: text, state, stale, after, limit } }) => {
    const { accounts, next } = await searchAccounts(deps, {
      ...{ text, state, stale: stale === 'true', sort: 'hubId', descending: false },
      ...{ after: after === 0 ? undefined : { hubId: after }, limit },
    })
    const items = await Promise.all(accounts.map((account) => withPlan(deps.due, account)))
    return ok({ items: items.map(accountJson), ...nextOf(next?.hubId) })
  },
})

export const showAccount = route({
  ...TAKES_NOTHING,
  ...{ id: 'showAccount', method: 'GET', path: '/accounts/{hubId}', scope: 'read' },
  summary: 'One account with its series, alerts and story',
  params: OF_ACCOUNT,
  answers: { 200: { description: 'The account.', json: AccountDetailsShape } },
  ...{ problems: [404], example: { params: { hubId: '1234567' } } },
  answer: async (deps, { params: { hubId } }) => {
    const view = await readAccountView(deps, hubId)
    if (view === undefined) throw unknownAccount(hubId)
    return ok(accountDetailsJson(view))
  },
})

export const explainAccount = route({
  ...TAKES_NOTHING,
  ...{ id: 'explainAccount', method: 'GET', path: '/accounts/{hubId}/explanation', scope: 'read' },
  summary: 'Why an account was told of, or was not',
  description: 'What `plimsoll alerts explain` says.',
  params: OF_ACCOUNT,
  answers: { 200: { description: 'Reading, rule, state, what holds it back, each attempt.', json: ExplanationShape } },
  ...{ problems: [404], example: { params: { hubId: '1234567' } } },
  answer: async (deps, { params: { hubId } }) => {
    const explained = await readExplanation(deps, hubId)
    if (explained === undefined) throw unknownAccount(hubId)
    return ok(explanationJson(explained))
  },
})
