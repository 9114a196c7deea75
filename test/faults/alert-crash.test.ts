import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createQueues } from '../../jobs/queues.ts'
import { type Alert, alertOf, type Message } from '../../src/alerts/alert.ts'
import { carriedIds } from '../../src/alerts/transition-log.ts'
import type { Store } from '../../src/redis/connect.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { dropQueues, isQuiet, readTransitions } from '../support/after-kills.ts'
import { plimsollHere } from '../support/command.ts'
import { type Daemon, spawnDaemon } from '../support/daemon.ts'
import { dice, type Roll } from '../support/dice.ts'
import { connectAll, eventually, hubIdsOf } from '../support/fleet.ts'
import { Impatience } from '../support/impatience.ts'
import { logLines } from '../support/log-lines.ts'
import { MovedSeries } from '../support/moved-series.ts'
import { type Copy, startRoughHook, startRoughMailServer } from '../support/rough-receivers.ts'
import { say } from '../support/say.ts'
import { type Scene, sceneFor } from '../support/scene.ts'

/** PLIMSOLL_FULL=1: 2,000 transitions, 200 kills. */
const FULL = process.env.PLIMSOLL_FULL === '1'
const TRANSITIONS = FULL ? 2_000 : 80
const KILLS = FULL ? 200 : 6
const SEED = Number(process.env.PLIMSOLL_SEED ?? Date.now() % 1_000_000)
const DAEMONS = 4
const ACCOUNTS = 40
const SERIES = 6

const KEYS = createKeys('plimsoll')

test('daemons killed at random moments, receivers that fail half the time: every transition arrives, and every receiver knows how it stands', async (context) => {
  say(`PLIMSOLL_SEED=${SEED}`)
  const [hook, mails] = await Promise.all([startRoughHook(dice(SEED)), startRoughMailServer(dice(SEED + 1))])
  context.onTestFinished(async () => {
    await Promise.all([hook.stop(), mails.stop()])
  })
  const scene = await sceneFor(context, { accounts: ACCOUNTS, tokenLifetimeMs: 3_600_000 })
  const store = scene.redis.connect()
  const hubIds = await hubIdsOf(scene.sandbox.url)
  const at = { store, keys: KEYS, sandboxUrl: scene.sandbox.url, roll: dice(SEED + 2) }
  const series = new MovedSeries(at, hubIds, SERIES)
  const settings = settingsOf(hook.url, mails.url)
  await connectFleet(scene, settings, series, hubIds)

  const killed = { count: 0 }
  const isEnough = () => killed.count >= KILLS && series.moved >= TRANSITIONS
  const begun = Date.now()
  const queues = createQueues(scene.redis.connect('queues'), KEYS.queues, systemClock, logLines().log)
  context.onTestFinished(() => queues.close())
  const impatience = new Impatience(store, KEYS, queues)
  const killing = Promise.all(
    Array.from({ length: DAEMONS }, (_, n) => keepKilling(scene, settings, killed, isEnough, dice(SEED + 3 + n))),
  )
  let isOver = false
  const moving = (async () => {
    while (!isOver) {
      // No faster than the kills come: neither ends long before the other.
      await series.move(Math.min(TRANSITIONS, Math.ceil((TRANSITIONS * (killed.count + 2)) / KILLS)), Date.now())
      await impatience.look(Date.now())
      await pause(100)
    }
  })()
  await killing
  isOver = true
  await moving
  // Nobody is alive now. The queues hold nothing that does not stand elsewhere: what is due is found again without them.
  await dropQueues(store, KEYS)
  const killSeconds = Math.round((Date.now() - begun) / 1_000)
  const [daemon] = await Promise.all([scene.daemon(settings), scene.daemon(settings)])
  await eventually(
    'the last of it',
    async () => {
      await series.move(0, Date.now())
      await impatience.look(Date.now())
      return (await series.isCommitted()) && (await isQuiet(store, KEYS))
    },
    120_000,
  )

  const log = await readTransitions(store, KEYS)
  const verified = await plimsollHere(
    ['outbox', 'verify', '--json', '--config', await scene.configFile()],
    scene.folder,
  )
  const proof = JSON.parse(verified.out) as Record<string, unknown>
  const byHook = await arrivedByHook(hook.copies)
  const byMail = await arrivedByMail(store, mails.copies)
  const lost = [...log.keys()].flatMap((id) => [
    ...(byHook.has(id) ? [] : [`${id} by webhook`]),
    ...(byMail.has(id) ? [] : [`${id} by mail`]),
  ])
  const copies = [...hook.copies, ...mails.copies]
  const deliveries = new Set(copies.map(({ id }) => id)).size
  say(
    `${log.size} transitions, ${killed.count} kills in ${killSeconds} s: ${deliveries} deliveries in ` +
      `${hook.attempts + mails.attempts} attempts, ${copies.length - deliveries} duplicates, ${lost.length} lost; all there ` +
      `${Math.round((Date.now() - begun) / 1_000)} s after the first`,
  )
  expect(killed.count).toBeGreaterThanOrEqual(KILLS)
  // What was committed is what the sandbox reported, no more and no less, and ends where the series stand.
  expect(log.size).toBe(TRANSITIONS)
  const last = lastLevels(log)
  expect([...series.wanted()].filter(([name, level]) => (last.get(name) ?? 'ok') !== level)).toEqual([])
  expect(lost).toEqual([])
  // Each transition belongs to one delivery of a receiver in the end; one that failed may have arrived before it was overtaken.
  expect([...byMail.values()].filter((ids) => ids.size !== 1)).toEqual([])
  expect(outOfOrder(hook.copies)).toEqual([])
  expect(verified.code).toBe(0)
  expect(proof).toMatchObject({ balanced: true, pending: 0, dead: 0, missing: [], unresolved: [] })
  expect(await daemon.stop()).toBe(0)
})

function settingsOf(hookUrl: string, smtpUrl: string): Record<string, object> {
  return {
    limits: { every: '1h' },
    thresholds: [{ on: 'customProperties.objectType', warning: { percent: 80 }, critical: { percent: 95 } }],
    alerts: { group: { by: ['account'], wait: '200ms', interval: '1s', max: 1_000 } },
    receivers: {
      'ops-mail': { type: 'email', smtp: smtpUrl, from: 'Plimsoll <plimsoll@example.com>', to: ['ops@example.com'] },
      'ops-hook': { type: 'webhook', url: hookUrl, secrets: [`whsec_${Buffer.alloc(32, 3).toString('base64')}`] },
    },
  }
}

/** Every account connected and read once, with nothing to tell. */
async function connectFleet(scene: Scene, settings: Record<string, object>, series: MovedSeries, hubIds: number[]) {
  await series.reportAll()
  const daemon = await scene.daemon(settings)
  await connectAll(daemon.url, hubIds)
  await eventually('a reading of every account', () => series.isRead())
  await daemon.stop()
}

/** One daemon after the other, each killed soon after it is at work, and some while they start. */
async function keepKilling(
  scene: Scene,
  settings: Record<string, object>,
  killed: { count: number },
  isEnough: () => boolean,
  roll: Roll,
) {
  const file = await scene.configFile(settings)
  while (!isEnough()) {
    const daemon = spawnDaemon(file)
    const started = daemon.line(/"daemon.started"/, 0)
    if (roll(8) === 0) {
      started.catch(() => {})
      await pause(roll(800))
    } else {
      await started
      await pause(roll(2_000))
    }
    await mustBeAlive(daemon).kill()
    killed.count++
  }
}

function mustBeAlive(daemon: Daemon): Daemon {
  if (daemon.child.exitCode === null) return daemon
  throw new Error(`a daemon ended by itself:\n${daemon.lines.slice(-20).join('\n')}`)
}

/** Where each series that was ever told of stands by the last that was committed of it. */
function lastLevels(log: ReadonlyMap<string, Alert>): Map<string, string> {
  const levels = [...log.values()].map(({ account, series, status, level }) => {
    return [`${account?.hubId} ${series?.objectTypeId}`, status === 'resolved' ? 'ok' : level] as const
  })
  return new Map(levels)
}

/** Ids of the deliveries that told of each transition, itself or by what supersedes it. */
async function arrivedByHook(copies: readonly Copy[]): Promise<Map<string, Set<string>>> {
  const arrived = new Map<string, Set<string>>()
  for (const { id, body } of copies) {
    const { data } = JSON.parse(body) as Message
    expect(data.truncated).toBe(0)
    for (const alert of data.alerts) {
      for (const transition of [alert.id, ...(alert.supersedes ?? [])]) note(arrived, transition, id)
    }
  }
  return arrived
}

/** Mails are for people: which transitions one tells of stands with its delivery. */
async function arrivedByMail(store: Store, copies: readonly Copy[]): Promise<Map<string, Set<string>>> {
  const arrived = new Map<string, Set<string>>()
  for (const id of new Set(copies.map((copy) => copy.id))) {
    for (const one of carriedIds((await store.hget(KEYS.delivery.delivery(id), 'transitions')) ?? '')) {
      note(arrived, one, id)
    }
  }
  return arrived
}

function note<K>(into: Map<K, Set<string>>, key: K, id: string): void {
  into.set(key, (into.get(key) ?? new Set()).add(id))
}

/** Alerts of which an older transition arrived after a newer one. */
function outOfOrder(copies: readonly Copy[]): string[] {
  const newest = new Map<string, number>()
  return copies.flatMap(({ body }) =>
    (JSON.parse(body) as Message).data.alerts.flatMap(({ id }) => {
      const [alert, number] = [alertOf({ id }), Number(id.split('-').at(-1))]
      const before = newest.get(alert) ?? 0
      newest.set(alert, Math.max(before, number))
      return number < before ? [id] : []
    }),
  )
}
