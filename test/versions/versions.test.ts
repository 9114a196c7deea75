import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { loadConfig } from '../../config/schema/load.ts'
import { type App, startApp } from '../../src/app.ts'
import { readWatch } from '../../src/limits/watch/read-watch.ts'
import { checkFormat, FORMAT, FormatError, OLDEST_FORMAT } from '../../src/redis/format.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { type Clock, systemClock } from '../../src/runtime/clock.ts'
import { Lifecycle } from '../../src/runtime/lifecycle.ts'
import { createLogger } from '../../src/runtime/logger.ts'
import { plimsollHere, type Ran } from '../support/command.ts'
import { ask, eventually, getJson } from '../support/fleet.ts'
import { folderOfTest, redisOfFile } from '../support/of-file.ts'
import { readAll, readSnapshots, readVersion, type VersionData, writeAll } from './stored-data.ts'
import { configFor, HUBS, startWorld, type World } from './world.ts'

/** The data that the daemon of an earlier version left (`make.ts`), opened by this version ten minutes later. */
const redis = redisOfFile()

const LATER_MS = 10 * 60_000
const LIVE = Object.values(HUBS).filter((hubId) => hubId !== HUBS.uninstalled)

interface Found {
  world: World
  /** Goes on from when the data was left. */
  clock: Clock
  /** Lines of the log that are errors. */
  errors: string[]
  start(): Promise<App>
  command(...args: string[]): Promise<Ran>
  /** From now on by this prefix of keys. */
  use(prefix: string): Promise<void>
}

/** The data is in Redis, and the far side is as it was. */
async function find(data: VersionData): Promise<Found> {
  await redis.store.flushall()
  await writeAll(redis.store, data.keys)
  const shift = data.madeAt + LATER_MS - Date.now()
  const clock = { ...systemClock, now: () => Date.now() + shift }
  const world = await startWorld(clock.now)
  for (const [hubId, usage] of data.usage) world.usage.set(hubId, usage)
  const folder = folderOfTest()
  const lifecycle = new Lifecycle()
  onTestFinished(async () => {
    await lifecycle.close()
    await world.stop()
  })
  const file = join(folder, 'plimsoll.yaml')
  const use = async (prefix: string) => {
    writeFileSync(file, JSON.stringify(await configFor(world, { url: redis.url, prefix }, join(folder, 'data'))))
  }
  await use('plimsoll')
  const errors: string[] = []
  const log = createLogger({ level: 'error', pretty: false }, { write: (line) => errors.push(line) })
  return {
    ...{ world, clock, errors, use },
    start: () => {
      const loaded = loadConfig({ file, env: {}, cwd: folder, now: clock.now() })
      if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
      return startApp({ config: loaded.config, clock, random: Math.random, log }, lifecycle)
    },
    command: (...args) => plimsollHere([...args, '--config', file], folder, { clock }),
  }
}

/** All accounts, as a reading compares with the one before. */
function eachRead({ read }: World): Promise<unknown> {
  return eventually('each account read twice', async () =>
    LIVE.every((hubId) => read.filter((id) => id === hubId).length > 1),
  )
}

test.each(['0.1.0'])(
  'the data of %s is taken over: all that it holds goes on, and nothing is sent twice',
  async (name) => {
    const data = readVersion(name)
    const found = await find(data)
    const { world, command } = found
    const { url } = await found.start()
    await eachRead(world)
    await eventually('all that waited is sent', async () => {
      const proof = JSON.parse((await command('outbox', 'verify', '--json')).out) as {
        inOutbox: number
        deliveries: number
        waits: { why: string }[]
      }
      const { inOutbox, deliveries, waits } = proof
      return inOutbox === 0 && deliveries === 0 && waits.every(({ why }) => why.startsWith('silence'))
    })

    expect(found.errors).toEqual([])
    const { code, out } = await command('outbox', 'verify')
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining('balanced') })
    const open = await openAlerts(url)
    expect(open.map(({ hubId }) => hubId).sort()).toEqual([HUBS.open, HUBS.acknowledged, HUBS.silenced, HUBS.grouped])
    const alertOf = (hubId: number) => open.find((alert) => alert.hubId === hubId)
    expect(alertOf(HUBS.acknowledged)).toHaveProperty('acknowledged')
    expect(alertOf(HUBS.silenced)).toHaveProperty('silencedBy')
    // The one was notified of all but what was grouped at the end; the other was away, and hears of each alert how it is now.
    expect(world.taken.up).toEqual([`${alertOf(HUBS.grouped)?.id}-1`])
    const atDown = [...data.taken.down, ...world.taken.down]
    expect(new Set(atDown).size).toBe(atDown.length)
    const waitedFor = [HUBS.open, HUBS.acknowledged, HUBS.grouped].map((hubId) => `${alertOf(hubId)?.id}-1`)
    const end = data.taken.up.filter((id) => id.endsWith('-2'))
    expect(atDown).toEqual(expect.arrayContaining([...waitedFor, ...end]))

    // As the daemon that left it answered, byte by byte; one of the accounts is not polled any more.
    const [from, to] = [data.madeAt - 3_600_000, data.madeAt].map((at) => new Date(at).toISOString())
    for (const [hubId, before] of readSnapshots(name)) {
      const path = `/api/v1/accounts/${hubId}/snapshots?resolution=raw&from=${from}&to=${to}`
      expect([hubId, await (await ask(url + path)).text()]).toEqual([hubId, before])
    }
    // What polls knew is one value from now on, as it was of the account that is not polled any more.
    const keys = createKeys('plimsoll')
    expect(await readWatch(redis.store, keys, HUBS.uninstalled)).toMatchObject({
      watch: { polledAt: Number(fieldOf(data, keys.own(HUBS.uninstalled), 'polledAt')) },
      readings: expect.any(Buffer),
    })
    const inOlderForm = await Promise.all(['readings', 'calls'].map((name) => redis.store.keys(`*:${name}:*`)))
    expect(inOlderForm.flat()).toEqual([])
    const older = checkFormat(redis.store, keys, 'daemon', OLDEST_FORMAT)
    await expect(older).rejects.toThrow(`data of a newer Plimsoll (format ${FORMAT}, this one knows ${OLDEST_FORMAT})`)
    expect(await usageRead(url, HUBS.over)).toEqual([100, 850, 300, 300]) // The last one is after the gap.
    const pages = [
      '/',
      '/accounts',
      '/alerts',
      '/changes',
      '/deliveries',
      ...Object.values(HUBS).map((hubId) => `/accounts/${hubId}`),
    ]
    for (const page of pages) expect([page, (await ask(url + page)).status]).toEqual([page, 200])
    expect((await ask(`${url}/readyz`)).status).toBe(200)
  },
)

test('the data of before 0.1.0 is refused with the way to take its accounts along, which works', async () => {
  const data = readVersion('before-0.1.0')
  const { world, start, command, use } = await find(data)
  const before = await readAll(redis.store)
  await expect(start()).rejects.toThrow(FormatError)
  const status = await command('status')
  expect(status).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining('plimsoll accounts export accounts.csv'),
  })
  expect(status.err).toContain('another redis.prefix')
  expect(status.err).toContain('plimsoll accounts import accounts.csv')

  expect(await command('accounts', 'export', 'accounts.csv')).toMatchObject({ code: 0 })
  expect(withoutLives(await readAll(redis.store))).toEqual(withoutLives(before))
  await use('plimsoll-2')
  expect(await command('accounts', 'import', 'accounts.csv')).toMatchObject({ code: 0 })
  const { url } = await start()
  await eachRead(world)
  expect((await ask(`${url}/accounts`)).status).toBe(200)
  expect([...world.taken.up, ...world.taken.down].filter((id) => data.taken.up.includes(id))).toEqual([])
})

function fieldOf({ keys }: VersionData, key: string, field: string): string | undefined {
  const stored = keys.find((one) => one.key === key)
  return stored?.type === 'hash' ? stored.value.find(([name]) => name === field)?.[1] : undefined
}

/** What expires has less time left with each look, and may be gone. */
function withoutLives(keys: Awaited<ReturnType<typeof readAll>>) {
  return keys.filter(({ ttlMs }) => ttlMs === undefined)
}

async function openAlerts(url: string) {
  return (await getJson<{ items: { id: string; hubId: number }[] }>(`${url}/api/v1/alerts`)).items
}

/** Custom properties of all snapshots, in their order. */
async function usageRead(url: string, hubId: number): Promise<(number | undefined)[]> {
  const path = `/api/v1/accounts/${hubId}/snapshots?resolution=raw`
  const { items } = await getJson<{ items: { series: { metric: string; usage: number }[] }[] }>(url + path)
  return items.map(({ series }) => series.find(({ metric }) => metric === 'customProperties.overall')?.usage)
}
