import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Registry } from '../../../src/accounts/registry.ts'
import {
  ACCOUNT_SORTS,
  type AccountFilter,
  type AccountOrder,
  type AccountQuery,
  type AccountSort,
  type Ahead,
  ALERT_FILTERS,
  type Place,
  parsePlace,
  placeText,
} from '../../../src/accounts/search/account-query.ts'
import { pageOfAccounts } from '../../../src/accounts/search/search-accounts.ts'
import { ACCOUNT_STATES, type Keys } from '../../../src/redis/keys.ts'
import { NO_ALERT_WRITES } from '../../../src/redis/steps.ts'
import { seedAccount } from '../../support/accounts.ts'
import { redisOfFile } from '../../support/of-file.ts'
import { type ListedAccount, seedListed } from './seed-listed.ts'

const redis = redisOfFile()
const NOW = 1_000_000

function scene() {
  const keys = redis.freshKeys()
  const deps = { store: redis.store, keys, registry: new Registry(redis.store, keys) }
  const search = (query: Partial<AccountQuery>) =>
    pageOfAccounts(deps, { text: '', descending: false, limit: 50, ...query })
  const idsOf = async (query: Partial<AccountQuery>) => (await search(query)).accounts.map(({ hubId }) => hubId)
  return { keys, search, idsOf }
}

/** All pages one after the other, by cursors that have been through an address. */
async function pagesOf(
  search: ReturnType<typeof scene>['search'],
  query: Partial<AccountQuery>,
  way: 'next' | 'previous',
) {
  const pages: number[][] = []
  for (let at: Partial<AccountQuery> = {}; pages.length < 200; ) {
    const page = await search({ ...query, ...at })
    pages.push(page.accounts.map(({ hubId }) => hubId))
    const beside = page[way]
    if (beside === undefined) return pages
    at = { [way === 'next' ? 'after' : 'before']: parsePlace(placeText(beside), query.sort) }
  }
  throw new Error('the pages do not end')
}

/** What has the worst consequence first. */
const STATES = ['reauthorize', 'failing', 'parked', 'active', 'uninstalling', 'uninstalled'] as const

/** What the list should be. */
function modelOf(
  accounts: readonly ListedAccount[],
  { sort, ahead, ...query }: AccountFilter & AccountOrder & Pick<AccountQuery, 'ahead'>,
): number[] {
  if (sort !== 'worst') return modelBy(accounts, { ...query, sort })
  const first = (ahead?.places ?? []).map(({ hubId }) => hubId)
  const [states, known] = query.descending ? [STATES.toReversed(), first.toReversed()] : [STATES, first]
  const matching = known.filter((hubId) => accounts.some((account) => account.hubId === hubId && fits(account, query)))
  const others = states.flatMap((state) =>
    modelBy(
      accounts.filter((account) => account.state === state && !first.includes(account.hubId)),
      { ...query, sort: 'nearest' },
    ),
  )
  return query.descending ? [...others, ...matching] : [...matching, ...others]
}

/** Every third account is ahead of the others, the one with the largest hubId first; two have one rank. */
function aheadOf(accounts: readonly ListedAccount[]): Ahead {
  const rank = ({ key }: Place) => String(key).split('_').map(Number)
  const compare = (a: Place, b: Place) => (rank(a)[0] ?? 0) - (rank(b)[0] ?? 0) || a.hubId - b.hubId
  const places = accounts
    .filter((_, n) => n % 3 === 0)
    .map(({ hubId }): Place => ({ hubId, key: `${-Math.floor(hubId / 50)}_0.5` }))
  return { places: places.toSorted(compare), compare }
}

function modelBy(
  accounts: readonly ListedAccount[],
  query: AccountFilter & AccountOrder & { sort?: Exclude<AccountSort, 'worst'> | undefined },
): number[] {
  const keyOf = (account: ListedAccount) =>
    query.sort === undefined
      ? account.hubId
      : query.sort === 'domain'
        ? account.hubDomain.toLowerCase() || undefined
        : account[query.sort]
  const turn = query.descending ? -1 : 1
  const level = (a: ListedAccount, b: ListedAccount) =>
    query.sort === undefined ? 0 : String(a.hubId) < String(b.hubId) ? -turn : turn
  const found = accounts.filter((account) => fits(account, query))
  const keyed = found.filter((account) => keyOf(account) !== undefined)
  const others = found.filter((account) => keyOf(account) === undefined)
  keyed.sort((a, b) => {
    const [x, y] = [keyOf(a) ?? '', keyOf(b) ?? '']
    return x < y ? -turn : x > y ? turn : level(a, b)
  })
  return [...keyed, ...others.sort((a, b) => a.hubId - b.hubId)].map(({ hubId }) => hubId)
}

function fits(account: ListedAccount, { text, state, staleBefore, overdue, alert, tag }: AccountFilter): boolean {
  const { hubId, hubDomain, level } = account
  const named = text === '' || hubDomain.toLowerCase().includes(text.toLowerCase()) || String(hubId).startsWith(text)
  const tagged =
    tag === undefined ||
    tag.accounts.some((one) => one === String(hubId) || (one === '*acme*' && /acme/i.test(hubDomain)))
  return (
    named &&
    tagged &&
    (state === undefined || account.state === state) &&
    (staleBefore === undefined || (account.readAt !== undefined && account.readAt < staleBefore)) &&
    (overdue === undefined || (account[overdue.kind === 'poll' ? 'poll' : 'refresh'] ?? NOW + 9) <= overdue.since) &&
    (alert === undefined || level === alert || (alert === 'open' && (level === 'warning' || level === 'critical')))
  )
}

// Few values, so that many are level; two partitions among them that have many accounts.
const moment = fc.option(fc.integer({ min: NOW, max: NOW + 4 }), { nil: undefined })
const listed: fc.Arbitrary<ListedAccount> = fc.record({
  hubId: fc.oneof(
    fc.integer({ min: 1, max: 40 }).map((n) => n * 64),
    fc.integer({ min: 1, max: 3_000 }),
    fc.constantFrom(9_007_199_254_740_991, 9_007_199_254_740_927),
  ),
  hubDomain: fc.constantFrom('', 'acme.example.com', 'ACME-2.example.com', 'b.test', 'b2.test', 'zoë.test', '12.test'),
  state: fc.constantFrom(...ACCOUNT_STATES),
  refresh: moment,
  poll: moment,
  nearest: fc.option(fc.constantFrom(0.1, 12.5, 130), { nil: undefined }),
  readAt: moment,
  level: fc.constantFrom(undefined, 'ok', 'warning', 'critical'),
})
const accounts = fc.uniqueArray(listed, { selector: ({ hubId }) => hubId, maxLength: 80 })
const query = fc.record({
  sort: fc.constantFrom(undefined, ...ACCOUNT_SORTS),
  descending: fc.boolean(),
  limit: fc.constantFrom(1, 2, 7, 50),
  text: fc.constantFrom('', '', 'acme', 'TEST', '12', 'nobody'),
  state: fc.constantFrom(undefined, undefined, ...ACCOUNT_STATES),
  staleBefore: fc.constantFrom(undefined, undefined, NOW + 2),
  overdue: fc.option(fc.record({ kind: fc.constantFrom('poll', 'refresh'), since: fc.constant(NOW + 1) }), {
    nil: undefined,
    freq: 1,
  }),
  alert: fc.constantFrom(undefined, undefined, ...ALERT_FILTERS),
  tag: fc.constantFrom(undefined, undefined, { name: 'some', accounts: ['64', '*acme*'] }),
})

describe('a list of accounts', () => {
  test('has each account that matches on exactly one page, in order, in whichever order and direction', async () => {
    await fc.assert(
      fc.asyncProperty(accounts, fc.array(query, { minLength: 4, maxLength: 4 }), async (all, queries) => {
        const { keys, search } = scene()
        await seedListed(redis.store, keys, all)
        for (const asked of queries) {
          // Whoever is named in full is all that is found: a test of its own.
          if (all.some(({ hubId }) => String(hubId) === asked.text)) continue
          const ordered = { ...asked, ahead: asked.sort === 'worst' ? aheadOf(all) : undefined }
          const pages = await pagesOf(search, ordered, 'next')
          expect(pages.flat()).toEqual(modelOf(all, ordered))
          for (const page of pages.slice(0, -1)) expect(page).toHaveLength(asked.limit)
        }
      }),
      { numRuns: 15 },
    )
  })

  test('is the same backwards', async () => {
    await fc.assert(
      fc.asyncProperty(accounts, query, async (all, given) => {
        const { keys, search } = scene()
        await seedListed(redis.store, keys, all)
        const asked = { ...given, ahead: given.sort === 'worst' ? aheadOf(all) : undefined }
        const there = await pagesOf(search, asked, 'next')
        const last = await lastPage(search, asked)
        const back = [last.accounts.map(({ hubId }) => hubId)]
        let page = last
        while (page.previous !== undefined) {
          page = await search({ ...asked, before: page.previous })
          back.unshift(page.accounts.map(({ hubId }) => hubId))
        }
        expect(back.flat()).toEqual(there.flat())
        expect(page.previous).toBeUndefined()
      }),
      { numRuns: 15 },
    )
  })

  test('goes on at the same place while accounts come, go and move', async () => {
    const { keys, search } = scene()
    const at = (hubId: number, poll: number): ListedAccount => ({ hubId, hubDomain: '', state: 'active', poll })
    await seedListed(
      redis.store,
      keys,
      [10, 20, 30, 40, 50, 60].map((hubId) => at(hubId, NOW + hubId)),
    )
    const first = await search({ sort: 'poll', limit: 2 })
    // The last one shown is gone, one that was shown is polled and comes again later, a new one comes in before.
    const { due, state } = keys
    await redis.store.zrem(due.poll, 20)
    await redis.store.zrem(state.active, 20)
    await redis.store.zadd(keys.due.poll, NOW + 900, 10)
    await seedListed(redis.store, keys, [at(15, NOW + 5)])
    const rest = await pagesOf((given) => search({ after: first.next, ...given }), { sort: 'poll', limit: 2 }, 'next')
    expect(rest.flat()).toEqual([30, 40, 50, 60, 10])
  })

  test('whose earlier pages are gone begins anew', async () => {
    const { keys, search } = scene()
    await seedListed(redis.store, keys, [{ hubId: 5, hubDomain: '', state: 'active' }])
    const page = await search({ before: { hubId: 5 } })
    expect(page).toMatchObject({ accounts: [{ hubId: 5 }], next: undefined, previous: undefined })
  })
})

async function lastPage(search: ReturnType<typeof scene>['search'], asked: Partial<AccountQuery>) {
  let page = await search(asked)
  while (page.next !== undefined) page = await search({ ...asked, after: page.next })
  return page
}

describe('a search', () => {
  test('for a hubId in full finds that account alone; for its beginning all that begin so', async () => {
    const { keys, idsOf } = scene()
    const named = (hubId: number, hubDomain: string): ListedAccount => ({ hubId, hubDomain, state: 'active' })
    await seedListed(redis.store, keys, [named(12, ''), named(120, ''), named(7, 'team-12.test'), named(8, 'x.test')])
    expect(await idsOf({ text: '12' })).toEqual([12])
    expect(await idsOf({ text: '1' })).toEqual([7, 12, 120])
    expect(await idsOf({ text: ' TEAM ' })).toEqual([7])
  })

  test('knows of accounts that were connected, renamed or forgotten since the last one', async () => {
    const { keys, idsOf } = scene()
    await seedAccount(redis.store, keys, { hubId: 1, hubDomain: 'first.test', obtainedAt: NOW })
    expect(await idsOf({ text: 'test' })).toEqual([1])
    await seedAccount(redis.store, keys, { hubId: 65, hubDomain: 'second.test', obtainedAt: NOW })
    expect(await idsOf({ text: 'test' })).toEqual([1, 65])
    await seedAccount(redis.store, keys, { hubId: 65, hubDomain: 'other.example', obtainedAt: NOW })
    expect(await idsOf({ text: 'test' })).toEqual([1])
    await forget(keys, 1)
    expect(await idsOf({ text: 'test' })).toEqual([])
  })

  test('looks at a partition of thousands piece by piece', async () => {
    const { keys, search } = scene()
    const many = Array.from({ length: 5_000 }, (_, n): ListedAccount => {
      return { hubId: (n + 1) * 64, hubDomain: `d${n % 10}.test`, state: 'active', poll: NOW + (n % 3) }
    })
    await seedListed(redis.store, keys, many)
    for (const sort of [undefined, 'poll', 'domain'] satisfies (AccountSort | undefined)[]) {
      for (const descending of [false, true]) {
        const asked = { text: 'd7', sort, descending }
        const pages = await pagesOf(search, { ...asked, limit: 300 }, 'next')
        expect(pages.flat()).toEqual(modelOf(many, asked))
      }
    }
    const rare = await search({ state: 'failing', sort: 'poll' })
    expect(rare.accounts).toEqual([])
  })
})

async function forget(keys: Keys, hubId: number): Promise<void> {
  await redis.store.beginUninstall(
    keys.own(hubId),
    hubId,
    NOW,
    'left',
    0,
    JSON.stringify(NO_ALERT_WRITES),
    'cli',
    '',
    '',
  )
  const { account } = keys.account(hubId)
  await redis.store.zrem(keys.state.uninstalling, hubId)
  await redis.store.zadd(keys.state.uninstalled, hubId, hubId)
  await redis.store.hset(account, { state: 'uninstalled', purgeAt: NOW })
  const own = Object.values(keys.account(hubId))
  const is = await redis.store.purgeAccount(account, hubId, NOW, ...own)
  expect(is).toBe('purged')
}

test('a place in an address is one, or nothing', () => {
  expect(parsePlace('12', 'domain')).toEqual({ hubId: 12 })
  expect(parsePlace('12~a~b.test', 'domain')).toEqual({ hubId: 12, key: 'a~b.test' })
  expect(parsePlace('12~-1.5', 'poll')).toEqual({ hubId: 12, key: -1.5 })
  for (const text of ['', 'x', '-1', '01', '12~', '12~x', '12~ ', '12~Infinity', '99999999999999999']) {
    expect(parsePlace(text, 'poll'), text).toBeUndefined()
  }
  expect(parsePlace('12~1', undefined)).toBeUndefined()
  expect(parsePlace('12~0_4_-10000_3.5', 'worst')).toEqual({ hubId: 12, key: '0_4_-10000_3.5' })
  expect(parsePlace('12~3:104.5', 'worst')).toEqual({ hubId: 12, key: '3:104.5' })
  for (const text of ['12~1', '12~1_', '12~1_x', '12~7:', '12~3:x']) expect(parsePlace(text, 'worst')).toBeUndefined()
})
