import type { PollWork } from '../../jobs/job-deps.ts'
import { pollLimits } from '../../jobs/poll-limits.ts'
import type { ChunkJob } from '../../jobs/queues.ts'
import { refreshTokens } from '../../jobs/refresh-tokens.ts'
import { repairAccount } from '../../jobs/repair-account.ts'
import { sweep } from '../../jobs/sweep.ts'
import { Registry } from '../../src/accounts/registry.ts'
import { unreadableAnnouncer } from '../../src/alerts/kinds/poll-alert.ts'
import { recheckWaiting } from '../../src/alerts/sending/read-news.ts'
import { sendAlerts } from '../../src/alerts/sending/send-alerts.ts'
import type { Silence } from '../../src/alerts/silence.ts'
import { storeForecasts } from '../../src/limits/forecast/forecast-account.ts'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { ClockWatch } from '../../src/runtime/clock.ts'
import { metadata, pageOf } from '../accounts/connected.ts'
import { alertSettings, EVERY_MS, pollSettings, pollWork } from '../jobs/poll-work.ts'
import { associations, properties } from '../limits/reports.ts'
import { seedAccount } from './accounts.ts'
import { tokens } from './fake-provider.ts'

/** All of one partition, so that a step on many of them meets each. */
export const [ONE, SPOILED, OTHER] = [65, 129, 193] as const
const DAY_MS = 86_400_000
const never = new AbortController().signal

/** Three accounts that have everything: numbers near their limits, records, a history, a forecast, open alerts. */
export async function spoiledFleet(store: Store, keys: Keys) {
  let usage = 850
  const chunks: { kind: 'poll' | 'refresh'; chunk: ChunkJob }[] = []
  const queue = (kind: 'poll' | 'refresh') => ({
    name: kind,
    getWaitingCount: async () => 0,
    addBulk: async (added: { data: ChunkJob }[]) =>
      void chunks.push(...added.map(({ data }) => ({ kind, chunk: data }))),
  })
  const queues = { wake: async () => {}, pollLimits: queue('poll'), refreshTokens: queue('refresh') } as never
  const work = pollWork(
    store,
    keys,
    {
      refresh: async (token) => tokens(token.reveal().replace('refresh', 'access'), undefined, 365 * DAY_MS),
      metadata: async (token) => metadata({ hubId: Number(token.reveal().split('-').at(-1)) }),
      customProperties: async () => ({ ok: true, value: properties(usage) }),
      associations: async () => ({ ok: true, value: associations(500, [480], 2) }),
    },
    {
      queues,
      polling: pollSettings({ associations: [{ from: '0-1', to: '0-2' }] }),
      alerts: alertSettings({ rules: [{ name: 'full', on: '*', warning: { percent: 80 } }] }),
    },
  )
  const { clock, logged, due } = work
  const announceUnreadable = unreadableAnnouncer({ pageOf })
  const repair = (hubId: number) => repairAccount({ ...work.work, queues, announceUnreadable }, hubId)
  const job: PollWork & { uninstallAfterRefusedMs: 'never'; clockWatch: ClockWatch } = {
    ...work.work,
    ...{ repair, uninstallAfterRefusedMs: 'never', clockWatch: new ClockWatch(clock) },
  }
  /** As a daemon does it: what is due is claimed, refreshed, polled; then too few fresh readings would be told. */
  const round = async () => {
    for (const kind of ['refresh-tokens', 'poll-limits'] as const) {
      await sweep(job as never, kind)
      for (const { kind: of, chunk } of chunks.splice(0)) {
        if (of === 'poll') await pollLimits(job, chunk, never)
        else await refreshTokens(job as never, chunk, never)
      }
    }
    await due.nearestExpiry(clock.now())
    await due.countOverdue(clock.now())
  }
  for (const hubId of [ONE, SPOILED, OTHER]) {
    const names = {
      hubDomain: `n${hubId}.example.com`,
      accessToken: `access-${hubId}`,
      refreshToken: `refresh-${hubId}`,
    }
    await seedAccount(store, keys, { hubId, ...names, obtainedAt: clock.now(), lifeMs: 365 * DAY_MS })
  }
  await round()
  usage = 900
  clock.move(EVERY_MS)
  await round()
  const pace = { perDay: 10, perDayLow: 10, perDayHigh: 10, scatter: 0 }
  const own = keys.account(SPOILED)
  await storeForecasts(store, keys, SPOILED, { at: clock.now(), rising: { overall: pace }, tooFew: {} })
  await store.set(own.paused, clock.now() - 1)
  await store.hset(own.account, {
    refreshing: `worker ${clock.now()} ${clock.now()}`,
    contact: 'ada@acme.example.com',
  })
  const registry = new Registry(store, keys)
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
    const told = { store, keys, log: logged.log, group, routes: [{ to: [receiver] }], receivers: [receiver] }
    await recheckWaiting(told, clock.now())
    await sendAlerts({ ...told, silences: { active: async () => [...silences] } }, clock.now())
  }
  return { clock, logged, round, repair, registry, due }
}
