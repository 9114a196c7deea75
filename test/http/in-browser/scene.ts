import { encodeEntry } from '../../../src/alerts/outbox.ts'
import { anAlert } from '../../alerts/an-alert.ts'
import type { TestRedis } from '../../support/redis-server.ts'
import { openServer, openState, readings } from '../open-server.ts'

export const HOUR_MS = 3_600_000

type World = Awaited<ReturnType<typeof openServer>>

/** A small fleet on a bad day: open alerts, a delivery that waits and two that were given up, jobs in the queues. */
export async function badDay(redis: TestRedis) {
  return makeBad(await openServer(redis))
}

export async function makeBad(world: World): Promise<World> {
  const { connectAccount, poll, clock, fleetAlerts, queues, deps } = world
  for (const [hubId, hubDomain, level, usage] of [
    [1001, 'acme.example.com', 'critical', 990],
    [1002, 'globex.example.com', 'warning', 850],
    [1003, 'initech.example.com', 'warning', 812],
  ] as const) {
    await connectAccount({ hubId, hubDomain })
    await poll(hubId, readings(clock.now(), usage), { overall: openState(level, 'properties', clock.now() - HOUR_MS) })
  }
  await fleetAlerts({ clock: openState('warning', 'fleet', clock.now() - 60_000) })
  await deps.receiverStore.see(['ops-hook', 'ops-mail'], clock.now())
  await delivery(world, 'd-waits', 'ops-mail', '1-5', 'retry')
  await delivery(world, 'd-dead', 'ops-hook', '1-6', 'dead')
  await delivery(world, 'd-dead-2', 'ops-mail', '1-7', 'dead')
  await queues.refreshTokens.add('chunk', { hubIds: [1001, 1002] })
  return world
}

/** A delivery as a group leaves it, after one attempt. */
async function delivery(
  { steps, keys, clock, deps }: World,
  id: string,
  receiver: string,
  transition: string,
  outcome: 'retry' | 'dead',
): Promise<void> {
  const at = new Date(clock.now()).toISOString()
  const alert = anAlert({
    ...{ level: 'critical', rule: 'properties', measuredAt: at, since: at },
    ...{ account: { hubId: 1001, hubDomain: 'acme.example.com' }, series: { metric: 'customProperties.overall' } },
  })
  const [partition, number] = transition.split('-').map(Number) as [number, number]
  await steps.xadd(keys.partition(partition).log, '*', 'alert', encodeEntry({ alert }), 'number', number)
  const message = { type: 'alert.firing', timestamp: at, data: { groupKey: 'x', truncated: 0, alerts: [alert] } }
  await steps.hset(keys.delivery.delivery(id), {
    ...{ receiver, type: 'alert.firing', message: JSON.stringify(message), transitions: transition },
    ...{ createdAt: clock.now(), attempts: 0 },
  })
  await steps.zadd(keys.delivery.deliveriesDue, clock.now(), id)
  const begun = await deps.deliveries.begin(id, clock.now())
  if (typeof begun !== 'object') throw new Error(`${id} can't be begun`)
  const nextAt = outcome === 'retry' ? clock.now() + 300_000 : null
  const reason = 'answered 500: <b>no</b>'
  await deps.deliveries.record(begun, { outcome, nextAt, reason, ms: 120, answer: 500 }, clock.now())
}
