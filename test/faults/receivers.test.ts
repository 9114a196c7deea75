import { readdirSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createQueues } from '../../jobs/queues.ts'
import { readOpenIds } from '../../src/alerts/open-alerts.ts'
import type { OutgoingDelivery } from '../../src/delivery/receiver.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { proveOutbox } from '../../src/views/verify-outbox.ts'
import { openAlertPath } from '../support/alert-path.ts'
import { plimsollHere } from '../support/command.ts'
import { dice } from '../support/dice.ts'
import { connectAll, eventually, hooksOf, hubIdsOf, mailsOf, send } from '../support/fleet.ts'
import { Impatience } from '../support/impatience.ts'
import { logLines } from '../support/log-lines.ts'
import { MovedSeries } from '../support/moved-series.ts'
import { redisOfFile } from '../support/of-file.ts'
import { say } from '../support/say.ts'
import { sceneFor } from '../support/scene.ts'

const redis = redisOfFile()
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const OBJECT_TYPES = [{ on: 'customProperties.objectType', warning: { percent: 80 }, critical: { percent: 95 } }]

test('a receiver that is dead for days holds up no other; what was for it is given up after three days, and a replay brings all of it', async () => {
  const arrived = { dead: new Set<string>(), alive: [] as number[] }
  let isDead = true
  const { store, keys, clock, services, ...path } = await openAlertPath(
    redis,
    { warning: { percent: 80 } },
    {
      dead: ({ message }) => {
        if (isDead) return { outcome: 'retry', reason: 'connection refused' }
        for (const id of idsIn(message)) arrived.dead.add(id)
        return { outcome: 'delivered' }
      },
      alive: ({ message }) => {
        arrived.alive.push(...message.data.alerts.map(({ measuredAt }) => clock.now() - Date.parse(measuredAt)))
        return { outcome: 'delivered' }
      },
    },
  )
  const begun = clock.now()
  const readOpen = async () => readOpenIds(store, keys, await services.registry.alerting())
  const proof = () => proveOutbox({ store, keys, readOpen, now: () => clock.now(), pause: async () => undefined })
  await path.poll(500)
  // For a day it goes up and down, each time half an hour; then nothing more for four days.
  for (let n = 0; n < 48; n++) {
    await path.live(HOUR / 2)
    await path.poll(n % 2 === 0 ? 900 : 500)
  }
  expect(await proof()).toMatchObject({ inOutbox: 1, waiting: 0, dead: 0, balanced: true })
  await path.live(2 * 24 * HOUR)
  const midway = await proof()
  expect(midway.balanced).toBe(true)
  expect(midway.dead).toBe(0)
  await path.live(2 * 24 * HOUR)
  const { dead, ...given } = await proof()
  expect(given).toMatchObject({ pending: 0, missing: [], unresolved: [], balanced: true })
  expect(dead).toBeGreaterThan(0)
  // The other one had each within the group's wait.
  expect(arrived.alive).toHaveLength(48)
  expect(Math.max(...arrived.alive)).toBeLessThanOrEqual(30_000)

  isDead = false
  await services.deliveries.replay({ since: begun, receiver: 'dead' }, clock.now())
  expect(await proof()).toMatchObject({ pending: dead, dead: 0, balanced: true })
  await path.live(MINUTE)
  expect(arrived.dead.size).toBe(48)
  expect(arrived.alive).toHaveLength(48)
  expect(await proof()).toMatchObject({ pending: 0, dead: 0, balanced: true })
})

test.concurrent('a receiver that takes 15 seconds and more for each message delays nobody else', async (context) => {
  const accounts = 40
  const scene = await sceneFor(context, { accounts, tokenLifetimeMs: 3_600_000 })
  const { url } = scene.sandbox
  await send(`${url}/sandbox/faults`, 'POST', { endpoint: 'hooks', delayMs: 60_000 })
  const daemon = await scene.daemon({ limits: { every: '1h' }, thresholds: OBJECT_TYPES })
  const hubIds = await hubIdsOf(url)
  const keys = createKeys('plimsoll')
  const series = new MovedSeries({ store: scene.redis.connect(), keys, sandboxUrl: url, roll: dice(1) }, hubIds, 2)
  await series.reportAll()
  await connectAll(daemon.url, hubIds)
  await eventually('readings', () => series.isRead())
  let firstAt = 0
  const come = async () => {
    await series.move(2 * accounts, Date.now())
    const mails = await mailsOf(url)
    if (firstAt === 0 && mails.length > 0) firstAt = Date.now()
    return new Set(mails.map(({ subject }) => hubIn(subject))).size === accounts
  }
  await eventually('a mail of every account', come)
  const seconds = (Date.now() - firstAt) / 1_000
  say(`beside a webhook that answers nothing, the mails of ${accounts} accounts came within ${seconds.toFixed(1)} s`)
  // One after the other, each behind a webhook that is given up after 15 s, they would take minutes.
  expect(seconds).toBeLessThan(30)
  expect(await hooksOf(url)).toEqual([])
})

test.concurrent('a Redis that crashes amid all this and loses its last seconds: the last of each series is told', async (context) => {
  const scene = await sceneFor(context, { accounts: 20, tokenLifetimeMs: 3_600_000 })
  const { sandbox, redis: own } = scene
  const settings = {
    limits: { every: '1h' },
    thresholds: OBJECT_TYPES,
    alerts: { group: { by: ['account'], wait: '100ms', interval: '200ms', max: 1_000 } },
  }
  const daemon = await scene.daemon(settings)
  const hubIds = await hubIdsOf(sandbox.url)
  const keys = createKeys('plimsoll')
  const store = own.connect()
  const series = new MovedSeries({ store, keys, sandboxUrl: sandbox.url, roll: dice(2) }, hubIds, 5)
  await series.reportAll()
  await connectAll(daemon.url, hubIds)
  await eventually('readings', () => series.isRead())
  const moveTo = (count: number) =>
    eventually(`${count} moves`, async () => {
      await series.move(count, Date.now())
      return series.moved >= count
    })
  // What is told and what moves lie side by side in the file.
  for (let count = 10; count <= 100; count += 10) {
    const before = (await hooksOf(sandbox.url)).length
    await moveTo(count)
    await eventually('a message', async () => (await hooksOf(sandbox.url)).length > before)
  }
  await moveTo(150)
  await own.end('SIGKILL')
  const lost = loseEndOf(join(scene.folder, 'appendonlydir'), 600_000)
  const downAt = Date.now()
  await own.again()
  const backAt = Date.now()
  await moveTo(200)
  await eventually('every move is committed', async () => {
    await series.move(0, Date.now())
    return series.isCommitted()
  })
  const config = await scene.configFile(settings)
  const queues = createQueues(own.connect('queues'), keys.queues, systemClock, logLines().log)
  context.onTestFinished(() => queues.close())
  const impatience = new Impatience(store, keys, queues)
  const proof = await eventually(
    'a quiet outbox',
    async () => {
      await impatience.look(Date.now())
      const { out } = await plimsollHere(['outbox', 'verify', '--json', '--config', config], scene.folder)
      const found = JSON.parse(out) as { pending: number; unresolved: unknown[] }
      return found.pending === 0 && found
      // A connection that the crash took along without a word is replaced after 13 s, its worker after 15.
    },
    90_000,
  )
  say(
    `a Redis that lost ${lost} bytes of its file, of ${series.moved} transitions: ` +
      `${proof.unresolved.length} that were told have no end`,
  )
  // What was told and then lost with its account's state has no end: that alone may be amiss.
  expect(proof).toMatchObject({ missing: [], dead: 0 })
  expect(lost).toBeGreaterThan(0)

  // Forgotten is what was sent after the newest attempt that is known from before, up to the return of Redis: a request that was
  // under way when it crashed still arrives.
  const [known] = await store.xrevrange(keys.delivery.log, downAt, '-', 'COUNT', 1)
  const knownUntil = Number.parseInt(known?.[0] ?? '0', 10)
  const told = new Map<string, { at: number; level: string; isForgotten: boolean }>()
  for (const { time, body } of await hooksOf(sandbox.url)) {
    const sentAt = Date.parse(time)
    const isForgotten = sentAt >= knownUntil && sentAt <= backAt
    for (const { account, series: of, status, level, measuredAt } of body.data.alerts) {
      const name = `${account?.hubId} ${of?.objectTypeId}`
      const at = Date.parse(measuredAt)
      if (at < (told.get(name)?.at ?? 0)) continue
      told.set(name, { at, level: status === 'resolved' ? 'ok' : level, isForgotten })
    }
  }
  const isAmiss = ([name, level]: readonly [string, string]) => {
    const last = told.get(name) ?? { level: 'ok', isForgotten: false }
    // Back where it was before what is forgotten: nothing of it is news.
    return last.level !== level && !last.isForgotten
  }
  expect([...series.wanted()].filter(isAmiss)).toEqual([])
})

function idsIn(message: OutgoingDelivery['message']): string[] {
  return message.data.alerts.flatMap(({ id, supersedes = [] }) => [id, ...supersedes])
}

function hubIn(subject: string): string {
  return /\((\d+)\)/.exec(subject)?.[1] ?? ''
}

/** As a machine that loses power loses what it had not written. Returns how many bytes. */
function loseEndOf(folder: string, most: number): number {
  const [file = ''] = readdirSync(folder).filter((name) => name.endsWith('.incr.aof'))
  const path = join(folder, file)
  const { size } = statSync(path)
  const lost = Math.min(most, Math.floor(size / 2))
  truncateSync(path, size - lost)
  return lost
}
