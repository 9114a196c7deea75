import { tendHistory } from '../../jobs/tend-history.ts'
import { sendAlerts } from '../../src/alerts/sending/send-alerts.ts'
import type { Silence } from '../../src/alerts/silence.ts'
import { storeForecasts } from '../../src/limits/forecast/stored-forecasts.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { metadata } from '../accounts/connected.ts'
import { associations, properties } from '../limits/reports.ts'
import { reads, tokens } from './fake-provider.ts'
import type { TestRedis } from './redis-server.ts'
import { openLastingWorld } from './world.ts'

/** All of one partition, so that a step on many of them meets each. */
export const [ONE, SPOILED, OTHER] = [65, 129, 193] as const
const DAY_MS = 86_400_000
const never = new AbortController().signal
/** Between their polls. */
export const EVERY_MS = 900_000

/** Three accounts that have everything: numbers near their limits, records, a history, a forecast, open alerts. */
export async function spoiledFleet(redis: TestRedis, keys: Keys) {
  const w = await openLastingWorld(redis, {
    prefix: keys.prefix,
    provider: {
      refresh: async (token) => tokens(token.reveal().replace('refresh', 'access'), undefined, 365 * DAY_MS),
      metadata: async (token) => metadata({ hubId: Number(token.reveal().split('-').at(-1)) }),
      customProperties: reads(properties(850)),
      associations: reads(associations(500, [480], 2)),
    },
    settings: {
      limits: { every: '15m', soonest: '15m', associations: [{ from: '0-1', to: '0-2' }] },
      thresholds: [{ name: 'full', on: '*', warning: { percent: 80 } }],
      alerts: { firstRun: 'alert' },
    },
  })
  const { services, store, clock, logged, close } = w
  const { due, registry } = services
  /** As a daemon does it: what is due is claimed, refreshed, polled, and tended; then too few fresh readings would be told. */
  const round = async () => {
    await w.work('refresh-tokens')
    await w.work('poll-limits')
    await tendHistory(services, never)
    await due.nearestExpiry()
    await due.countOverdue(clock.now())
  }
  for (const hubId of [ONE, SPOILED, OTHER]) {
    const tokens = { accessToken: `access-${hubId}`, refreshToken: `refresh-${hubId}` }
    await w.account({ hubId, hubDomain: `n${hubId}.example.com`, ...tokens, lifeMs: 365 * DAY_MS })
  }
  await round()
  w.says.customProperties = reads(properties(900))
  clock.move(EVERY_MS)
  await round()
  const pace = { perDay: 10, perDayLow: 10, perDayHigh: 10, leap: 0, bend: 0 }
  const own = keys.account(SPOILED)
  await storeForecasts(store, keys, SPOILED, { at: clock.now(), rising: { overall: pace }, tooFew: {} })
  await store.set(own.paused, clock.now() - 1)
  await store.hset(own.account, {
    refreshing: `1.5 ${clock.now()}`,
    contact: 'ada@acme.example.com',
  })
  // Of two receivers the one is sent the alerts, and the other waits for them.
  const held: Silence = {
    id: 's-1',
    matchers: [],
    author: 'me',
    comment: '',
    createdAt: 0,
    endsAt: Number.MAX_SAFE_INTEGER,
  }
  const group = { by: ['account' as const], waitMs: 0, intervalMs: 0, max: 200 }
  for (const [receiver, silences] of [['ops', []] as const, ['night', [held]] as const]) {
    const other = receiver === 'ops' ? 'night' : 'ops'
    const configs = async () => ({ own: receiver, others: [other] })
    const told = { ...services.sending, group, routes: [{ to: [receiver] }], receivers: [receiver], configs }
    await sendAlerts({ ...told, silences: { active: async () => [...silences] } }, clock.now())
  }
  return { store, clock, logged, round, registry, due, close }
}
