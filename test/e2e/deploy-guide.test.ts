import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { configOf, smallestWith } from '../config/load-text.ts'
import { type Ran, run } from '../support/command.ts'
import { hasRegistry, packInto } from '../support/package.ts'
import { isOnPath } from '../support/programs.ts'

/**
 * config/deploy/README.md, followed by a shell on a machine of its own: a folder that stands for `/`. What needs an engine,
 * a service manager or another user is a stand-in that only notes that it was called.
 */
const ROOT = new URL('../../', import.meta.url).pathname
const guide = readFileSync(join(ROOT, 'config/deploy/README.md'), 'utf8')
const STAND_INS = ['systemctl', 'systemd-sysusers', 'chown', 'docker', 'kubectl']
const SECRETS: Record<string, string> = {
  'client-secret': 'a-client-secret',
  smtp: 'smtps://user:password@mail.example.com:465',
}

let machine: string
/** With the package in it. */
let folder: string
beforeAll(async () => {
  machine = mkdtempSync(join(tmpdir(), 'deploy-guide-'))
  folder = join(machine, 'folder')
  mkdirSync(folder)
  await packInto(folder)
  const bin = join(machine, 'bin')
  mkdirSync(bin)
  for (const name of STAND_INS) standIn(name, `echo "${name} $*" >> ${machine}/called`)
  // Writes what somebody would type; a config is left as it is.
  const cases = Object.entries(SECRETS).map(([name, value]) => `*/${name}) echo '${value}' > "$1" ;;`)
  standIn('editor', `case "$1" in ${cases.join(' ')} esac`)
  standIn('runuser', 'shift 3; AS=1000 exec "$@"')
  standIn('id', 'echo "${AS:-0}"')
})
afterAll(() => rmSync(machine, { recursive: true, force: true }))

function standIn(name: string, text: string): void {
  const file = join(machine, 'bin', name)
  writeFileSync(file, `#!/bin/sh\n${text}\n`)
  chmodSync(file, 0o755)
}

/** The blocks of shell of a section, in order. */
function blocksOf(heading: string): string[] {
  const [, rest = ''] = guide.split(`\n## ${heading}\n`)
  return [...(rest.split('\n## ')[0] ?? '').matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text)
}

const here = (text: string) =>
  text
    .replace(/(^|[\s>"=-])\/(etc|opt|var\/lib|usr\/local)\b/gm, `$1${machine}/$2`)
    .replaceAll('/usr/bin/node', process.execPath)

function follow(block: string, cwd = folder): Promise<Ran> {
  const path = `${join(machine, 'usr/local/bin')}:${join(machine, 'bin')}:${process.env.PATH}`
  return run('sh', ['-euc', here(block)], cwd, { PATH: path })
}

const called = () => readFileSync(join(machine, 'called'), 'utf8').trimEnd().split('\n')
const program = 'opt/plimsoll/node_modules/plimsoll/dist/src/main.js'
const modeOf = (path: string) => statSync(join(machine, path)).mode & 0o777

test.skipIf(!hasRegistry)(
  'the service (left out without an npm registry): its files come where the unit looks for them, secrets are closed, its command line has its config',
  async () => {
    const [files = '', secrets = '', begin = ''] = blocksOf('As a service of systemd')
    expect(await follow(files)).toMatchObject({ code: 0 })
    for (const path of [program, 'opt/plimsoll/node_modules/bullmq/package.json'])
      expect(existsSync(join(machine, path)), path).toBe(true)
    const own = 'usr/local/bin/plimsoll'
    writeFileSync(join(machine, own), here(readFileSync(join(machine, own), 'utf8')))
    expect(await follow(secrets)).toMatchObject({ code: 0, err: '' })
    for (const name of ['k1', 'admin-token', 'client-secret', 'smtp']) {
      expect(modeOf(`etc/plimsoll/credentials/${name}`) & 0o027, name).toBe(0)
    }
    expect(modeOf('etc/plimsoll/credentials')).toBe(0o750)
    expect(called().at(-1)).toBe(`chown -R root:plimsoll ${machine}/etc/plimsoll`)
    for (const path of ['opt/plimsoll', program, 'etc/plimsoll/plimsoll.yaml', own]) {
      expect(modeOf(path) & 0o022, path).toBe(0)
    }

    const commands = begin.trim().split('\n')
    expect(commands).toEqual([
      'plimsoll config check',
      'systemctl daemon-reload',
      'systemctl enable --now plimsoll',
      'plimsoll doctor',
    ])
    const checked = await follow('plimsoll config check')
    expect(checked).toMatchObject({ code: 0, err: '', out: expect.stringContaining('plimsoll.yaml is fine') })
  },
)

test('with Docker: the secrets are made and found by compose, and the passwords of both sides are one', async () => {
  const [block = ''] = blocksOf('With Docker')
  expect(await follow(block)).toMatchObject({ code: 0, err: '' })
  const compose = parse(readFileSync(join(folder, 'compose.yaml'), 'utf8'), { merge: true }) as {
    secrets: Record<string, { file: string }>
  }
  const made = Object.values(compose.secrets).map(({ file }) => readFileSync(join(folder, file), 'utf8').trim())
  expect(made.every((secret) => secret !== '')).toBe(true)
  expect(statSync(join(folder, 'secrets')).mode & 0o777).toBe(0o700)
  const password = readFileSync(join(folder, 'secrets/redis-auth'), 'utf8').trim().replace('requirepass ', '')
  expect(password).toMatch(/^[0-9a-f]{64}$/)
  expect(readFileSync(join(folder, 'secrets/redis-url'), 'utf8').trim()).toBe(`redis://:${password}@redis:6379`)
  expect(called().slice(-2)).toEqual([
    'docker compose up --detach --build',
    'docker compose exec plimsoll node dist/src/main.js doctor',
  ])
})

test('with Kubernetes: the secret and the config are made of the same files, and the manifest is beside them', async () => {
  const [begin = '', again = ''] = blocksOf('With Kubernetes')
  for (const block of [begin, again]) expect(await follow(block)).toMatchObject({ code: 0, err: '' })
  const commands = called().filter((command) => command.startsWith('kubectl'))
  const files = commands.flatMap((command) => [...command.matchAll(/--(?:from-file=|filename )([\w.]+)/g)])
  expect([...new Set(files.map(([, path]) => path))]).toEqual(['secrets', 'etc', 'kubernetes.yaml'])
  for (const [, path = ''] of files) expect(existsSync(join(folder, path)), path).toBe(true)
})

test.skipIf(!hasRegistry)(
  'logs (left out without an npm registry): the part of a config is one, and the snippet sends its signal to the daemon alone',
  async () => {
    const [, text = ''] = /```yaml\n([\s\S]*?)```/.exec(guide) ?? []
    expect(configOf(smallestWith(text)).log).toMatchObject({ file: '/var/log/plimsoll/plimsoll.log' })
    const [install = ''] = blocksOf('Logs')
    expect(await follow(install)).toMatchObject({ code: 0, err: '' })
    const snippet = readFileSync(join(machine, 'etc/logrotate.d/plimsoll'), 'utf8')
    const [, script = ''] = /postrotate\n([\s\S]*?)endscript/.exec(snippet) ?? []
    expect(await follow(script)).toMatchObject({ code: 0, err: '' })
    expect(called().at(-1)).toBe('systemctl kill --kill-whom=main --signal=HUP plimsoll.service')
  },
)

test.skipIf(!isOnPath('logrotate'))('logrotate takes the snippet (left out where there is no logrotate)', async () => {
  const file = join(machine, 'logrotate.conf')
  const text = readFileSync(join(ROOT, 'config/deploy/systemd/plimsoll.logrotate'), 'utf8')
  writeFileSync(file, text.replace('su plimsoll plimsoll', '').replaceAll('/var/log', machine), { mode: 0o644 })
  expect(await run('logrotate', ['--debug', file], ROOT)).toMatchObject({
    code: 0,
    err: expect.not.stringContaining('error'),
  })
})

test('every other command is one that a test runs', () => {
  const followed = ['As a service of systemd', 'With Docker', 'With Kubernetes', 'Logs'].flatMap(blocksOf)
  const all = [...guide.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text)
  const others = all.filter((block) => !followed.includes(block)).flatMap((block) => block.trim().split('\n'))
  const elsewhere = others.filter((command) => RUN_ELSEWHERE[command] === undefined)
  expect(elsewhere).toEqual([])
  expect(Object.keys(RUN_ELSEWHERE).filter((command) => !others.includes(command))).toEqual([])
})

/** By name, so that a new command can't slip in. */
const RUN_ELSEWHERE: Record<string, string> = {
  'systemctl reload plimsoll': 'ExecReload of the unit: systemd.test.ts, reload.test.ts',
  'systemctl stop plimsoll': 'SIGTERM: backup-restore.test.ts',
  'systemctl start plimsoll': 'backup-restore.test.ts',
  'systemctl enable --now plimsoll': 'backup-restore.test.ts',
  'systemctl daemon-reload': 'nothing of ours',
  'systemctl restart plimsoll': 'backup-restore.test.ts',
  'tar -C /var/lib/plimsoll -czf plimsoll.tgz .': 'backup-restore.test.ts',
  'install -d -m 0700 -o plimsoll -g plimsoll /var/lib/plimsoll': 'nothing of ours',
  'tar -C /var/lib/plimsoll -xzpf plimsoll.tgz': 'backup-restore.test.ts',
  'chown -R plimsoll:plimsoll /var/lib/plimsoll': 'nothing of ours',
  'plimsoll doctor': 'backup-restore.test.ts',
  'plimsoll config check': 'the first test here',
  'redis-cli --rdb plimsoll.rdb': 'backup-restore.test.ts',
  'redis-server --daemonize yes --dir /var/lib/redis --appendonly no': 'backup-restore.test.ts',
  'redis-cli config set appendonly yes': 'backup-restore.test.ts',
  'redis-cli info persistence | grep aof_rewrite_in_progress:0': 'backup-restore.test.ts',
  'redis-cli shutdown': 'backup-restore.test.ts',
}
