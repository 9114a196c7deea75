import { deliverDue } from '../../jobs/deliver.ts'
import { sweepAlerts } from '../../jobs/sweep.ts'
import type { AttemptOutcome, OutgoingDelivery, Receiver } from '../../src/delivery/receiver.ts'
import { properties } from '../limits/reports.ts'
import { reads } from './fake-provider.ts'
import type { TestRedis } from './redis-server.ts'
import { openWorld } from './world.ts'

/** What a receiver says to each message. */
export type Says = (delivery: OutgoingDelivery) => AttemptOutcome

const DAY = 24 * 3_600_000

/**
 * The whole way of an alert, from a poll of one account to its receivers, through the jobs' own code and a real Redis; time
 * is moved by hand. `level`: from which usage of 1,000 on it is at one.
 */
export async function openAlertPath(redis: TestRedis, level: object, says: Record<string, Says>) {
  const woken: number[] = []
  const names = Object.keys(says)
  const receivers = Object.entries(says).map(([name, outcome]): [string, Receiver] => [
    name,
    { name, type: 'webhook', send: async (delivery) => outcome(delivery), close: async () => undefined },
  ])
  const w = await openWorld(redis, {
    settings: {
      limits: { every: '1m', soonest: '1m', reports: 'customProperties' },
      thresholds: [{ name: 'properties', on: 'customProperties.overall', ...level }],
      receivers: Object.fromEntries(names.map((name) => [name, { type: 'slack', url: 'https://hooks.example.com/x' }])),
      routes: [{ to: names }],
      alerts: { firstRun: 'alert', repeatEvery: '365d', worse: 'off', group: { by: ['rule'] } },
    },
    change: ({ queues }) => ({
      receivers: new Map(receivers),
      queues: {
        ...queues,
        wake: async (_kind, at) => void woken.push(at),
        look: async () => {},
      },
    }),
  })
  await w.account({ lifeMs: 1_000 * DAY })
  const { services, clock } = w
  const never = new AbortController().signal

  /** Does all that is due now, and says when something is due next. */
  async function doWhatIsDue(): Promise<number | undefined> {
    const next = await sweepAlerts(services)
    await deliverDue(services, { stopping: never, abandon: never })
    const moments = [...(next === undefined ? [] : [next]), ...woken.splice(0)]
    return moments.length === 0 ? undefined : Math.min(...moments)
  }

  return {
    ...w,
    poll: async (usage: number) => {
      w.says.customProperties = reads(properties(usage))
      await w.poll()
    },
    /** Whatever is due meanwhile is done at its moment. */
    live: async (ms: number) => {
      const end = clock.now() + ms
      for (;;) {
        const next = await doWhatIsDue()
        if (next !== undefined && next <= clock.now()) continue
        if (clock.now() >= end) return
        clock.move(Math.min(next ?? end, end) - clock.now())
      }
    },
  }
}
