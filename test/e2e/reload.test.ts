import { cpSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Daemon, spawnDaemon, startDaemon } from '../support/daemon.ts'
import { ask, connectAll, customProperties, eventually, journalOf, mailsOf, send } from '../support/fleet.ts'
import { MAIN } from '../support/main.ts'
import { openScene, type Scene, sceneFor } from '../support/scene.ts'

/** The config of a daemon that is at work changes: in steps, each from where the one before left it. */
const HUB = 4_711

let scene: Scene
let daemon: Daemon
let file: string

beforeAll(async () => {
  scene = await openScene({ accounts: 0, rotateRefreshTokens: false, tokenLifetimeMs: 600_000 })
  await send(`${scene.sandbox.url}/sandbox/accounts`, 'POST', { hubId: HUB, hubDomain: 'acme.example.com' })
  await send(`${scene.sandbox.url}/sandbox/accounts/${HUB}/custom-properties`, 'PUT', customProperties(500))
  file = await scene.configFile({
    limits: { every: '1h', associations: [] },
    thresholds: [{ on: 'customProperties.overall', warning: { percent: 80 } }] as never,
    log: { level: 'info', file: join(scene.folder, 'plimsoll.log') },
  })
  daemon = await started()
  await connectAll(daemon.url, [HUB])
  await eventually('the first poll', async () => (await polls()) === 1)
})
afterAll(async () => {
  await daemon.stop()
  await scene.close()
})

/** Its log goes to a file: it is seen through that. */
async function started(): Promise<Daemon> {
  const spawned = spawnDaemon(file)
  const line = await logged(/"daemon\.started"/)
  return Object.assign(spawned, { url: (JSON.parse(line) as { url: string }).url })
}

const logFile = () => join(scene.folder, 'plimsoll.log')
const logLines = () => readFileSync(logFile(), 'utf8').split('\n')
const logged = (pattern: RegExp, since = 0) =>
  eventually(String(pattern), async () => {
    try {
      return logLines()
        .slice(since)
        .find((line) => pattern.test(line))
    } catch {
      return undefined
    }
  })

const polls = async () =>
  (await journalOf(scene.sandbox.url)).filter(({ endpoint }) => endpoint === 'customProperties').length

async function reload(change: (config: Record<string, Record<string, unknown>>) => void) {
  const config = JSON.parse(readFileSync(file, 'utf8'))
  change(config)
  writeFileSync(file, JSON.stringify(config))
  return told()
}

async function told(): Promise<Record<string, unknown>> {
  const since = logLines().length - 1
  daemon.child.kill('SIGHUP')
  return JSON.parse(await logged(/"config\.(reloaded|refused)"/, since)) as Record<string, unknown>
}

async function metric(name: string): Promise<number> {
  const text = await (await ask(`${daemon.url}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
}

test('the files that it came with may be others by then, or gone: the new config is in force as a whole', async (context) => {
  const { folder, configFile } = await sceneFor(context, { accounts: 0 })
  const copy = join(folder, 'installed')
  cpSync(dirname(dirname(MAIN)), join(copy, 'dist'), { recursive: true })
  symlinkSync(new URL('../../node_modules', import.meta.url).pathname, join(copy, 'node_modules'))
  const its = await configFile({ limits: { every: '1h', associations: [] } })
  const installed = await startDaemon(its, {}, join(copy, 'dist/src/main.js'))
  rmSync(join(copy, 'dist/src/http'), { recursive: true })
  rmSync(join(copy, 'node_modules'))
  writeFileSync(its, readFileSync(its, 'utf8').replace('"1h"', '"2h"'))
  installed.child.kill('SIGHUP')
  expect(JSON.parse(await installed.line(/"config\.(reloaded|refused)"/))).toMatchObject({ applied: ['limits.every'] })
  expect((await ask(`${installed.url}/assets/plimsoll.css`)).status).toBe(200)
  await installed.stop()
})

test('a period that was made shorter holds at once', async () => {
  expect(
    await reload((config) => {
      config.limits = { every: '1s', associations: [] }
    }),
  ).toMatchObject({ code: 'config.reloaded', applied: ['limits.every'], restart: [] })
  await eventually('polls by the new period', async () => (await polls()) >= 3)
})

test('a threshold, a route and a receiver of the new file bring the alert that the old one did not', async () => {
  expect(await mailsOf(scene.sandbox.url)).toEqual([])
  const answer = await reload((config) => {
    Object.assign(config, { thresholds: [{ on: 'customProperties.overall', warning: { percent: 40 } }] })
    Object.assign(config, { routes: [{ to: ['second'] }] })
    config.receivers = {
      ...config.receivers,
      second: { ...(config.receivers?.['ops-mail'] as object), to: ['second@example.com'] },
    }
  })
  expect(answer).toMatchObject({
    applied: ['thresholds[0].warning.percent', 'routes[0].to', 'receivers.second'],
    restart: [],
  })
  const [mail] = await eventually('a mail', async () => {
    const mails = await mailsOf(scene.sandbox.url)
    return mails.length > 0 && mails
  })
  expect(mail?.subject).toContain('[WARNING] acme.example.com')
  expect(mail?.raw).toMatch(/^To: second@example\.com\r?$/m)
  // The page of the account goes by the new threshold too.
  expect(await (await ask(`${daemon.url}/accounts/${HUB}`)).text()).toContain('40')
})

test('a file that can not be used is refused as a whole, and the metric says so until a good one comes', async () => {
  expect(await metric('plimsoll_config_last_reload_successful')).toBe(1)
  const good = readFileSync(file, 'utf8')
  const at = await metric('plimsoll_config_last_reload_success_timestamp_seconds')
  const refused = await reload((config) => {
    config.limits = { every: '1h', associations: [] }
    Object.assign(config, { routes: [{ to: ['nobody'] }] })
  })
  expect(refused).toMatchObject({
    code: 'config.refused',
    problems: [expect.stringContaining('routes[0].to[0]: no receiver has this name')],
  })
  expect(await metric('plimsoll_config_last_reload_successful')).toBe(0)
  const before = await polls()
  await eventually('polls by the old period', async () => (await polls()) >= before + 2)

  writeFileSync(file, good)
  expect(await told()).toMatchObject({ code: 'config.reloaded', applied: [], restart: [] })
  expect(await metric('plimsoll_config_last_reload_successful')).toBe(1)
  expect(await metric('plimsoll_config_last_reload_success_timestamp_seconds')).toBeGreaterThan(at)
})

test('the level of the log changes; what needs a restart is named and stays', async () => {
  const answer = await reload((config) => {
    config.log = { ...config.log, level: 'debug', pretty: true }
    config.http = { ...config.http, listen: '127.0.0.1:1' }
  })
  expect(answer).toMatchObject({ applied: ['log.level'], restart: ['http.listen.port', 'log.pretty'] })
  await fetch(`${daemon.url}/healthz`)
  await logged(/"http\.request"/)
})

test('logrotate moves the log and sends SIGHUP: every line is in one of the two files, whole', async () => {
  renameSync(logFile(), `${logFile()}.1`)
  daemon.child.kill('SIGHUP')
  const line = await logged(/"config\.reloaded"/)
  expect(JSON.parse(line)).toMatchObject({ code: 'config.reloaded', applied: [] })
  const lines = [...readFileSync(`${logFile()}.1`, 'utf8').trimEnd().split('\n'), ...logLines().slice(0, -1)]
  for (const one of lines) expect(JSON.parse(one)).toHaveProperty('code')
})
