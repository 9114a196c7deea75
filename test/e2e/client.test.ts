import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { OPERATIONS } from '../../src/operations/all-operations.ts'
import { describeCommands } from '../../src/operations/describe-commands.ts'
import { NO_DAEMON, plimsollSays, type Ran, run } from '../support/command.ts'
import { type Daemon, startDaemon } from '../support/daemon.ts'
import { ADMIN_TOKEN, connectAll, customProperties, eventually, send } from '../support/fleet.ts'
import { MAIN } from '../support/main.ts'
import { exampleArgs } from '../support/operation-example.ts'
import { openScene, type Scene } from '../support/scene.ts'

/** The command line is a client of the API: every command answers alike by a daemon elsewhere, by the one here, and without one. */

const [HUB, GONE] = [1234567, 7654321]
/** Nothing is swept, so that the answers stay as they are. */
const QUIET = { schedule: { refreshTokens: '0 0 5 29 2 *', pollLimits: '0 0 5 29 2 *' }, limits: { every: '1h' } }

let scene: Scene
let daemon: Daemon
let config: string
let folder: string
let alert: string

beforeAll(async () => {
  scene = await openScene({ accounts: 0, tokenLifetimeMs: 3_600_000, rotateRefreshTokens: false })
  const { url } = scene.sandbox
  for (const [hubId, name] of [
    [HUB, 'acme'],
    [GONE, 'globex'],
  ] as const) {
    await send(`${url}/sandbox/accounts`, 'POST', { hubId, hubDomain: `${name}.example.com` })
    await send(`${url}/sandbox/accounts/${hubId}/custom-properties`, 'PUT', customProperties(hubId === HUB ? 960 : 1))
  }
  folder = join(scene.folder, 'elsewhere')
  mkdirSync(folder)
  config = join(scene.folder, 'plain.yaml')
  writeFileSync(config, plainly(readFileSync(await scene.configFile(QUIET), 'utf8')))
  daemon = await startDaemon(config)
  writeFileSync(join(folder, 'new.yaml'), readFileSync(config))
  writeFileSync(join(folder, 'fleet.csv'), `hubId,refreshToken\n${HUB},na1-kept\n`)
  await connectAll(daemon.url, [HUB, GONE])
  alert = await eventually('an alert that was sent', async () => {
    const [open] = JSON.parse((await byConfig(['alerts', 'list', '--json'])).out)
    const sent = JSON.parse((await byConfig(['alerts', 'log', '--json'])).out)
    const isDelivered = sent.length > 0 && sent.every((one: { fate: string }) => one.fate === 'delivered')
    return isDelivered && (await byConfig(['outbox', 'verify'])).code === 0 && open?.id
  })
  // What the first of each leaves in the story of an account.
  for (const words of [`poll ${HUB}`, `refresh ${HUB}`, `uninstall ${GONE} --yes --wait`])
    expect((await byConfig(['accounts', ...words.split(' ')])).code).toBe(0)
})
afterAll(async () => {
  await daemon.stop()
  await scene.close()
})

/** As people write it: a setting a line. */
function plainly(json: string): string {
  return Object.entries(JSON.parse(json))
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}\n`)
    .join('')
}

type Way = (args: readonly string[]) => Promise<Ran>
const byAddress: Way = (args) => plimsollSays([...args, '--url', daemon.url, '--token', ADMIN_TOKEN], folder)
const byConfig: Way = (args) => plimsollSays([...args, '-c', config], folder)

const commands = describeCommands(OPERATIONS).map((command) => {
  const operation = OPERATIONS.find((one) => one.command?.name === command.name)
  if (operation === undefined) throw new Error(`${command.name} is no operation`)
  return { ...command, example: exampleArgs(operation, command) }
})

/** What the example of the API lacks, or names otherwise. */
const ARGS: Record<string, (silence: string) => string[]> = {
  'accounts import': () => ['fleet.csv'],
  'accounts export': () => ['-'],
  'alerts ack': () => [alert, '--comment', 'asked'],
  'alerts unack': () => [alert],
  'alerts silence': () => ['--match', 'kind=token', '--for', '2h', '--comment', 'planned'],
  'alerts silences': () => [],
  'alerts unsilence': (silence) => [silence],
  'thresholds plan': () => ['new.yaml'],
  'admin-tokens add': () => ['billing', '--scopes', 'read'],
}

interface Said extends Ran {
  name: string
}

/** Each redeems a token: client-connect.test.ts has it. */
const ELSEWHERE = 'accounts connect'

async function runAll(way: Way): Promise<Said[]> {
  const all: Said[] = []
  let silence = ''
  for (const { name, example, confirm } of commands.filter((command) => command.name !== ELSEWHERE)) {
    const args = [...(ARGS[name]?.(silence) ?? example), ...(confirm === undefined ? [] : ['--yes'])]
    const ran = await way([...name.split(' '), ...args])
    if (name === 'alerts silence') silence = /s-[a-z0-9]{5}/.exec(ran.out)?.[0] ?? ''
    all.push({ name, ...ran })
  }
  return all
}

/** Without times, ages, counts, who asks, and names made by chance. */
function lasting(text: string): string {
  return text
    .replaceAll(/^failed calls .*$/gm, '') // They are counted a little later.
    .replaceAll(/plm_[\w-]+|s-[a-z0-9]{5}\b/g, 'NAME')
    .replaceAll(/\?[^\s"]+/g, '?')
    .replaceAll(/(ahead of|behind) ours/g, 'beside ours')
    .replaceAll(/\b(in \d+ \w+|\d+ \w+ ago|(just )?now)\b/g, '0')
    .replaceAll(/[\d.,:]+( (ms|s|min|h)\b)?/g, '0')
    .replaceAll(/\b(config|root)\b/g, 'WHO')
    .replaceAll(/ +/g, ' ')
}

const alike = ({ name, code, out }: Said) => ({
  name,
  code,
  // Each has the names of those who ask.
  out: name === 'audit list' ? '' : lasting(out),
})

/** A daemon that is gone is told there, which is right. */
const TELLS_DAEMONS = 'status'

test('every command does the same by address and token, by the config, and without a daemon, which it says', async () => {
  const elsewhere = await runAll(byAddress)
  expect(elsewhere.filter(({ code }) => code !== 0).map(({ name, code }) => `${name} ${code}`)).toEqual(['check 2'])
  const here = await runAll(byConfig)
  expect(here.map(alike)).toEqual(elsewhere.map(alike))
  expect(here.map(({ err }) => lasting(err))).toEqual(elsewhere.map(({ err }) => lasting(err)))

  await daemon.stop()
  const without = await runAll(byConfig)
  const rest = (all: Said[]) => all.filter(({ name }) => name !== TELLS_DAEMONS).map(alike)
  expect(rest(without)).toEqual(rest(here))
  // Cron mails all output: check says nothing more.
  const noted = without.map(({ name, err }) => (name === 'check' ? `${NO_DAEMON}${err}` : err))
  expect(noted.map(lasting)).toEqual(here.map(({ err }) => lasting(`${NO_DAEMON}${err}`)))
  daemon = await startDaemon(config)
})

test('beside a daemon a command loads little: at most 350 kB of scripts', async () => {
  const tell =
    "load(url, context, next) { const loaded = next(url, context); if (url.startsWith('file:')) console.error('LOADED', " +
    'Buffer.byteLength(loaded.source ?? readFileSync(new URL(url)))); return loaded }'
  const hook = `data:text/javascript,import { registerHooks } from 'node:module'; import { readFileSync } from 'node:fs'; registerHooks({ ${tell} })`
  const args = ['--import', hook, MAIN, 'accounts', 'list', '--config', config]
  const { code, out, err } = await run(process.execPath, args, folder)
  expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining('acme.example.com') })
  const sizes = [...err.matchAll(/^LOADED (\d+)$/gm)].map(([, size]) => Number(size))
  const kilobytes = Math.round(sizes.reduce((sum, size) => sum + size, 0) / 1_000)
  process.stdout.write(`accounts list loads ${kilobytes} kB in ${sizes.length} files\n`)
  expect(sizes.length).toBeGreaterThan(10)
  expect(kilobytes).toBeLessThanOrEqual(350)
})
