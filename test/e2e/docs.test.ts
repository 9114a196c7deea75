import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { plimsoll, plimsollHere, run } from '../support/command.ts'
import { type Daemon, spawnDaemon } from '../support/daemon.ts'
import { connectAccount, freePort, send } from '../support/fleet.ts'

/** The README as a newcomer follows it: its smallest config, its commands, in a folder of their own. */
const ROOT = new URL('../../', import.meta.url).pathname
const README = readFileSync(join(ROOT, 'README.md'), 'utf8')
const ENV = {
  PLIMSOLL_CLIENT_ID: 'sandbox-client-id',
  PLIMSOLL_CLIENT_SECRET: 'sandbox-client-secret',
  SMTP_PASSWORD: 'x',
}

let folder: string
let sandbox: Sandbox
let daemon: Daemon

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'plimsoll-docs-'))
  const options = { port: 0, smtpPort: 0, accounts: 1, tokenLifetimeMs: 60_000, rotateRefreshTokens: false }
  const app = { clientId: 'sandbox-client-id', clientSecret: 'sandbox-client-secret' }
  sandbox = await startSandbox({ ...options, ...app, scenario: 'steady' }, systemClock)
  await send(`${sandbox.url}/sandbox/accounts`, 'POST', { hubId: 1234567, hubDomain: 'acme.example.com' })
  mkdirSync(join(folder, 'config'))
  writeFileSync(join(folder, 'config', 'plimsoll.yaml'), await smallestConfig())
  process.chdir(folder)
  daemon = spawnDaemon('config/plimsoll.yaml', ENV)
  const { url } = JSON.parse(await daemon.line(/"daemon\.started"/, 0)) as { url: string }
  await connectAccount(url, 1234567)
})

afterAll(async () => {
  await daemon.stop()
  await sandbox.close()
  process.chdir(ROOT)
  rmSync(folder, { recursive: true, force: true })
})

/** The README's, but for where the provider and this machine are. */
async function smallestConfig(): Promise<string> {
  const [, text = ''] = README.match(/```yaml\n([\s\S]*?)```/) ?? []
  const config = parse(text)
  const port = await freePort()
  config.provider = { ...config.provider, baseUrl: sandbox.url, installUrl: `${sandbox.url}/oauth/authorize` }
  config.http = { publicUrl: `http://127.0.0.1:${port}`, listen: `127.0.0.1:${port}` }
  return stringify(config)
}

/** Every `npm ...` command of a document. */
function commandsIn(text: string): string[] {
  return [...text.matchAll(/(?:^|`|\| )((?:[A-Z_]+=\S+ )?npm [^`\n#|]+)/gm)].map(([, command = '']) => command.trim())
}

/** What is run elsewhere: by name, so that a new command can't slip in. */
const RUN_ELSEWHERE: Record<string, string> = {
  'npm run demo': 'demo.test.ts',
  'npm run demo -- --for 30s': 'demo.test.ts',
  'npm test': 'this very run',
  'npm start -- --config config/plimsoll.yaml': 'the daemon of this test',
  'npm run plimsoll -- accounts connect --refresh-token-file token.txt': 'command-line.test.ts',
  'npm run plimsoll -- accounts uninstall 1234567 --wait': 'command-line.test.ts',
  'npm run plimsoll -- doctor': 'doctor.test.ts',
  'npm run plimsoll -- alerts ack ALERT_ID': 'alerts-silence.test.ts',
  'npm run plimsoll -- alerts unsilence SILENCE_ID': 'alerts-silence.test.ts',
  'npm run plimsoll -- alerts test ops': 'alerts-test.test.ts',
  'npm run plimsoll -- accounts import fleet.csv': 'import.test.ts',
  'npm run -s plimsoll -- check': 'check.test.ts',
  'npm run plimsoll -- thresholds plan new.yaml': 'thresholds-plan.test.ts',
  'npm run plimsoll -- config check FILE': 'command-line.test.ts',
  'npm run plimsoll -- sandbox --token-lifetime 20s': 'sandbox-command.test.ts',
  'npm run -s plimsoll -- ...': 'the form of the others',
  'npm run ...': 'the form of the others',
  'npm run check': 'its parts, one by one',
  'npm run build': 'package.test.ts',
  'npm run bench': 'bench.test.ts',
  'npm run bench -- P5': 'bench.test.ts',
  'npm run -s bench -- --json': 'bench.test.ts',
  'npm test -- test/alerts': 'this very run',
  'npm test -- test/faults': 'this very run',
  'PLIMSOLL_FULL=1 npm test -- test/faults/alert-crash.test.ts': 'this very run, shorter',
  'PLIMSOLL_SEED=589448 npm test -- test/faults/alert-crash.test.ts': 'this very run',
  'PLIMSOLL_WATCH_SECONDS=180 npm test -- test/faults/two-daemons.test.ts': 'this very run, shorter',
}

test('every command in the documents is run by a test', async () => {
  const documents = ['.', 'config', 'jobs', 'src', 'test', 'test/bench'].map((path) => join(ROOT, path, 'README.md'))
  const commands = [...new Set(documents.flatMap((file) => commandsIn(readFileSync(file, 'utf8'))))]
  expect(commands.length).toBeGreaterThan(10)
  const here = commands.filter((command) => RUN_ELSEWHERE[command] === undefined)
  for (const command of here) {
    const [, args = ''] = command.match(/^npm run (?:-s )?plimsoll -- (.*)$/) ?? []
    expect(args, `${command} is run by no test`).not.toBe('')
    const ran = await plimsollHere(args.split(' '), folder, { env: ENV })
    expect(ran, command).toMatchObject({ code: 0, err: '' })
  }
  expect(Object.keys(RUN_ELSEWHERE).filter((command) => !commands.includes(command))).toEqual([])
})

test('the encryption key is changed by the commands of the README, one after the other', async () => {
  const [, section = ''] = README.split('## Changing the encryption key\n')
  const blocks = [...(section.split('\n## ')[0] ?? '').matchAll(/^ *```(\w+)\n([\s\S]*?)^ *```$/gm)]
  expect(blocks.map(([, kind]) => kind)).toEqual(['sh', 'yaml', 'sh', 'yaml', 'sh', 'sh', 'yaml', 'sh'])
  const file = join(folder, 'config', 'plimsoll.yaml')
  let said = ''
  for (const [, kind, text = ''] of blocks) {
    if (kind === 'yaml') writeFileSync(file, stringify({ ...parse(readFileSync(file, 'utf8')), ...parse(text) }))
    else said = await follow(text.trim())
  }
  expect(JSON.parse(said)).toMatchObject({ code: 'config.reloaded', applied: ['encryption.keys'], restart: [] })
  expect(await plimsollHere(['status'], folder, { env: ENV })).toMatchObject({ code: 0, err: '' })
})

/** One command of the README, with the daemon's PID in its place; resolves with what came of it. */
async function follow(command: string): Promise<string> {
  const [, args] = command.match(/^npm run plimsoll -- (.*)$/) ?? []
  const reloaded = command.startsWith('kill') ? daemon.line(/"config\.(reloaded|refused)"/) : undefined
  const ran =
    args === undefined
      ? await run('sh', ['-c', command.replace('PID', String(daemon.child.pid))], folder)
      : await plimsoll(args.split(' '), folder, ENV)
  expect(ran, command).toMatchObject({ code: 0, err: '' })
  if (args !== undefined) expect(ran.out).toContain('nothing is encrypted with key k1: it may be taken out')
  if (reloaded !== undefined) expect(JSON.parse(await reloaded)).toMatchObject({ code: 'config.reloaded' })
  return (await reloaded) ?? ran.out
}

test('every part of a config in the README loads beside its smallest one', async () => {
  const blocks = [...README.matchAll(/^ *```yaml\n([\s\S]*?)^ *```$/gm)].map(([, text = '']) => text)
  const parts = blocks.slice(1).filter((text) => !text.includes('encryption:'))
  expect(parts.map((text) => Object.keys(parse(text))[0])).toEqual(['routes', 'receivers', 'heartbeat'])
  for (const text of parts) {
    writeFileSync(join(folder, 'part.yaml'), stringify({ ...parse(await smallestConfig()), ...parse(text) }))
    const ran = await plimsollHere(['config', 'check', 'part.yaml'], folder, { env: { ...ENV, HEARTBEAT_KEY: 'x' } })
    expect(ran, text).toMatchObject({ code: 0 })
  }
})

test('what is run elsewhere is run by a test that exists', () => {
  const tests = new Set(
    readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' }).map((path) => basename(path)),
  )
  const named = Object.values(RUN_ELSEWHERE).filter((where) => where.endsWith('.test.ts'))
  expect(named.filter((file) => !tests.has(file))).toEqual([])
})

test('every path in the README exists, in the tree or on the server', async () => {
  const files = [...README.matchAll(/`((?:src|jobs|config|test)\/[^`*{}]*)`|\]\(([^)]+)\)/g)].map(
    ([, code, link]) => code ?? link ?? '',
  )
  const tree = new Set(
    readdirSync(ROOT, { recursive: true, encoding: 'utf8' }).filter((path) => !path.startsWith('node_modules')),
  )
  const own = ['config/plimsoll.yaml']
  const missing = files.filter((path) => !own.includes(path) && !tree.has(path.replace(/\/$/, '')))
  expect(missing).toEqual([])

  const port = (JSON.parse(await daemon.line(/"daemon\.started"/, 0)) as { url: string }).url
  const paths = [...README.matchAll(/`(\/[a-z0-9/]*)`/g)].map(([, path = '']) => path)
  expect(paths.length).toBeGreaterThan(8)
  for (const path of paths.filter((one) => !['/oauth/callback'].includes(one))) {
    const { status } = await fetch(port + path, { redirect: 'manual' })
    expect([200, 302], path).toContain(status)
  }
})
