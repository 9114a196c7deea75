import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { settings } from '../../config/schema/schema.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { plimsoll, plimsollHere, run, withoutNotes } from '../support/command.ts'
import { type Daemon, spawnDaemon } from '../support/daemon.ts'
import { type Block, blocksOf, codeOf, commandsOf, ROOT, readDocuments } from '../support/documents.ts'
import { connectAccount, eventually, freePort, send } from '../support/fleet.ts'
import { folderOfFile } from '../support/of-file.ts'
import { RUN_ELSEWHERE, WALKED } from '../support/run-elsewhere.ts'

/** The documents as a newcomer follows them: the README's smallest config, every command, in a folder of their own. */
const DOCUMENTS = readDocuments()
const BLOCKS = DOCUMENTS.flatMap(blocksOf)
const ADMIN_TOKEN = 'the-admin-token-of-this-test'
const ENV = {
  PLIMSOLL_CLIENT_ID: 'sandbox-client-id',
  PLIMSOLL_CLIENT_SECRET: 'sandbox-client-secret',
  PLIMSOLL_ADMIN_TOKEN: 'x',
  AFTER_INSTALL_SECRET: 'a-secret-of-the-vendor',
  SMTP_PASSWORD: 'x',
  MAIL_CLIENT_SECRET: 'x',
  HEARTBEAT_KEY: 'x',
  SLACK_WEBHOOK_URL: 'https://hooks.slack.com/services/T0/B0/x',
  PAGERDUTY_KEY: 'x',
  TEAMS_KEY: 'x',
  PLIMSOLL_NEW_CLIENT_SECRET: 'another-client-secret',
  MAIL_CLIENT_ID: 'x',
  REDIS_PASSWORD: 'x',
  SENTINEL_PASSWORD: 'x',
  TELEGRAM_TOKEN: '1:x',
  APPRISE_KEY: 'x',
  DISCORD_WEBHOOK: '1/x',
  WEBHOOK_SECRET: Buffer.alloc(32, 7).toString('base64'),
}

const folder = folderOfFile()
let sandbox: Sandbox
let daemon: Daemon
let url: string

beforeAll(async () => {
  const options = { port: 0, smtpPort: 0, accounts: 1, tokenLifetimeMs: 60_000, rotateRefreshTokens: false }
  const app = { clientId: 'sandbox-client-id', clientSecret: 'sandbox-client-secret' }
  sandbox = await startSandbox({ ...options, ...app, scenario: 'steady' }, systemClock)
  await send(`${sandbox.url}/sandbox/accounts`, 'POST', { hubId: 1234567, hubDomain: 'acme.example.com' })
  mkdirSync(join(folder, 'config'))
  writeFileSync(join(folder, 'config', 'plimsoll.yaml'), await smallestConfig())
  writeFileSync(join(folder, 'logo.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
  process.chdir(folder)
  daemon = spawnDaemon('config/plimsoll.yaml', ENV)
  url = (JSON.parse(await daemon.line(/"daemon\.started"/, 0)) as { url: string }).url
  await connectAccount(url, 1234567)
  // Its domain is asked for after it was connected.
  const show = ['accounts', 'show', 'acme.example.com']
  await eventually('its domain', async () => (await plimsollHere(show, folder, { env: ENV })).code === 0)
})

afterAll(async () => {
  await daemon.stop()
  await sandbox.close()
  process.chdir(ROOT)
})

/** The README's, but for where the provider and this machine are. */
async function smallestConfig(): Promise<string> {
  const written = BLOCKS.filter(({ path }) => path === 'README.md').map(({ text }) =>
    /<<'END'\n(.*)\nEND\n/s.exec(text),
  )
  const config = parse(written.find((found) => found !== null)?.[1] ?? '')
  const port = await freePort()
  config.provider = { ...config.provider, baseUrl: sandbox.url, installUrl: `${sandbox.url}/oauth/authorize` }
  config.http = { publicUrl: `http://127.0.0.1:${port}`, listen: `127.0.0.1:${port}`, adminToken: ADMIN_TOKEN }
  return stringify(config)
}

/** Of every block for a shell, every `npm ...` in text and tables, and every `plimsoll ...` of the README. */
function commands(): string[] {
  const shell = BLOCKS.filter((block) => block.kind === 'sh' && !isWalked(block)).flatMap(commandsOf)
  const others = BLOCKS.filter(({ kind }) => kind === 'text').flatMap(({ text }) =>
    [...text.matchAll(/npm [^\n)"|]+/g)].map(([command]) => command.trim()),
  )
  const whole = WALKED.filter(({ heading }) => heading === undefined).map(({ path }) => path)
  const inText = DOCUMENTS.filter(({ path }) => !whole.includes(path))
    .flatMap((document) => codeOf(document).map((code) => ({ code, isReadme: document.path === 'README.md' })))
    .filter(({ code, isReadme }) =>
      (isReadme ? /^([A-Z_]+=\S+ )?(np[mx]|plimsoll) / : /^([A-Z_]+=\S+ )?np[mx] /).test(code),
    )
    .map(({ code }) => code)
  return [...new Set([...shell, ...others, ...inText].map(byItsName))]
}

const isWalked = ({ path, heading }: Block) =>
  WALKED.some((one) => one.path === path && (one.heading ?? heading) === heading)

/** `plimsoll ...`, also where npm is asked to run it. */
const byItsName = (command: string) => command.replace(/^npm run (-s )?plimsoll -- /, 'plimsoll ')

function argsOf(command: string): string[] | undefined {
  const [, args] = /^plimsoll (.*)$/.exec(byItsName(command)) ?? []
  return args
    ?.split(' > ')[0]
    ?.split(' ')
    .map((arg) => arg.replaceAll('"', ''))
}

test('every command in the documents is run by a test', async () => {
  const all = commands()
  expect(all.length).toBeGreaterThan(40)
  const unknown: string[] = []
  for (const command of all.filter((one) => RUN_ELSEWHERE[one] === undefined && !isTestRun(one) && !isSuite(one))) {
    const args = argsOf(command)
    if (args === undefined) {
      unknown.push(command)
      continue
    }
    const ran = await plimsollHere(args, folder, { env: ENV })
    expect({ ...ran, err: withoutNotes(ran.err) }, command).toMatchObject({ code: 0, err: '' })
  }
  expect(unknown).toEqual([])
  expect(Object.keys(RUN_ELSEWHERE).filter((command) => !all.includes(command))).toEqual([])
})

/** `npm test -- PATH`, or `test:daemons`: there is that path, and what the command sets is read there. */
function isTestRun(command: string): boolean {
  const found = /^(?:([A-Z_]+)=\S+ )?npm (?:test|run test:daemons)(?: -- (\S+))?$/.exec(command)
  if (found === null) return false
  const [, variable, path] = found
  if (path === undefined) return variable === undefined
  if (!existsSync(join(ROOT, path))) return false
  return variable === undefined || readFileSync(join(ROOT, path), 'utf8').includes(variable)
}

/** `npm run NAME -- FILE` of tests that are no part of `npm test`: there are such a project and such a file. */
function isSuite(command: string): boolean {
  const [, name = '', file] = /^(?:[A-Z_]+=\S+ )?npm run ([a-z-]+)(?: -- ([a-z-]+))?$/.exec(command) ?? []
  if (!new RegExp(` --project "?${name}\\*?"?$`).test(SCRIPTS[name] ?? '')) return false
  const folder = ['test', 'test/faults'].map((at) => join(ROOT, at, name)).find(existsSync)
  return folder !== undefined && (file === undefined || existsSync(join(folder, `${file}.test.ts`)))
}

const SCRIPTS = (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> })
  .scripts

test('accounts reconnect-link --send says that the app needs a name, where the config has none', async () => {
  const args = ['accounts', 'reconnect-link', 'acme.example.com', '--send']
  expect(await plimsollHere(args, folder, { env: ENV })).toMatchObject({
    code: 1,
    err: expect.stringContaining('http.brand.name is not set'),
  })
})

test('what is run elsewhere is run by a test that has its words', () => {
  const missing = Object.entries(RUN_ELSEWHERE).flatMap(([command, where]) => {
    const text = existsSync(join(ROOT, where)) ? readFileSync(join(ROOT, where), 'utf8') : ''
    const words = (argsOf(command) ?? command.split(' ')).filter((word) => /^(--)?[a-z][a-z-]*$/.test(word))
    return words.filter((word) => !text.includes(word)).map((word) => `${where} has no ${word} of ${command}`)
  })
  expect(missing).toEqual([])
})

test('what is said to be followed by a test is named in that test, and there', () => {
  for (const { path, heading, by } of WALKED) {
    expect(
      BLOCKS.filter((block) => block.path === path && (heading ?? block.heading) === block.heading),
      path,
    ).not.toEqual([])
    expect(readFileSync(join(ROOT, by), 'utf8'), by).toContain(heading ?? path)
  }
})

test('every command that a sentence names is one, with the options that it names', async () => {
  const help = await plimsollHere(['--help'], folder)
  const names = [...help.out.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = '']) => name)
  const named = new Set(
    DOCUMENTS.flatMap(codeOf)
      .map((code) => code.replace(/^plimsoll /, ''))
      .filter((code) => new RegExp(`^(${names.join('|')}) ([a-z-]+|--[a-z-]+)( |$)`).test(code)),
  )
  expect(named.size).toBeGreaterThan(15)
  const helps = new Map<string, string>()
  for (const command of named) {
    const [path = '', ...rest] = /^[a-z-]+( [a-z][a-z-]*)?(?= |$)/.exec(command) ?? []
    expect(rest).toBeDefined()
    if (!helps.has(path)) {
      const ran = await plimsollHere([...path.trim().split(' '), '--help'], folder)
      expect(ran, command).toMatchObject({ code: 0, err: '' })
      helps.set(path, ran.out)
    }
    for (const [option] of command.matchAll(/--[a-z-]+/g)) expect(helps.get(path), command).toContain(option)
  }
})

test('the encryption key is changed by the commands of the guide, one after the other', async () => {
  const heading = 'Change the encryption key'
  const blocks = BLOCKS.filter((block) => block.path === 'config/guide/operation.md' && block.heading === heading)
  expect(blocks.map(({ kind }) => kind)).toEqual(['sh', 'yaml', 'sh', 'yaml', 'sh', 'sh', 'yaml', 'sh'])
  const file = join(folder, 'config', 'plimsoll.yaml')
  let said = ''
  for (const { kind, text } of blocks) {
    if (kind === 'yaml') writeFileSync(file, stringify({ ...parse(readFileSync(file, 'utf8')), ...parse(text) }))
    else said = await follow(text.trim())
  }
  expect(JSON.parse(said)).toMatchObject({ code: 'config.reloaded', applied: ['encryption.keys'], restart: [] })
  expect(await plimsollHere(['status'], folder, { env: ENV })).toMatchObject({ code: 0, err: '' })
})

/** One command of the guide, with the daemon's PID in its place; resolves with what came of it. */
async function follow(command: string): Promise<string> {
  const args = argsOf(command)
  const reloaded = command.startsWith('kill') ? daemon.line(/"config\.(reloaded|refused)"/) : undefined
  const ran =
    args === undefined
      ? await run('sh', ['-c', command.replace('PID', String(daemon.child.pid))], folder)
      : await plimsoll(args, folder, ENV)
  expect(ran, command).toMatchObject({ code: 0, err: '' })
  if (args !== undefined) expect(ran.out).toContain('nothing is encrypted with key k1: it may be taken out')
  if (reloaded !== undefined) expect(JSON.parse(await reloaded)).toMatchObject({ code: 'config.reloaded' })
  return (await reloaded) ?? ran.out
}

const PARTS = BLOCKS.filter((block) => block.kind === 'yaml' && !isWalked(block) && isConfig(block))

/** Others are of other programs. */
function isConfig({ text }: Block): boolean {
  return Object.hasOwn(settings.shape, Object.keys(parse(text) ?? {})[0] ?? '')
}

test('there are parts of configs', () => {
  expect(PARTS.length).toBeGreaterThan(5)
})

test.each(PARTS.map((block) => [`${block.path}, ${block.heading}: ${block.text.split('\n')[0]}`, block] as const))(
  'this part of a config loads beside the smallest one: %s',
  async (_, { text }) => {
    const file = join(folder, 'part.yaml')
    writeFileSync(file, stringify({ ...parse(await smallestConfig()), ...parse(text) }))
    const ran = await plimsollHere(['config', 'check', 'part.yaml'], folder, {
      env: { ...ENV, CREDENTIALS_DIRECTORY: folder },
    })
    expect(ran.out).toContain('part.yaml is fine')
  },
)

test('every JSON example is JSON', () => {
  for (const { path, kind, text } of BLOCKS.filter((block) => block.kind === 'json')) {
    expect(() => JSON.parse(text), `${path}: ${kind}\n${text}`).not.toThrow()
  }
})

test('every path that a document names is one on the server', async () => {
  const paths = [...new Set(DOCUMENTS.flatMap(codeOf).flatMap(pathsIn))]
  expect(paths.length).toBeGreaterThan(8)
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
  const missing: string[] = []
  for (const path of paths) {
    // What no route knows is 404; of what one knows, the method is refused.
    const { status } = await fetch(url + path, { method: 'PATCH', redirect: 'manual', headers })
    if (status !== 405) missing.push(`${path}: ${status}`)
    if (/[{:]|ID/.test(path)) continue
    const read = await fetch(url + path, { redirect: 'manual', headers })
    if (read.status >= 500) missing.push(`${path} can't be read: ${read.status}`)
  }
  expect(missing).toEqual([])
})

const FIRST = 'install|oauth|healthz|readyz|metrics|accounts|alerts|deliveries|sign-in|sign-out|acknowledge|api|assets'

function pathsIn(code: string): string[] {
  const [, path] =
    new RegExp(`^(?:(?:GET|POST|PUT|PATCH|DELETE) )?(/(?:(?:${FIRST})(?:[/?][^ ]*)?)?)$`).exec(code) ?? []
  return path === undefined || path === '/api/v1'
    ? []
    : [path.replaceAll(/\{(hubId|HUB_ID)\}|:hubId|HUB_ID/g, '1234567')]
}
