import { spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { validate } from 'dockerfile-utils'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { connectRedis } from '../../src/redis/connect.ts'
import { findServer } from '../../src/redis/server-program.ts'
import { readServers } from '../../src/redis/servers.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { plimsollHere, run } from '../support/command.ts'
import { spawnDaemon } from '../support/daemon.ts'
import { freePort } from '../support/fleet.ts'
import { folderOfFile } from '../support/of-file.ts'
import { startRedis } from '../support/redis-server.ts'

/** No engine runs here: the image is made step by step, as far as its steps are npm's and ours. */
const ROOT = new URL('../../', import.meta.url).pathname
const DOCKER = join(ROOT, 'config/deploy/docker')
const dockerfile = readFileSync(join(DOCKER, 'Dockerfile'), 'utf8')

interface Step {
  instruction: string
  rest: string
}

/** Its instructions by stage, the last stage being the image. */
const stages = dockerfile
  .replace(/^#.*\n/gm, '')
  .replace(/\\\n\s*/g, ' ')
  .split(/^(?=FROM )/m)
  .map((text) =>
    text
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line): Step => ({ instruction: line.split(' ')[0] ?? '', rest: line.slice(line.indexOf(' ') + 1).trim() })),
  )
  .filter((steps) => steps[0]?.instruction === 'FROM')
const image = stages.at(-1) ?? []
const restsOf = (steps: readonly Step[], instruction: string) =>
  steps.filter((step) => step.instruction === instruction).map(({ rest }) => rest)

const folder = folderOfFile()

describe('the Dockerfile', () => {
  test('has nothing that a linter minds', () => {
    expect(validate(dockerfile)).toEqual([])
    expect(validate('FROM node\nEXPOSE a\nMAINTAINER me').length).toBeGreaterThan(0)
  })

  test('names the version of its base, the same everywhere, and it is new enough', () => {
    const bases = stages.map(([from]) => /^(\S+?)(?: AS \w+)?$/.exec(from?.rest ?? '')?.[1])
    expect(new Set(bases).size).toBe(1)
    const [, major, minor] = /^node:(\d+)\.(\d+)\.\d+-bookworm-slim$/.exec(bases[0] ?? '') ?? []
    expect(Number(major) * 100 + Number(minor)).toBeGreaterThanOrEqual(2219)
  })

  test('ends as somebody else than root, tells how it is without a shell, and is stopped by the signal that the daemon heeds', () => {
    expect(restsOf(image, 'USER').at(-1)).toMatch(/^[1-9]\d*:[1-9]\d*$/)
    expect(restsOf(image, 'HEALTHCHECK')).toHaveLength(1)
    expect(restsOf(image, 'STOPSIGNAL')).toEqual(['SIGTERM'])
    for (const command of [...restsOf(image, 'ENTRYPOINT'), ...restsOf(image, 'CMD')]) {
      expect(JSON.parse(command)).toBeInstanceOf(Array)
    }
    // Nothing is installed into it, and nothing is changed as root.
    expect(restsOf(image, 'RUN')).toEqual([])
  })
})

describe('what the Dockerfile says', () => {
  test('builds from what it copies, on what the builder is given; the image runs on the packages without those for development', async () => {
    const context = join(folder, 'context')
    await copyContext(context)
    const build = join(folder, 'build', 'app')
    follow(stages[0] ?? [], context, build)
    symlinkSync(join(ROOT, 'node_modules'), join(build, 'node_modules'))
    const [, ...more] = restsOf(stages[0] ?? [], 'RUN')
    expect(more).toEqual(['npm run build', 'install -d -m 0700 /data/plimsoll'])
    expect(await run('npm', ['run', '-s', 'build'], build)).toEqual({ code: 0, out: '', err: '' })

    // What npm ci would install, by the lock file that it goes by.
    const packages = join(folder, 'packages', 'app')
    follow(stages[1] ?? [], context, packages)
    expect(restsOf(stages[1] ?? [], 'RUN')).toEqual(['npm ci --omit=dev --ignore-scripts --no-audit --no-fund'])
    await linkPackages(packages)

    const app = join(folder, 'image', 'app')
    follow(image, context, app, { build, packages })
    expect(readdirSync(app).sort()).toEqual(['LICENSE', 'dist', 'node_modules'])
    expect(existsSync(join(app, 'node_modules', 'typescript'))).toBe(false)
    await startsAndIsHealthy(app)
  })

  test('gives the builder no secrets, no data, no packages of this machine', () => {
    const ignored = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n')
    expect(ignored.find((line) => line !== '' && !line.startsWith('#'))).toBe('*')
    const given = ignored.filter((line) => line.startsWith('!')).map((line) => line.slice(1))
    expect(given.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
    const own = stages.flatMap((steps) => restsOf(steps, 'COPY')).filter((rest) => !rest.startsWith('--from='))
    const copied = own.flatMap((rest) => rest.split(' ').slice(0, -1))
    for (const path of copied)
      expect(
        given.some((one) => path === one || path.startsWith(`${one}/`)),
        path,
      ).toBe(true)
  })
})

async function copyContext(to: string): Promise<void> {
  const given = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n')
  for (const line of given.filter((one) => one.startsWith('!'))) {
    cpSync(join(ROOT, line.slice(1)), join(to, line.slice(1)), {
      recursive: true,
      filter: (path) => !path.includes('node_modules'),
    })
  }
}

/** The COPY steps of a stage. */
function follow(steps: readonly Step[], context: string, workdir: string, from: Record<string, string> = {}): void {
  mkdirSync(workdir, { recursive: true })
  for (const rest of restsOf(steps, 'COPY')) {
    if (rest.includes(' --chown=')) continue // An empty folder, for the owner of a volume.
    const [, stage, list = rest] = /^--from=(\w+) (.*)$/.exec(rest) ?? []
    const paths = list.split(' ')
    const to = paths.pop() ?? '.'
    for (const path of paths) {
      const source = stage === undefined ? join(context, path) : join(from[stage] ?? '', path.replace(/^\/app\//, ''))
      const target = to.endsWith('/') ? join(workdir, to, path) : join(workdir, to)
      mkdirSync(dirname(target), { recursive: true })
      cpSync(source, target, { recursive: true, verbatimSymlinks: true })
    }
  }
}

interface LockedPackage {
  dev?: boolean
  devOptional?: boolean
  link?: boolean
}

/** The packages without those for development, as npm would put them there: the same bytes, hard-linked. */
async function linkPackages(workdir: string): Promise<void> {
  const { packages } = JSON.parse(readFileSync(join(workdir, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockedPackage>
  }
  const wanted = Object.entries(packages)
    .filter(([, { dev, devOptional, link }]) => dev !== true && devOptional !== true && link !== true)
    .map(([path]) => path)
    // Nested packages come along with the one that they belong to; of those for other machines there are none.
    .filter((path) => path.lastIndexOf('node_modules/') === 0 && existsSync(join(ROOT, path)))
  expect(wanted.length).toBeGreaterThan(20)
  const byFolder = Map.groupBy(wanted, (path) => dirname(path))
  for (const [to, paths] of byFolder) {
    mkdirSync(join(workdir, to), { recursive: true })
    const copied = await run('cp', ['-al', ...paths.map((path) => join(ROOT, path)), join(workdir, to)], ROOT)
    expect(copied).toMatchObject({ code: 0, err: '' })
  }
}

/** Its own command on a config like compose's, and its own health check, but for the port. */
async function startsAndIsHealthy(app: string): Promise<void> {
  const redis = await startRedis()
  const port = await freePort()
  const config = await composeConfig(redis.url, port)
  const [, ...run] = JSON.parse(restsOf(image, 'ENTRYPOINT')[0] ?? '[]') as string[]
  const daemon = spawnDaemon(
    config,
    {},
    run.map((arg) => arg.replace(/^\/app(?=\/)/, app)),
  )
  try {
    await daemon.line(/"daemon\.started"/, 0)
    expect(run[0]).toBe('--disable-sigusr1')
    expect((await checkHealth(port)).code).toBe(0)
  } finally {
    expect(await daemon.stop()).toBe(0)
    await redis.stop()
  }
  expect((await checkHealth(port)).code).toBe(1)
}

function checkHealth(port: number) {
  const [, check = '[]'] = / CMD (\[.*\])$/.exec(restsOf(image, 'HEALTHCHECK')[0] ?? '') ?? []
  const [, ...args] = JSON.parse(check) as string[]
  expect(args.at(-1)).toContain(':8088/')
  return run(
    process.execPath,
    args.map((arg) => arg.replace(':8088/', `:${port}/`)),
    ROOT,
  )
}

interface Compose {
  services: Record<
    'plimsoll' | 'redis',
    {
      build?: { context: string; dockerfile: string }
      command?: string[]
      ports?: string[]
      volumes: string[]
      secrets: string[]
      user?: string
      read_only: boolean
      ulimits?: { core?: number }
      cap_drop: string[]
      security_opt: string[]
      stop_grace_period: string
      depends_on?: Record<string, { condition: string }>
      healthcheck?: { test: string[] }
      logging: { options: Record<string, string> }
    }
  >
  volumes: Record<string, unknown>
  secrets: Record<string, { file: string }>
}

const compose = parse(readFileSync(join(DOCKER, 'compose.yaml'), 'utf8'), { merge: true }) as Compose
const SECRETS: Record<string, string> = {
  'client-secret': 'sandbox-client-secret',
  'admin-token': 'an-admin-token-of-the-image',
  smtp: 'smtps://user:password@mail.example.com:465',
  k1: Buffer.alloc(32, 7).toString('base64'),
  'redis-url': 'redis://:pw@redis:6379',
}

/** Compose's config with files where the container would have them. */
async function composeConfig(redisUrl: string, port: number): Promise<string> {
  const secrets = join(folder, 'secrets')
  mkdirSync(secrets, { recursive: true })
  for (const [name, value] of Object.entries({ ...SECRETS, 'redis-url': redisUrl }))
    writeFileSync(join(secrets, name), value)
  const text = readFileSync(join(DOCKER, 'etc/plimsoll.yaml'), 'utf8')
  const file = join(folder, 'plimsoll.yaml')
  const here = text
    .replace('/data/plimsoll', join(folder, 'data'))
    .replaceAll('/run/secrets', secrets)
    .replace('0.0.0.0:8088', `127.0.0.1:${port}`)
  writeFileSync(file, here)
  return file
}

describe('compose.yaml', () => {
  const { plimsoll, redis } = compose.services

  test('mounts only what is there, and each secret that is read is one that is given', () => {
    const mounted = [...plimsoll.volumes, ...redis.volumes].map((volume) => volume.split(':')[0] ?? '')
    const files = mounted.filter((path) => path.startsWith('.'))
    expect(files.filter((path) => !existsSync(join(DOCKER, path)))).toEqual([])
    expect(mounted.filter((path) => !path.startsWith('.'))).toEqual(Object.keys(compose.volumes))
    const [from, to] = plimsoll.volumes[0]?.split(':') ?? []
    expect(to).toBe(dirname(/PLIMSOLL_CONFIG=(\S+)/.exec(restsOf(image, 'ENV').join(' '))?.[1] ?? ''))
    // A file by itself would stay what it was when an editor puts another in its place: SIGHUP would read the old one.
    expect(readdirSync(join(DOCKER, from ?? ''))).toEqual(['plimsoll.yaml'])
    expect(existsSync(join(DOCKER, plimsoll.build?.context ?? '', plimsoll.build?.dockerfile ?? ''))).toBe(true)
    expect([...plimsoll.secrets, ...redis.secrets].sort()).toEqual(Object.keys(compose.secrets).sort())
    const read = [...readFileSync(join(DOCKER, 'etc/plimsoll.yaml'), 'utf8').matchAll(/\/run\/secrets\/([\w-]+)/g)]
    expect(read.map(([, name]) => name).sort()).toEqual([...plimsoll.secrets].sort())
  })

  test('lets neither of them write anywhere but in its volume, nor gain a right', () => {
    for (const service of [plimsoll, redis]) {
      expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] })
      expect(service.ulimits).toEqual({ core: 0 })
      expect(service.logging.options).toHaveProperty('max-size')
    }
    expect(redis.ports).toBeUndefined()
    expect(redis.user).toMatch(/^[1-9]/)
    expect(plimsoll.ports?.every((port) => port.startsWith('127.0.0.1:'))).toBe(true)
    expect(plimsoll.depends_on?.redis).toEqual({ condition: 'service_healthy' })
  })

  test('has a config that is fine', async () => {
    const file = await composeConfig(SECRETS['redis-url'] ?? '', 8088)
    const { code, out } = await plimsollHere(['config', 'check', file], folder)
    expect(code, out).toBe(0)
  })

  test('has a Redis as the doctor wants it, which asks for the password', async () => {
    const data = join(folder, 'redis')
    mkdirSync(data)
    writeFileSync(join(folder, 'redis-auth'), 'requirepass pw\n')
    const conf = join(folder, 'redis.conf')
    const text = readFileSync(join(DOCKER, 'redis.conf'), 'utf8')
    writeFileSync(
      conf,
      text.replace('/run/secrets/redis-auth', join(folder, 'redis-auth')).replace('dir /data', `dir ${data}`),
    )
    const port = await freePort()
    const server = spawn(findServer(), [conf, '--port', String(port), '--bind', '127.0.0.1'], { stdio: 'ignore' })
    const store = connectRedis({ kind: 'url', url: new Secret(`redis://:pw@127.0.0.1:${port}`) }, 'steps', () => {})
    try {
      expect(await readServers(store)).toMatchObject([{ appendOnly: true, evictionPolicy: 'noeviction' }])
      const stranger = connectRedis({ kind: 'url', url: new Secret(`redis://127.0.0.1:${port}`) }, 'pages', () => {})
      await expect(stranger.get('a')).rejects.toThrow('NOAUTH')
      stranger.disconnect()
    } finally {
      store.disconnect()
      server.kill('SIGKILL')
    }
  })
})
