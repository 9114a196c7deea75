import { spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
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
import { hasRegistry, packInto } from '../support/package.ts'
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
  test.skipIf(!hasRegistry)(
    '(left out without an npm registry) makes the image of the package that lies beside it, and of nothing else',
    async () => {
      const context = join(folder, 'context')
      mkdirSync(context)
      await packInto(context)
      const [own, ...more] = restsOf(stages[0] ?? [], 'COPY')
      expect([own, more]).toEqual(['plimsoll-*.tgz /plimsoll.tgz', []])
      const ignored = readFileSync(join(DOCKER, '.dockerignore'), 'utf8').trim().split('\n')
      expect(ignored.filter((line) => !line.startsWith('#'))).toEqual(['*', '!plimsoll-*.tgz'])

      const root = join(folder, 'root')
      mkdirSync(join(root, 'data'), { recursive: true })
      cpSync(join(context, readdirSync(context)[0] ?? ''), join(root, 'plimsoll.tgz'))
      for (const step of restsOf(stages[0] ?? [], 'RUN')) {
        const ran = await run('sh', ['-euc', step.replaceAll(/(?<=\s)\//g, `${root}/`)], root)
        expect(ran, step).toMatchObject({ code: 0 })
      }
      expect(readdirSync(join(root, 'data'))).toEqual(['plimsoll'])
      expect(restsOf(image, 'COPY')).toEqual([
        '--from=package /app /app',
        '--from=package --chown=1000:1000 /data /data',
      ])
      const app = join(root, 'app')
      expect(existsSync(join(app, 'node_modules', 'typescript'))).toBe(false)
      await startsAndIsHealthy(app)
    },
  )
})

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
      build?: string
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
    expect(existsSync(join(DOCKER, plimsoll.build ?? '', 'Dockerfile'))).toBe(true)
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
    const [program, ...args] = redis.command ?? []
    expect(program).toBe('redis-server')
    const here = args.map((arg) => arg.replace('/run/secrets', folder).replace('/data', data))
    const port = await freePort()
    const server = spawn(findServer(), [...here, '--port', String(port), '--bind', '127.0.0.1'], { stdio: 'ignore' })
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
