import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import * as z from 'zod'
import { createQueues } from '../../jobs/queues.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { dropQueues } from '../support/after-kills.ts'
import { plimsollHere } from '../support/command.ts'
import { connectAll, customProperties, eventually, hubIdsOf, send } from '../support/fleet.ts'
import { Impatience } from '../support/impatience.ts'
import { logLines } from '../support/log-lines.ts'
import { sceneFor } from '../support/scene.ts'

const KEYS = createKeys('plimsoll')

const event = z.object({
  routing_key: z.literal('key'),
  event_action: z.enum(['trigger', 'acknowledge', 'resolve']),
  dedup_key: z.string().min(1).max(255),
  payload: z
    .object({
      summary: z.string().min(1).max(1_024),
      source: z.string(),
      severity: z.enum(['critical', 'warning', 'info', 'error']),
    })
    .optional(),
})
type Event = z.infer<typeof event>

/**
 * Refuses what PagerDuty refuses, and keeps incidents as it does: a trigger of a key that is open changes that, of one that is
 * resolved it opens another; what is about no open incident is dropped.
 */
async function startPagerDuty() {
  const far = {
    away: false,
    /** Takes the next event, and never answers. */
    swallows: false,
    asked: 0,
    taken: [] as Event[],
    incidents: [] as { key: string; state: string[] }[],
  }
  const waiting: ServerResponse[] = []
  const take = ({ event_action, dedup_key, payload }: Event) => {
    const open = far.incidents.find(({ key, state }) => key === dedup_key && state.at(-1) !== 'resolved')
    if (event_action === 'trigger' && open === undefined)
      far.incidents.push({ key: dedup_key, state: [payload?.severity ?? ''] })
    else if (event_action === 'trigger') open?.state.push(payload?.severity ?? '')
    else open?.state.push(event_action === 'acknowledge' ? 'acknowledged' : 'resolved')
  }
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      far.asked++
      if (far.away) return response.writeHead(503).end()
      const parsed = event.safeParse(JSON.parse(body))
      if (!parsed.success || (parsed.data.event_action === 'trigger' && parsed.data.payload === undefined))
        return response.writeHead(400).end('{"status":"invalid event"}')
      far.taken.push(parsed.data)
      take(parsed.data)
      if (far.swallows) return waiting.push(response)
      return response.writeHead(202).end('{"status":"success"}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((done) => server.close(done))
  })
  return Object.assign(far, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v2/enqueue` })
}

test('one incident lives through warning, critical, acknowledged, resolved, whatever dies or is away in between', async (context) => {
  const far = await startPagerDuty()
  const scene = await sceneFor(context, { accounts: 1, tokenLifetimeMs: 3_600_000, rotateRefreshTokens: false })
  const store = scene.redis.connect()
  const settings = {
    limits: { every: '1h' },
    thresholds: [{ on: 'customProperties.overall', warning: { percent: 80 }, critical: { percent: 95 } }],
    alerts: { group: { by: ['account'], wait: '100ms', interval: '200ms', max: 100 }, firstRun: 'alert' },
    receivers: { pager: { type: 'pagerduty', routingKey: 'key', url: far.url } },
    routes: [{ to: ['pager'] }],
  }
  const [hubId = 0] = await hubIdsOf(scene.sandbox.url)
  const uses = (usage: number) =>
    send(`${scene.sandbox.url}/sandbox/accounts/${hubId}/custom-properties`, 'PUT', customProperties(usage))
  await uses(500)
  const config = await scene.configFile(settings)
  const plimsoll = async (...args: string[]) => {
    const ran = await plimsollHere([...args, '--config', config], scene.folder)
    expect(ran).toMatchObject({ code: 0 })
    return ran.out
  }
  const queues = createQueues(scene.redis.connect('queues'), KEYS.queues, systemClock, logLines().log)
  context.onTestFinished(() => queues.close())
  const impatience = new Impatience(store, KEYS, queues)
  const soon = (what: string, is: () => boolean) =>
    eventually(what, async () => {
      await impatience.look(Date.now())
      return is()
    })
  let daemon = await scene.daemon(settings)
  await connectAll(daemon.url, [hubId])
  await eventually('the first reading', async () => (await store.exists(KEYS.account(hubId).poll)) === 1)

  const killAndRestart = async () => {
    await daemon.kill()
    await dropQueues(store, KEYS)
    daemon = await scene.daemon(settings)
  }

  /** It happens while the service is away; the daemon dies, dies again with the event taken and not noted, and the service is back. */
  const lives = async (happens: () => Promise<unknown>) => {
    const before = { taken: far.taken.length, asked: far.asked }
    far.away = true
    await happens()
    await soon('an attempt that fails', () => far.asked > before.asked)
    await killAndRestart()
    far.swallows = true
    far.away = false
    await soon('taken, but not answered', () => far.taken.length > before.taken)
    await killAndRestart()
    far.swallows = false
    const swallowed = far.taken.length
    await soon('taken and noted', () => far.taken.length > swallowed)
    await eventually('nothing is on its way', async () => (await store.zcard(KEYS.delivery.receiversDue)) === 0)
  }
  const poll = async (usage: number) => {
    await uses(usage)
    await plimsoll('accounts', 'poll', String(hubId))
  }
  await lives(() => poll(850))
  await lives(() => poll(970))
  await lives(async () => {
    const [alert] = JSON.parse(await plimsoll('alerts', 'list', '--json'))
    await plimsoll('alerts', 'ack', alert.id, '--author', 'ann')
  })
  await lives(() => poll(100))

  const steps = far.taken.map(({ event_action, payload }) => payload?.severity ?? event_action)
  expect(steps.filter((step, n) => step !== steps[n - 1])).toEqual(['warning', 'critical', 'acknowledge', 'resolve'])
  expect(new Set(far.taken.map(({ dedup_key }) => dedup_key)).size).toBe(1)
  expect(far.incidents).toHaveLength(1)
  expect(far.incidents[0]?.state.at(-1)).toBe('resolved')
  expect(await daemon.stop()).toBe(0)
})
