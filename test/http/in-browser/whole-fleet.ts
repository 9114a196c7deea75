import { encodeState } from '../../../src/alerts/alert-state.ts'
import { DaemonStore } from '../../../src/heartbeat/daemon-store.ts'
import { ROLES } from '../../../src/heartbeat/roles.ts'
import type { AccountState } from '../../../src/redis/keys.ts'
import { seedListed } from '../../accounts/search/seed-listed.ts'
import type { TestRedis } from '../../support/redis-server.ts'
import { openLastingServer, openState, readings } from '../open-server.ts'
import { connectRichAccount } from './rich-account.ts'
import { makeBad } from './scene.ts'

const MINUTE = 60_000
const HOSTILE = `"><script>window.ran=1</script><b>${'long-'.repeat(12)}`

/** As a config would have them. */
export const EXPLAIN = {
  rules: [
    {
      name: 'sum',
      line: 31,
      on: 'customProperties.overall',
      warning: { percent: 80 },
      critical: { percent: 95, daysLeft: 7 },
    },
    {
      name: 'types',
      line: 32,
      on: 'customProperties.objectType',
      warning: { remaining: 20 },
      critical: { remaining: 5 },
    },
    { name: 'full records', line: 33, on: 'associations.atLimit', warning: { count: 1 }, critical: { count: 50 } },
    { name: 'associations.*', line: 34, on: 'associations.*', warning: { percent: 90 } },
  ],
  ...{ recoverBelow: 3, for: 0, repeatEveryMs: 86_400_000, firstRun: 'digest' as const, alertAfter: 1_800_000 },
  routes: [{ to: ['ops-mail'] }],
  group: { by: ['rule' as const], waitMs: 30_000, intervalMs: 300_000, max: 200 },
}

const STATES: readonly AccountState[] = ['failing', 'parked', 'reauthorize', 'uninstalling', 'uninstalled', 'active']

/** All that pages can show at once: accounts in every state, a rich one, a hostile one, alerts, silences, deliveries, daemons. */
export async function openWholeFleet(redis: TestRedis) {
  const server = await openLastingServer(redis, { explain: EXPLAIN })
  const { steps, keys, clock, connectAccount, poll, deps } = server
  await connectRichAccount(server, 4711)
  await makeBad(server)
  const now = clock.now()
  await steps.hset(keys.account(4711).alerts, 'overall', encodeState(openState('critical', 'sum', now - 86_400_000)))
  await connectAccount({ hubId: 4712, hubDomain: HOSTILE, user: HOSTILE, scopes: ['oauth', HOSTILE] })
  await poll(4712, readings(now, 960, { label: HOSTILE }), { overall: openState('critical', HOSTILE, now - MINUTE) })
  await steps.zadd(keys.partition(keys.partitionOf(4712)).nearest, now, 4712)
  await steps.zadd(keys.partition(keys.partitionOf(4711)).nearest, now + 1, 4711)
  await seedListed(
    steps,
    keys,
    Array.from({ length: 60 }, (_, n) => {
      const state = STATES[n % STATES.length] ?? 'active'
      return {
        ...{ hubId: 20_000_000 + n * 79, hubDomain: n % 9 === 8 ? '' : `customer-${n}.example.com`, state },
        ...(state === 'active' ? { refresh: now + n * MINUTE, poll: now + n * 3 * MINUTE, readAt: now - MINUTE } : {}),
      }
    }),
  )
  const daemons = new DaemonStore(steps, keys)
  const ops = {
    name: 'ops-1.example.com pid 4711',
    version: '1.2.0',
    startedAt: now - 90_000_000,
    config: 'a1b2c3',
    roles: ROLES,
  }
  await daemons.report({ ...ops, lastSeenAt: now - 4_000 })
  await daemons.report({ ...ops, name: 'ops-2.example.com pid 815', lastSeenAt: now - 400_000 })
  await deps.actions.silence({
    matchers: [{ name: 'account', value: '1003' }],
    ...{ author: 'ann', comment: HOSTILE, createdAt: now, endsAt: now + 7_200_000 },
  })
  return server
}
