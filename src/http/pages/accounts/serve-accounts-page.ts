import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import { ACCOUNT_SORTS, ALERT_FILTERS } from '../../../accounts/search/account-query.ts'
import { ACCOUNT_STATES } from '../../../redis/keys.ts'
import { withPlan } from '../../../views/account-view.ts'
import { readNearestLimit } from '../../../views/nearest-limits.ts'
import { check, oneOf } from '../../query.ts'
import { placeOf, searchAccounts, tagOf } from '../../search-accounts.ts'
import { showOperatorPage } from '../page.ts'
import type { PagesDeps } from '../pages-deps.ts'
import type { AccountsAddress } from './accounts-address.ts'
import { accountsPage } from './accounts-page.ts'

export type AccountsPageDeps = Pick<
  PagesDeps,
  'store' | 'keys' | 'registry' | 'directory' | 'due' | 'coverage' | 'clock' | 'tags'
>

const ACCOUNTS_A_PAGE = 50

/** All accounts, searched, filtered and ordered. */
export function serveAccountsPage(app: FastifyInstance, deps: AccountsPageDeps): void {
  app.get('/accounts', (request, reply) => showAccounts(deps, request, reply))
}

const once = (most: number) => z.string('must be given once').max(most, 'is too long')

// The form sends an empty text for "any".
const ACCOUNT_SEARCH = z.object({
  q: once(200).default(''),
  state: oneOf(['', ...ACCOUNT_STATES]).default(''),
  alert: oneOf(['', ...ALERT_FILTERS]).default(''),
  tag: once(200).default(''),
  stale: oneOf(['', '0', '1']).default(''),
  sort: oneOf(['', ...ACCOUNT_SORTS]).default(''),
  order: oneOf(['', 'asc', 'desc']).default(''),
  after: once(400).default(''),
  before: once(400).default(''),
})

async function showAccounts(deps: AccountsPageDeps, request: FastifyRequest, reply: FastifyReply) {
  const asked = addressOf(request.query)
  const { tag, ...query } = asked
  const [page, byState] = await Promise.all([
    searchAccounts(deps, {
      ...query,
      ...(tag === undefined ? {} : { tag: tagOf(deps.tags, tag) }),
      limit: ACCOUNTS_A_PAGE,
    }),
    deps.registry.countByState(),
  ])
  void deps.directory.warm().catch(() => undefined) // Whoever searches is told.
  const now = deps.clock.now()
  const rows = await Promise.all(
    page.accounts.map(async (account) => {
      const [planned, nearest] = await Promise.all([
        withPlan(deps.due, account),
        readNearestLimit(deps, account.hubId, now),
      ])
      return { account: planned, nearest }
    }),
  )
  const { next, previous } = page
  const body = accountsPage({ rows, next, previous, asked, byState, tags: Object.keys(deps.tags), now })
  return showOperatorPage(request, reply, { at: '/accounts', title: 'Accounts', body })
}

function addressOf(query: unknown): AccountsAddress {
  const { q: text, stale, order, ...given } = check(ACCOUNT_SEARCH, query)
  const sort = given.sort || 'worst'
  return {
    ...{ text: text.trim(), sort, descending: order === 'desc', stale: stale === '1' },
    ...{ state: given.state || undefined, alert: given.alert || undefined, tag: given.tag || undefined },
    ...{ after: placeOf('after', given.after, sort), before: placeOf('before', given.before, sort) },
  }
}
