import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Alert } from '../../src/alerts/alert.ts'
import { loadReadings } from '../../src/limits/load-readings.ts'
import type { Store } from '../../src/redis/connect.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { formatCount } from '../../src/text/format-number.ts'
import { readOutboxBalance } from '../../src/views/outbox-balance.ts'
import { seedAccount, vaultKey } from '../support/accounts.ts'
import { plimsollHere } from '../support/command.ts'
import type { Daemon } from '../support/daemon.ts'
import { type Answer, json, startFarSide } from '../support/far-side.ts'
import { customProperties, eventually, hooksOf, mailsOf } from '../support/fleet.ts'
import { say } from '../support/say.ts'
import { sceneFor } from '../support/scene.ts'

const ACCOUNTS = 10_000
const FIRST = 1_000_001
const MAX = 200
const INTERVAL_S = 15
/** Of each receiver, however many accounts cross: a handful, and one more for each interval that a busy machine takes. */
const mostMessages = (crossedMs: number) => 4 + crossedMs / 1_000 / INTERVAL_S

const KEYS = createKeys('plimsoll')

test('a threshold that is lowered so that the whole fleet crosses it at once is a handful of messages, and each crossing is in the log', async (context) => {
  const provider = await startFarSide()
  provider.answer = limitsOfAll
  context.onTestFinished(() => provider.stop())
  const scene = await sceneFor(context, { accounts: 1 })
  const store = scene.redis.connect()
  await seedFleet(store)
  const settings = (percent: number) => ({
    provider: { baseUrl: provider.url },
    encryption: { keys: [{ id: vaultKey.id, key: vaultKey.key.toString('base64') }] },
    limits: { every: '1h' },
    thresholds: [{ on: 'customProperties.overall', critical: { percent } }],
    alerts: { group: { wait: '3s', interval: `${INTERVAL_S}s`, max: MAX } },
  })

  const before = await scene.daemon(settings(95))
  await eventually('a reading of every account', () => haveReadings(store))
  expect(await before.stop()).toBe(0)
  expect(await transitionsOf(store)).toBe(0)

  const daemon = await scene.daemon(settings(80))
  const begun = Date.now()
  await pollEverybody(store, begun)
  await eventually('every crossing', async () => (await transitionsOf(store)) === ACCOUNTS)
  const crossedMs = Date.now() - begun
  await eventually('every message', () => isQuiet(store))
  const toldMs = Date.now() - begun

  const hooks = (await hooksOf(scene.sandbox.url)).map(({ body }) => body)
  const mails = await mailsOf(scene.sandbox.url)
  say(
    `${ACCOUNTS} accounts cross at once: all committed after ${(crossedMs / 1_000).toFixed(1)} s, all told after ` +
      `${(toldMs / 1_000).toFixed(1)} s by ${mails.length} mails and ${hooks.length} webhooks; the daemon took at most ` +
      `${peakMegabytes(daemon)} MB`,
  )
  for (const messages of [hooks, mails]) {
    expect(messages.length).toBeGreaterThanOrEqual(1)
    expect(messages.length).toBeLessThanOrEqual(mostMessages(crossedMs))
  }
  // Shown or counted, nobody is left out, and nobody is counted twice.
  expect(hooks.reduce((sum, { data }) => sum + data.alerts.length + data.truncated, 0)).toBe(ACCOUNTS)
  const shown = hooks.flatMap(({ data }) => data.alerts.map(({ id }) => id))
  expect(new Set(shown).size).toBe(shown.length)
  for (const { type, data } of hooks) {
    expect(type).toBe('alert.firing')
    expect(data.alerts.length).toBeLessThanOrEqual(MAX)
  }
  const [largest] = hooks.map(({ data }) => data.truncated).sort((a, b) => b - a)
  expect(largest).toBeGreaterThan(0)
  expect(mails.reduce((sum, { text }) => sum + alertsIn(text), 0)).toBe(ACCOUNTS)
  for (const { subject, text } of mails.filter((mail) => alertsIn(mail.text) > MAX)) {
    expect(text).toContain(`the first ${MAX}`)
    expect(subject).toContain(`] ${formatCount(alertsIn(text))} alerts: `)
  }

  const config = ['--config', await scene.configFile(settings(80)), '--json']
  const log = JSON.parse((await plimsollHere(['alerts', 'log', ...config], scene.folder)).out) as {
    alert: Alert
  }[]
  expect(new Set(log.map(({ alert }) => alert.account?.hubId)).size).toBe(ACCOUNTS)
  const verified = await plimsollHere(['outbox', 'verify', ...config], scene.folder)
  expect(JSON.parse(verified.out)).toMatchObject({
    open: ACCOUNTS,
    pending: 0,
    dead: 0,
    missing: [],
    balanced: true,
  })
  expect(verified.code).toBe(0)
})

/** Every account stands at 90 % of its custom properties. */
const limitsOfAll: Answer = (request, response) => {
  const none = { totalRecordsAtLimit: 0, totalRecordsNearLimit: 0, atLimitFromRecordSamples: [] }
  const associations = { limit: 100, ...none, nearLimitFromRecordSamples: [] }
  json(200, request.path.includes('associations') ? associations : customProperties(900))(request, response)
}

async function seedFleet(store: Store): Promise<void> {
  const now = Date.now()
  for (let from = 0; from < ACCOUNTS; from += 500) {
    const some = Array.from({ length: Math.min(500, ACCOUNTS - from) }, (_, n) => FIRST + from + n)
    await Promise.all(
      some.map((hubId) =>
        seedAccount(store, KEYS, {
          hubId,
          hubDomain: `account-${hubId}.example.com`,
          accessToken: `access-${hubId}`,
          obtainedAt: now,
          lifeMs: 24 * 3_600_000,
        }),
      ),
    )
  }
}

async function haveReadings(store: Store): Promise<boolean> {
  const hubIds = Array.from({ length: ACCOUNTS }, (_, n) => FIRST + n)
  const read = await Promise.all(hubIds.map((hubId) => loadReadings(store, KEYS, hubId)))
  return read.every((readings) => readings !== undefined)
}

/** As if the turn of each had come. */
async function pollEverybody(store: Store, now: number): Promise<void> {
  const writing = store.pipeline()
  for (let hubId = FIRST; hubId < FIRST + ACCOUNTS; hubId++) {
    writing.zadd(KEYS.due.poll, 'XX', now, hubId)
  }
  await writing.exec()
}

function transitionsOf(store: Store): Promise<number> {
  return store.xlen(KEYS.transitions)
}

async function isQuiet(store: Store): Promise<boolean> {
  return (await readOutboxBalance({ store, keys: KEYS }, Date.now())).pending === 0
}

function alertsIn(text: string): number {
  return Number((/^([\d,]+) alerts/.exec(text)?.[1] ?? '1').replaceAll(',', ''))
}

function peakMegabytes({ child }: Daemon): number {
  const [, kilobytes = ''] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? []
  return Math.round(Number(kilobytes) / 1_024)
}
