import fc from 'fast-check'
import { expect, test } from 'vitest'
import { encodeState } from '../../src/alerts/alert-state.ts'
import type { AccountState } from '../../src/redis/keys.ts'
import { VERDICT_LEVELS, type VerdictLevel } from '../../src/views/shapes/account.ts'
import { type ListedAccount, seedListed } from '../accounts/search/seed-listed.ts'
import { openLastingServer, openState } from '../http/open-server.ts'
import { changePolls } from '../support/changed-polls.ts'
import { redisOfFile } from '../support/of-file.ts'
import { runs } from '../support/runs.ts'

const redis = redisOfFile()
const MINUTE = 60_000

interface GeneratedAlert {
  field: 'token' | 'poll' | 'overall' | 'type/0-1'
  level: 'warning' | 'critical'
  isAcknowledged: boolean
}

interface GeneratedAccount {
  state: AccountState
  /** How long ago each was due, or ended, minutes. */
  refresh: number
  poll: number
  expiry: number
  alerts: GeneratedAlert[]
}

const minutes = fc.constantFrom(-4, 0, 3)
const account: fc.Arbitrary<GeneratedAccount> = fc.record({
  state: fc.constantFrom('active', 'active', 'active', 'failing', 'parked', 'reauthorize'),
  refresh: minutes,
  poll: minutes,
  expiry: fc.constantFrom(-20, -20, 1),
  alerts: fc.uniqueArray(
    fc.record({
      field: fc.constantFrom('token', 'poll', 'overall', 'type/0-1'),
      level: fc.constantFrom('warning', 'critical'),
      isAcknowledged: fc.boolean(),
    }),
    { maxLength: 4, selector: ({ field }) => field },
  ),
})

type Server = Awaited<ReturnType<typeof openLastingServer>>

async function seed({ steps, keys, clock }: Server, fleet: readonly GeneratedAccount[]): Promise<void> {
  const names = await steps.keys(`{${keys.prefix}}:*`)
  if (names.length > 0) await steps.del(...names)
  const now = clock.now()
  for (const [n, one] of fleet.entries()) {
    const [hubId, at] = [n + 1, (ago: number) => now - ago * MINUTE]
    const isKept = one.state !== 'reauthorize'
    const listed: ListedAccount = { hubId, hubDomain: `n${hubId}.example.com`, state: one.state, readAt: now }
    await seedListed(steps, keys, [{ ...listed, ...(isKept ? { refresh: at(one.refresh), poll: at(one.poll) } : {}) }])
    const times = { obtainedAt: at(30), expiresAt: at(one.expiry) }
    await steps.hset(keys.account(hubId).account, times)
    if (one.state === 'active') await steps.zadd(keys.expiry, times.expiresAt, hubId)
    await changePolls(steps, keys, hubId, { polledAt: now })
    for (const { field, level, isAcknowledged } of one.alerts) {
      const acknowledged = { at: now, by: 'ann', until: now + MINUTE }
      const state = { ...openState(level, field, now - MINUTE), ...(isAcknowledged ? { acknowledged } : {}) }
      await steps.hset(keys.account(hubId).alerts, field, encodeState(state))
      await steps.sadd(keys.alerting, hubId)
    }
  }
}

const ranks = (levels: readonly string[]) => levels.map((level) => VERDICT_LEVELS.indexOf(level as VerdictLevel))
const inOrder = (levels: readonly string[]) => expect(ranks(levels), levels.join()).toEqual(ranks(levels).sort())

interface Leveled {
  hubId: number
  level: VerdictLevel
}

/** An account, and a check, have no better level than the worst of the alerts that no operator has handled. */
async function expectLevels({ get }: Server, fleet: readonly GeneratedAccount[]): Promise<void> {
  const [list, page, check, status] = await Promise.all([
    get('/api/v1/accounts?sort=worst'),
    get('/accounts'),
    get('/api/v1/check?all=true'),
    get('/api/v1/status'),
  ])
  const items: Leveled[] = list.json.items
  inOrder(items.map(({ level }) => level))
  const rows = page.text.split('<tr>').slice(2)
  const shown = rows.map((row) => /class="badge \w+">(\w+)</.exec(row)?.[1])
  expect(shown).toEqual(items.map(({ level }) => (level === 'handled' ? 'acknowledged' : level)))
  const checked = new Map(check.json.accounts.map(({ hubId, level }: Leveled) => [hubId, level]))
  for (const { hubId, level } of items) {
    const { json } = await get(`/api/v1/accounts/${hubId}`)
    const { alerts, state, expiry } = fleet[hubId - 1] as GeneratedAccount
    const open = alerts.filter(({ isAcknowledged }) => !isAcknowledged)
    const worst = Math.min(4, ...ranks(open.map((alert) => alert.level)))
    const isKnown = alerts.some(({ field, isAcknowledged }) => field === 'token' && isAcknowledged)
    const isDead = (state === 'reauthorize' || expiry > 0) && !isKnown
    const others = { verdict: json.verdict.level, check: checked.get(hubId) }
    expect({ hubId, ...others }).toEqual({ hubId, verdict: level, check: level === 'handled' ? 'ok' : level })
    expect(ranks([level])[0], JSON.stringify(fleet[hubId - 1])).toBeLessThanOrEqual(isDead ? 0 : worst)
  }
  const { critical, warning, unknown, handled } = status.json.accounts
  const count = (level: string) => items.filter((item) => item.level === level).length
  const counted = { critical: count('critical'), warning: count('warning') }
  expect({ critical, warning, unknown, handled }).toEqual({
    ...counted,
    unknown: count('unknown'),
    handled: count('handled'),
  })
  // Critical even where an operator has acknowledged the alert of that account.
  const isExpired = fleet.some(({ state, expiry }) => state === 'active' && expiry > 0)
  const isFine = critical + warning === 0 && !isExpired
  expect(status.json.verdict.level === 'ok', status.json.verdict.says).toBe(isFine)
  if (critical > 0) expect(status.json.verdict.level).toBe('critical')
}

/** Handled alerts are in no level: they come last. */
async function expectLists({ get }: Server): Promise<void> {
  const { items } = (await get('/api/v1/alerts?mark=active')).json
  const accounts = [...Map.groupBy(items as Leveled[], ({ hubId }) => hubId).values()]
  for (const own of accounts) inOrder(own.map(({ level }) => level))
  inOrder(accounts.map(([first]) => first?.level ?? ''))
  const { troubles } = (await get('/api/v1/status')).json.verdict
  inOrder(troubles.map(({ level }: Leveled) => level))
}

test('whatever the fleet is, an account has one level on every surface, and lists are in the order of levels', async () => {
  const server = await openLastingServer(redis)
  const check = async (fleet: GeneratedAccount[]) => {
    await seed(server, fleet)
    await expectLevels(server, fleet)
    await expectLists(server)
  }
  try {
    await fc.assert(fc.asyncProperty(fc.array(account, { minLength: 1, maxLength: 8 }), check), {
      numRuns: runs(15, 100),
    })
  } finally {
    await server.close()
  }
})
