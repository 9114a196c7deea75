import fc from 'fast-check'
import { expect, test } from 'vitest'
import { encodeState } from '../../src/alerts/alert-state.ts'
import type { AccountState } from '../../src/redis/keys.ts'
import { type ListedAccount, seedListed } from '../accounts/search/seed-listed.ts'
import { redisOfFile } from '../support/of-file.ts'
import { runs } from '../support/runs.ts'
import { openLastingServer, openState } from './open-server.ts'

const redis = redisOfFile()
const HOUR = 3_600_000

interface GeneratedAlert {
  field: 'token' | 'overall' | 'poll'
  level: 'warning' | 'critical'
  isAcknowledged: boolean
}

interface GeneratedAccount {
  state: AccountState
  isNamed: boolean
  /** How long ago each was due, or read, hours. */
  refresh: number
  poll: number
  uninstall: number
  read: number
  alerts: GeneratedAlert[]
  isSilenced: boolean
}

const hours = fc.constantFrom(-1, 0, 1, 30)
const account: fc.Arbitrary<GeneratedAccount> = fc.record({
  state: fc.constantFrom('active', 'active', 'failing', 'parked', 'reauthorize', 'uninstalling', 'uninstalled'),
  isNamed: fc.boolean(),
  refresh: hours,
  poll: hours,
  uninstall: hours,
  read: hours,
  alerts: fc.uniqueArray(
    fc.record({
      field: fc.constantFrom('token', 'overall', 'poll'),
      level: fc.constantFrom('warning', 'critical'),
      isAcknowledged: fc.boolean(),
    }),
    { maxLength: 3, selector: ({ field }) => field },
  ),
  isSilenced: fc.integer({ min: 0, max: 3 }).map((one) => one === 0),
})

type Server = Awaited<ReturnType<typeof openLastingServer>>

const TOKENS: readonly AccountState[] = ['active', 'failing', 'parked']
const domainOf = (hubId: number) => `n${hubId}.example.com`

async function seed({ steps, keys, clock, silences }: Server, fleet: readonly GeneratedAccount[]): Promise<void> {
  const names = await steps.keys(`{${keys.prefix}}:*`)
  if (names.length > 0) await steps.del(...names)
  const now = clock.now()
  for (const [n, one] of fleet.entries()) {
    const [hubId, at] = [n + 1, (ago: number) => now - ago * HOUR]
    const { due } = keys
    const isKept = TOKENS.includes(one.state)
    const listed: ListedAccount = {
      hubId,
      hubDomain: one.isNamed ? domainOf(hubId) : '',
      state: one.state,
      ...(isKept ? { refresh: at(one.refresh), poll: at(one.poll), readAt: at(one.read) } : {}),
    }
    await seedListed(steps, keys, [listed])
    await steps.hset(keys.account(hubId).account, 'expiresAt', now + HOUR)
    if (one.state === 'uninstalling') await steps.zadd(due.uninstall, at(one.uninstall), hubId)
    for (const { field, level, isAcknowledged } of one.alerts) {
      const acknowledged = { at: now, by: 'ann', until: now + HOUR }
      const state = { ...openState(level, field, now - HOUR), ...(isAcknowledged ? { acknowledged } : {}) }
      await steps.hset(keys.account(hubId).alerts, field, encodeState(state))
      await steps.sadd(keys.alerting, hubId)
    }
    if (!one.isSilenced) continue
    const matchers = [{ name: 'account' as const, value: String(hubId) }]
    await silences.add({ matchers, author: 'ann', comment: 'moves', createdAt: now, endsAt: now + HOUR })
  }
}

/** What each list should hold: hub ids, or an account and a level for each alert. */
function model(fleet: readonly GeneratedAccount[]) {
  const isKept = ({ state }: GeneratedAccount) => TOKENS.includes(state)
  const isHandled = (one: GeneratedAccount, alert: GeneratedAlert) => alert.isAcknowledged || one.isSilenced
  const idsOf = (is: (one: GeneratedAccount) => boolean) => fleet.flatMap((one, n) => (is(one) ? [n + 1] : []))
  const handled = idsOf((one) => one.alerts.some((alert) => alert.field === 'token' && isHandled(one, alert)))
  const polled = idsOf(isKept)
  const stale = idsOf((one) => isKept(one) && one.read >= 30)
  const inState = (state: AccountState) => idsOf((one) => one.state === state)
  const toHandle = (ids: number[]) => (ids.every((id) => handled.includes(id)) ? [] : ids)
  const openAt = (level: string) =>
    fleet.flatMap((one, n) =>
      one.alerts.filter((alert) => alert.level === level && !isHandled(one, alert)).map(() => n + 1),
    )
  return {
    lists: {
      'state=reauthorize': toHandle(inState('reauthorize')),
      'state=failing': toHandle(inState('failing')),
      'overdue=refresh': idsOf((one) => isKept(one) && one.refresh > 0),
      'overdue=poll': idsOf((one) => isKept(one) && one.poll > 0),
      'overdue=uninstall': idsOf((one) => one.state === 'uninstalling' && one.uninstall > 0),
      'stale=1': stale.length > polled.length * 0.05 ? stale : [],
    } as Record<string, number[]>,
    alerts: { critical: openAt('critical'), warning: openAt('warning') },
    handled: fleet.flatMap((one) => one.alerts.filter((alert) => isHandled(one, alert))).length,
  }
}

const LIST_OF: Record<string, string> = {
  'refresh token refused': 'state=reauthorize',
  'refresh fails': 'state=failing',
  'refresh overdue': 'overdue=refresh',
  'poll overdue': 'overdue=poll',
  'uninstall overdue': 'overdue=uninstall',
  'no fresh reading': 'stale=1',
}

const numbersIn = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, id]) => Number(id))
const ascending = (ids: Iterable<number>) => [...ids].sort((a, b) => a - b)

async function checkAccounts(server: Server, href: string, says: string, lists: Record<string, number[]>) {
  const [, name = '', more = '0', what = ''] = /^(.+?)(?: and (\d+) more accounts?)?: (.+)$/.exec(says) ?? []
  const list = Object.entries(LIST_OF).find(([words]) => what.startsWith(words))?.[1] ?? what
  const expected = lists[list] ?? []
  const subject = Number(/\d+/.exec(name)?.[0])
  expect(expected, says).toContain(subject)
  expect(Number(more) + 1, says).toBe(expected.length)
  if (expected.length === 1) return expect(href).toBe(`/accounts/${subject}`)
  expect(href).toBe(`/accounts?${list}`)
  const { text } = await server.get(href)
  const [, shown = ''] = text.split('data-live="accounts"')
  expect(ascending(new Set(numbersIn(shown, /href="\/accounts\/(\d+)"/g))), href).toEqual(expected)
}

async function checkAlerts(server: Server, href: string, says: string, open: Record<string, number[]>) {
  const level = says.includes('critical') ? 'critical' : 'warning'
  const expected = open[level] ?? []
  expect(says).toMatch(new RegExp(`^${expected.length} (critical alerts?|warnings?); worst: `))
  expect(expected, says).toContain(Number(/worst: \D*(\d+)/.exec(says)?.[1]))
  expect(href).toBe(`/alerts?level=${level}&mark=active`)
  const [, shown = ''] = (await server.get(href)).text.split('data-live="alerts"')
  expect(ascending(numbersIn(shown, /href="\/alerts\/[\da-f]{16}\?account=(\d+)"/g)), href).toEqual(expected)
}

test('whatever the fleet is, each line of "Needs action" names an account in that very state, and leads to all of them', async () => {
  const server = await openLastingServer(redis)
  const check = async (fleet: GeneratedAccount[]) => {
    await seed(server, fleet)
    const { lists, alerts, handled } = model(fleet)
    const { text } = await server.get('/')
    // A pause of HubSpot ends by itself.
    expect(/<section class="needs-action".*?<\/section>/s.exec(text)?.[0] ?? '').not.toContain('paused by HubSpot')
    const lines = [
      ...text.matchAll(/<li class="(?:critical|warning)"><a href="([^"]+)">([^<]+)<\/a> <span>([^<]+)<\/span>/g),
    ]
    const named = lines.map(([, href = '', name = '', says = '']) => {
      const path = href.replaceAll('&amp;', '&')
      return [path, path.startsWith('/alerts') ? `${name}; ${says}` : says] as const
    })
    for (const [href, says] of named) {
      if (href.startsWith('/alerts')) await checkAlerts(server, href, says, alerts)
      else await checkAccounts(server, href, says, lists)
    }
    const wanted = Object.values(lists).filter((ids) => ids.length > 0)
    expect(named.filter(([href]) => href.startsWith('/accounts'))).toHaveLength(wanted.length)
    const status = (await server.get('/api/v1/status')).json
    const { critical, warning } = alerts
    expect(status.alerts).toMatchObject({ critical: critical.length, warning: warning.length, handled })
    // No alert is lost between the lines.
    if (named.length === 0) expect([...critical, ...warning]).toEqual([])
  }
  try {
    await fc.assert(fc.asyncProperty(fc.array(account, { minLength: 1, maxLength: 9 }), check), {
      numRuns: runs(15, 60),
    })
  } finally {
    await server.close()
  }
})
