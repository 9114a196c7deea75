import * as z from 'zod'
import { ACCOUNT_SORTS, ALERT_FILTERS, placeText } from '../../accounts/search/account-query.ts'
import { ACCOUNT_STATES } from '../../redis/keys.ts'
import { accountDetailsJson, accountJson, readAccountView, withPlan } from '../../views/account-view.ts'
import { explanationJson } from '../../views/explanation-json.ts'
import { readExplanation } from '../../views/read-explanation.ts'
import { AccountDetailsShape, AccountShape } from '../../views/shapes/account.ts'
import { ExplanationShape } from '../../views/shapes/explanation.ts'
import { unknownAccount } from '../problem.ts'
import { atMost, cursor, oneOf } from '../query.ts'
import { placeOf, searchAccounts, tagOf } from '../search-accounts.ts'
import { nextOf } from './next-of.ts'
import { OF_ACCOUNT, ok, pageOf, route, TAKES_NOTHING } from './route.ts'

export const listAccounts = route({
  ...TAKES_NOTHING,
  ...{ id: 'listAccounts', method: 'GET', path: '/accounts', scope: 'read' },
  summary: 'Accounts, searched, filtered and ordered',
  description:
    'An account that moves in the order between two pages may be listed twice or not at all; by hub id none does.',
  query: z.strictObject({
    q: z
      .string('must be given once')
      .max(200, 'is longer than 200 characters')
      .default('')
      .describe('Only accounts whose hub id begins so, or whose domain has this in it.'),
    state: oneOf(ACCOUNT_STATES).optional().describe('Only accounts in this state.'),
    stale: oneOf(['true', 'false']).default('false').describe('`true`: only those without a fresh reading.'),
    alert: oneOf(ALERT_FILTERS).optional().describe('Only those with an open alert, or one of this level.'),
    tag: z.string('must be given once').optional().describe('Only those that bear this tag of the config.'),
    sort: oneOf(ACCOUNT_SORTS)
      .default('hubId')
      .describe('`refresh`, `poll`: when it is due next; `nearest`: how near its nearest limit it is.'),
    order: oneOf(['asc', 'desc']).default('asc').describe('Accounts that have nothing to be ordered by come last.'),
    limit: atMost(500, 100),
    after: cursor(z.string('must be given once').max(400, 'is too long')).optional(),
  }),
  answers: {
    200: { description: 'A page of accounts.', json: pageOf(AccountShape, 'In the order that was asked for.') },
  },
  ...{ problems: [400], example: { query: { state: 'active', limit: '2' } } },
  answer: async (deps, { query: { q, stale, tag, order, after = '', ...query } }) => {
    const { accounts, next } = await searchAccounts(deps, {
      ...query,
      ...{ text: q.trim(), stale: stale === 'true', descending: order === 'desc' },
      ...{ after: placeOf('after', after, query.sort), tag: tag === undefined ? undefined : tagOf(deps.tags, tag) },
    })
    const items = await Promise.all(accounts.map((account) => withPlan(deps.due, account)))
    return ok({ items: items.map(accountJson), ...nextOf(next === undefined ? undefined : placeText(next)) })
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
  summary: 'Why alerts of an account were sent, or were not',
  description: 'What `plimsoll alerts explain` shows.',
  params: OF_ACCOUNT,
  answers: { 200: { description: 'Reading, rule, state, what holds it back, each attempt.', json: ExplanationShape } },
  ...{ problems: [404], example: { params: { hubId: '1234567' } } },
  answer: async (deps, { params: { hubId } }) => {
    const explained = await readExplanation(deps, hubId)
    if (explained === undefined) throw unknownAccount(hubId)
    return ok(explanationJson(explained))
  },
})
