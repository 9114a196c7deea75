/**
 * Makes the data set of a version, of which the folder of a clone is given: `node test/versions/make.ts . 0.1.0`. To be done
 * once for each release, before it; from then on each later version must open it, or refuse it with a way out.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { run } from '../support/command.ts'
import { type Daemon, startDaemon } from '../support/daemon.ts'
import { eventually, getJson } from '../support/fleet.ts'
import { startRedis } from '../support/redis-server.ts'
import { readAll } from './stored-data.ts'
import { configFor, HUBS, startWorld, type World } from './world.ts'

const [clone = '.', name = 'unnamed'] = process.argv.slice(2)
const program = resolve(clone, 'src/main.ts')
const folder = mkdtempSync(join(tmpdir(), 'plimsoll-version-'))
const redis = await startRedis()
const world = await startWorld()
const config = join(folder, 'plimsoll.json')
writeFileSync(config, JSON.stringify(await configFor(world, { url: redis.url }, folder)))
const daemon = await startDaemon(config, {}, program)
try {
  await liveThrough(daemon)
  await daemon.kill() // What it has in hand is part of the data.
  const keys = await readAll(redis.connect())
  const head = { version: name, madeAt: Date.now(), taken: world.taken, usage: [...world.usage] }
  const file = new URL(`data/${name}.jsonl`, import.meta.url)
  writeFileSync(file, [head, ...keys].map((line) => `${JSON.stringify(line)}\n`).join(''))
  process.stdout.write(`${file.pathname}: ${keys.length} keys\n`)
} finally {
  await daemon.kill()
  await world.stop()
  await redis.stop()
  rmSync(folder, { recursive: true, force: true })
}

/** Until there is an account in each state of `HUBS`, and something on its way to both receivers. */
async function liveThrough({ url }: Daemon): Promise<void> {
  const rows = Object.values(HUBS).map((hubId) => `${hubId},refresh-${hubId}`)
  const accounts = join(folder, 'accounts.csv')
  writeFileSync(accounts, ['hubId,refreshToken', ...rows, ''].join('\n'))
  await command('accounts', 'import', accounts)
  await eventually('a first reading of each', async () => new Set(world.read).size === rows.length)
  await command('alerts', 'silence', '--match', `account=${HUBS.silenced}`, '--for', '30d', '--comment', 'an import')

  world.isDownAway = true
  await reach(url, world, [HUBS.open, HUBS.acknowledged, HUBS.silenced, HUBS.over], 850)
  await eventually('three alerts sent', async () => world.taken.up.length >= 3)
  const acknowledged = (await openAlerts(url)).find(({ hubId }) => hubId === HUBS.acknowledged)
  await command('alerts', 'ack', acknowledged?.id ?? '')
  world.usage.set(HUBS.over, 300)
  await eventually('one over, and sent so', async () => world.taken.up.length >= 4)
  await command('accounts', 'uninstall', String(HUBS.uninstalled), '--wait')
  await reach(url, world, [HUBS.grouped], 970)
}

async function reach(url: string, { usage }: World, hubIds: readonly number[], value: number): Promise<void> {
  for (const hubId of hubIds) usage.set(hubId, value)
  await eventually(`alerts of ${hubIds}`, async () => {
    const open = new Set((await openAlerts(url)).map(({ hubId }) => hubId))
    return hubIds.every((hubId) => open.has(hubId))
  })
}

async function openAlerts(url: string) {
  return (await getJson<{ items: { id: string; hubId: number | null }[] }>(`${url}/api/v1/alerts`)).items
}

async function command(...args: string[]): Promise<void> {
  const { code, out, err } = await run(process.execPath, [program, ...args, '--config', config], folder)
  if (code !== 0) throw new Error(`${args.join(' ')}: ${out}${err}`)
}
