import fastify, { type FastifyInstance } from 'fastify'
import { DueSets } from '../../src/accounts/due-sets.ts'
import { Registry } from '../../src/accounts/registry.ts'
import { Directory } from '../../src/accounts/search/directory.ts'
import { SilenceStore } from '../../src/alerts/silence-store.ts'
import { showAccounts } from '../../src/http/pages/accounts.ts'
import { showOperatorPage } from '../../src/http/pages/page.ts'
import { CoverageStore } from '../../src/limits/coverage.ts'
import { packPoll } from '../../src/limits/findings.ts'
import { mergeReadings } from '../../src/limits/readings.ts'
import type { Store } from '../../src/redis/connect.ts'
import { createKeys, type Keys } from '../../src/redis/keys.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { allAccounts, type PlannedAccount } from '../../src/views/account-view.ts'
import { type ListedAccount, seedListed } from '../accounts/search/seed-listed.ts'
import { changeWatch } from '../support/changed-watch.ts'
import { startRedis } from '../support/redis-server.ts'
import { accountOf, fetchedOf } from './accounts.ts'
import type { Figure } from './figure.ts'

const A_PAGE = 50
const MOST_READ = 10_000
/** Of so many accounts one is near a limit. */
const NEAR = 10
const ASKED = 5
/** What a person takes for at once. */
const PAGE = { unit: 'ms per page', goal: { of: 'ours', atMost: 300 } } as const

/**
 * U1, the page of accounts, as an operator asks for it and the server makes it: search by a part of a domain, the nearest
 * limits, a page from the middle of the fleet by next poll, and the first search after a start, which reads all names. Against
 * what this page did before: it read records, 500 at a time, and gave up after 10,000 of them.
 */
export function accountsPage(fleet: number): Figure {
  const among = `of ${fleet.toLocaleString('en-US')} accounts`
  return {
    id: 'U1',
    rows: [
      { what: `accounts page ${among}, found by a part of the domain; lower is better`, ...PAGE },
      { what: `accounts page ${among}, worst first; lower is better`, ...PAGE },
      { what: `accounts page ${among}, nearest limit first; lower is better`, ...PAGE },
      { what: `accounts page ${among}, from the middle, by next poll; lower is better`, ...PAGE },
      { what: `accounts page ${among}, first search after a start; lower is better`, unit: 'ms per page' },
    ],
    open: async () => {
      const redis = await startRedis()
      const store = redis.connect('pages')
      const keys = createKeys('bench')
      const at = Date.UTC(2026, 0, 1)
      await fill(store, keys, fleet, at)
      const wanted = `-${fleet / 2 + 7}.`
      const middle = `${ID_FROM}~${at + fleet / 2}`
      const paths = [`?q=${wanted}`, '', '?sort=nearest', `?sort=poll&after=${middle}`]
      const served = serve(store, keys)
      // So that the first page of the first round is like any other.
      await pageOf(served, paths[0] ?? '')
      return {
        ours: async () => {
          const times: number[] = []
          for (const path of paths) times.push(await msOf(ASKED, () => pageOf(served, path)))
          const anew = serve(store, keys)
          return [...times, await msOf(1, () => pageOf(anew, paths[0] ?? ''))]
        },
        reference: async () => {
          const bySearch = await msOf(1, () => readOn(store, keys, ({ hubDomain }) => hubDomain.includes(wanted)))
          const byOrder = await msOf(1, () => readOn(store, keys, () => true))
          return [bySearch, byOrder, byOrder, byOrder, bySearch]
        },
        close: async () => {
          await redis.stop()
        },
      }
    },
  }
}

const ID_FROM = 20_000_000

/** Straight into Redis; who is near a limit has the numbers that say so. */
async function fill(store: Store, keys: Keys, fleet: number, at: number): Promise<void> {
  const accounts = Array.from({ length: fleet }, (_, n): ListedAccount => {
    // In no order, and no two at the same moment.
    const moment = at + ((n * 7_919) % fleet)
    return {
      ...{
        hubId: ID_FROM + n * 79,
        hubDomain: `customer-${n}.example.com`,
        state: n % 100 === 0 ? 'failing' : 'active',
      },
      ...{ refresh: moment, poll: moment, readAt: moment },
      ...(n % NEAR === 0 ? { nearest: 100 + ((n * 31) % 500) / 10 } : {}),
    }
  })
  await seedListed(store, keys, accounts)
  const { readings } = packPoll(mergeReadings(undefined, fetchedOf(accountOf(ID_FROM), at)), undefined)
  const near = accounts.filter(({ nearest }) => nearest !== undefined)
  await Promise.all(near.map(({ hubId }) => changeWatch(store, keys, hubId, { polledAt: at }, readings)))
}

function serve(store: Store, keys: Keys): FastifyInstance {
  const app = fastify()
  app.decorateRequest('signedIn', true)
  const deps = {
    ...{
      store,
      keys,
      registry: new Registry(store, keys),
      due: new DueSets(store, keys),
      clock: systemClock,
      tags: {},
    },
    silences: new SilenceStore(store, keys, {}),
    directory: new Directory(store, keys),
    coverage: new CoverageStore(store, keys, { objective: 0.95, freshnessMs: 86_400_000 }),
  }
  const verdicts = {
    read: async () => ({ level: 'ok', says: 'All is well.', troubles: [] }) as const,
    forget: () => {},
  }
  app.get('/accounts', async (request, reply) =>
    showOperatorPage(verdicts, request, reply, await showAccounts(deps, request)),
  )
  return app
}

async function pageOf(app: FastifyInstance, query: string): Promise<void> {
  const { statusCode, body } = await app.inject({ url: `/accounts${query}` })
  if (statusCode !== 200 || !body.includes('.example.com</a>')) throw new Error(`no page: ${statusCode} ${query}`)
}

/** As many as a page has, by next poll. */
async function readOn(store: Store, keys: Keys, isWanted: (account: PlannedAccount) => boolean): Promise<void> {
  const deps = { registry: new Registry(store, keys), due: new DueSets(store, keys) }
  const found: PlannedAccount[] = []
  let read = 0
  for await (const account of allAccounts(deps, ['active', 'failing'])) {
    if (isWanted(account)) found.push(account)
    if (++read === MOST_READ) break
  }
  const page = found.sort((a, b) => (a.nextPollAt ?? 0) - (b.nextPollAt ?? 0)).slice(0, A_PAGE)
  if (page.length > A_PAGE) throw new Error('not a page')
}

async function msOf(times: number, run: () => Promise<void>): Promise<number> {
  const from = performance.now()
  for (let n = 0; n < times; n++) await run()
  return (performance.now() - from) / times
}
