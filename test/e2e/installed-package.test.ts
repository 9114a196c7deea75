import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { run } from '../support/command.ts'
import { eventually } from '../support/fleet.ts'
import { MAIN } from '../support/main.ts'
import { folderOfFile } from '../support/of-file.ts'
import { hasRegistry, type Package, packInto } from '../support/package.ts'

const ROOT = new URL('../../', import.meta.url).pathname
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }

const folder = folderOfFile()
const app = join(folder, 'app')
/** The Node of the tests first. */
const env = {
  PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
  npm_config_update_notifier: 'false',
}

let packed: Package
beforeAll(async () => {
  packed = await packInto(folder)
  mkdirSync(app)
})

test('the package has what runs, its documents and what deploys it: nothing else', () => {
  const { file, paths } = packed
  expect(basename(file)).toBe(`plimsoll-${version}.tgz`)
  const parts = new Set(paths.map((path) => /^[^/]+(\/[^/]+)?/.exec(path)?.[0] ?? path))
  expect([...parts].sort()).toEqual([
    'LICENSE',
    'README.md',
    ...['deploy', 'example.yaml', 'guide'].map((name) => `config/${name}`),
    ...['config', 'jobs', 'package.json', 'src'].map((name) => `dist/${name}`),
    'package.json',
  ])
  expect(paths.filter((path) => /\.(ts|map)$|\.env|plimsoll\.yaml$/.test(path))).toEqual(
    ['docker/etc', 'systemd'].map((place) => `config/deploy/${place}/plimsoll.yaml`),
  )
})

test.skipIf(!hasRegistry)(
  'from an empty folder (left out without an npm registry): it is installed, and npx runs the demo',
  async () => {
    const installed = await run('npm', ['install', '--no-audit', '--no-fund', packed.file], app, env)
    expect(installed, installed.err).toMatchObject({ code: 0, out: expect.stringMatching(/^\s*added \d+ packages/) })
    for (const name of ['bullmq', 'ioredis', 'node-cron', 'nodemailer', 'pino'])
      expect(existsSync(join(app, 'node_modules', name)), name).toBe(true)
    for (const name of ['typescript', 'vitest', '@plimsoll'])
      expect(existsSync(join(app, 'node_modules', name)), name).toBe(false)

    // A group of its own: Ctrl-C at a terminal reaches npx and the demo.
    const demo = spawn('npx', ['plimsoll', 'demo'], { cwd: app, env: { ...process.env, ...env }, detached: true })
    const ended = once(demo, 'close')
    let said = ''
    for (const stream of [demo.stdout, demo.stderr]) stream.on('data', (data) => (said += data))
    try {
      const link = await eventually('a link', async () => /http:\S+\/sign-in\?code=\S+/.exec(said)?.[0])
      await eventually('its accounts', async () => said.includes('25 accounts connected'))
      const followed = await fetch(link, { redirect: 'manual' })
      const cookie = followed.headers.get('set-cookie')?.split(';')[0] ?? ''
      for (const path of ['/', '/assets/plimsoll.css']) {
        expect((await fetch(new URL(path, link), { headers: { cookie } })).status, path).toBe(200)
      }
    } finally {
      process.kill(-(demo.pid ?? 0), 'SIGINT')
      await ended
    }
    expect(said).toMatch(/What happened:\n {2}accounts: 25\n/)
    expect(said).toContain('tokens expired: 0')
    expect(readdirSync(app).sort()).toEqual(['node_modules', 'package-lock.json', 'package.json'])
    expect(readdirSync(tmpdir()).filter((name) => /^plimsoll-demo-/.test(name) && said.includes(name))).toEqual([])
  },
)

test('where no Redis can be had the demo names what it needs, and how to get it', async () => {
  const bare = join(folder, 'bare')
  mkdirSync(bare)
  symlinkSync(process.execPath, join(bare, 'node'))
  const { code, out, err } = await run(join(bare, 'node'), [MAIN, 'demo'], app, { PATH: bare, REDIS_SERVER_BIN: '' })
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err).toMatch(
    /^plimsoll: the demo starts a Redis of its own, .* no redis-server: install one \(apt-get install .*\n$/,
  )
})
