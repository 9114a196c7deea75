import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Finding, RedisConnection } from '../../src/doctor/check.ts'
import { checkRedis, judgePace, judgeServer } from '../../src/doctor/redis.ts'
import { connectRedis } from '../../src/redis/connect.ts'
import { FORMAT } from '../../src/redis/format.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { readServers, type ServerFacts } from '../../src/redis/servers.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { eventually, freePort } from '../support/fleet.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'

let folder: string
let redis: RedisServer
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'plimsoll-doctor-'))
  redis = await startRedis(folder)
})
afterAll(async () => {
  await redis.stop()
  rmSync(folder, { recursive: true, force: true })
})

const SETTINGS = { 'maxmemory-policy': 'noeviction', maxmemory: '0', appendonly: 'yes', save: '' }

async function set(settings: Record<string, string>): Promise<void> {
  for (const [name, value] of Object.entries(settings)) await redis.connect('pages').config('SET', name, value)
}

afterEach(() => set(SETTINGS))

const keys = createKeys('doctor')

/** How fast a Redis of this machine answers depends on what else runs here: `judgePace` has tests of its own. */
const STANDS_STILL = { ...systemClock, now: () => Date.UTC(2026, 10, 24) }

async function look(url = redis.url): Promise<Record<string, Finding>> {
  let lastError: Error | undefined
  const store = connectRedis({ kind: 'url', url: new Secret(url) }, 'pages', (error) => {
    lastError = error
  })
  const connection: RedisConnection = {
    store: Promise.resolve(store),
    lastError: () => lastError,
    askNodes: async () => [],
  }
  const findings = await checkRedis(connection, keys, STANDS_STILL).finally(() => store.disconnect())
  return Object.fromEntries(findings.map((finding) => [finding.name, finding]))
}

test('a Redis as it should be gets no complaint', async () => {
  const findings = await look()
  expect(Object.values(findings).map(({ level }) => level)).toEqual(Array(7).fill('ok'))
  expect(findings).toMatchObject({
    redis: { detail: expect.stringMatching(/^answers in /) },
    'redis.write': { detail: 'accepts writes' },
    'redis.format': { detail: 'data that this version reads' },
    'redis.version': { detail: expect.stringMatching(/^\d+\.\d+\.\d+$/) },
    'redis.eviction': { detail: 'noeviction' },
    'redis.persistence': { detail: expect.stringMatching(/^append-only file; .*redis-cli bgrewriteaof$/) },
    'redis.memory': { detail: expect.stringMatching(/^[\d.]+ MB used, no maxmemory$/) },
  })
})

test('a Redis that evicts fails, with the command that mends it', async () => {
  await set({ 'maxmemory-policy': 'allkeys-lru' })
  expect((await look())['redis.eviction']).toEqual({
    name: 'redis.eviction',
    level: 'fail',
    detail: 'allkeys-lru: when memory is full it throws tokens away',
    fix: expect.stringContaining('redis-cli config set maxmemory-policy noeviction'),
  })
})

test('a Redis without persistence fails; one with snapshots only is a warning', async () => {
  await set({ appendonly: 'no' })
  expect((await look())['redis.persistence']).toMatchObject({
    level: 'fail',
    fix: expect.stringContaining('appendonly yes'),
  })
  await set({ save: '3600 1' })
  expect((await look())['redis.persistence']).toMatchObject({
    level: 'warn',
    fix: expect.stringContaining('appendonly yes'),
  })
})

test('a Redis whose memory is full fails, and says that it takes no writes', async () => {
  await set({ maxmemory: '1000000' })
  const findings = await look()
  expect(findings['redis.memory']).toMatchObject({ level: 'fail', detail: expect.stringMatching(/of 1\.0 MB used/) })
  expect(findings['redis.write']).toMatchObject({ level: 'fail', fix: 'raise maxmemory of the server' })
})

test('data of a newer version fails: this one would read it wrongly', async () => {
  await redis.connect('pages').set(keys.format, FORMAT + 1)
  expect((await look())['redis.format']).toMatchObject({
    level: 'fail',
    detail: expect.stringContaining(`format ${FORMAT + 1}`),
  })
  await redis.connect('pages').del(keys.format)
})

test('a server that cannot write to its disk is told as such, though it refuses even a PING', async () => {
  // Where its file belongs is a folder.
  mkdirSync(join(folder, 'dump.rdb'), { recursive: true })
  onTestFinished(() => rmSync(join(folder, 'dump.rdb'), { recursive: true }))
  const store = redis.connect('pages')
  await set({ save: '3600 1' })
  await store.bgsave('SCHEDULE')
  await eventually('it has failed', async () => (await store.info('persistence')).includes('bgsave_status:err'))
  await expect(store.ping()).rejects.toThrow('MISCONF')
  const findings = await look()
  expect(findings.redis).toBeUndefined()
  expect(findings).toMatchObject({
    'redis.write': {
      level: 'fail',
      detail: expect.stringMatching(/^refuses writes: MISCONF /),
      fix: expect.stringContaining('make room'),
    },
    'redis.memory': { level: 'ok' },
  })
})

test('a replica is told by its refusal to write', async () => {
  const store = redis.connect('pages')
  await store.replicaof('127.0.0.1', 1)
  try {
    expect((await look())['redis.write']).toMatchObject({ level: 'fail', fix: expect.stringContaining('master') })
  } finally {
    await store.replicaof('NO', 'ONE')
  }
})

test('a user that may not ask for INFO leaves what it says unknown', async () => {
  await redis.connect('pages').acl('SETUSER', 'plain', 'on', '>pw', '~*', '+@all', '-info', '-config')
  const findings = await look(`redis://plain:pw@127.0.0.1:${redis.port}`)
  expect(findings).toMatchObject({ redis: { level: 'ok' }, 'redis.settings': { level: 'warn' } })
})

test('a user that has the keys and not the channel fails, and is told which', async () => {
  await redis.connect('pages').acl('SETUSER', 'mute', 'on', '>pw', '~*', '+@all', 'resetchannels')
  const findings = await look(`redis://mute:pw@127.0.0.1:${redis.port}`)
  expect(findings['redis.write']).toMatchObject({
    level: 'fail',
    detail: expect.stringMatching(/NOPERM.*channel/),
    fix: expect.stringContaining('&{PREFIX}:wakes'),
  })
})

test('a Redis that is not there fails once, with its reason and no address', async () => {
  expect(await look('redis://:s3cret@127.0.0.1:1')).toEqual({
    redis: {
      name: 'redis',
      level: 'fail',
      detail: 'does not answer: connection refused',
      fix: expect.stringContaining('check redis in the config'),
    },
  })
})

test('a wrong password is told in the words of the server', async () => {
  await redis.connect('pages').acl('SETUSER', 'locked', 'on', '>right', '~*', '+@all')
  const { redis: found } = await look(`redis://locked:wr0ng@127.0.0.1:${redis.port}`)
  expect(found).toMatchObject({ level: 'fail', detail: expect.stringMatching(/WRONGPASS|NOAUTH/) })
  expect(JSON.stringify(found)).not.toContain('wr0ng')
})

test('of a cluster the masters are looked at', async () => {
  const own = mkdtempSync(join(tmpdir(), 'plimsoll-doctor-cluster-'))
  // A node that never met another doesn't know its own address.
  const address = ['--cluster-announce-ip', '127.0.0.1', '--cluster-port', String(await freePort())]
  const node = await startRedis(own, ['--cluster-enabled', 'yes', ...address])
  onTestFinished(async () => {
    await node.stop()
    rmSync(own, { recursive: true, force: true })
  })
  const direct = node.connect('pages')
  await direct.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
  await eventually('a whole cluster', async () =>
    String(await direct.call('CLUSTER', 'INFO')).includes('cluster_state:ok'),
  )
  const store = connectRedis({ kind: 'cluster', nodes: [{ host: '127.0.0.1', port: node.port }] }, 'pages', () => {})
  onTestFinished(() => store.disconnect())
  const findings = await checkRedis(
    { store: Promise.resolve(store), lastError: () => undefined, askNodes: async () => [] },
    keys,
    systemClock,
  )
  // The first one judges how soon Redis answers, which a busy machine delays.
  expect(findings.slice(1).map(({ level }) => level)).toEqual(Array(6).fill('ok'))
  expect(await readServers(store)).toMatchObject([{ address: `127.0.0.1:${node.port}`, appendOnly: true }])
})

describe('what servers say', () => {
  const FACTS: ServerFacts = {
    address: '127.0.0.1:6379',
    version: '7.2.4',
    evictionPolicy: 'noeviction',
    maxMemory: 0,
    usedMemory: 1,
    pingMs: 1,
    evictedKeys: 0,
    appendOnly: true,
    aofWorks: true,
    rewriteWorks: true,
    rdbWorks: true,
    snapshots: '',
  }
  const levelOf = (name: string, facts: Partial<ServerFacts>) =>
    judgeServer({ ...FACTS, ...facts }).find((finding) => finding.name === `redis.${name}`)?.level

  test.each([
    ['6.0.16', 'fail'],
    ['6.1.240', 'fail'],
    ['6.2.0', 'ok'],
    ['10.0.1', 'ok'],
    ['5.0.7', 'fail'],
  ])('version %s: %s', (version, level) => expect(levelOf('version', { version })).toBe(level))

  test.each([
    [0.74, 'ok'],
    [0.75, 'warn'],
    [0.95, 'fail'],
  ])('a share of %s of maxmemory: %s', (share, level) => {
    expect(levelOf('memory', { maxMemory: 1e9, usedMemory: share * 1e9 })).toBe(level)
  })

  test('an unknown policy and unknown snapshots are warnings; a failed write to disk is a fail', () => {
    expect(levelOf('eviction', { evictionPolicy: undefined })).toBe('warn')
    expect(levelOf('persistence', { appendOnly: false, snapshots: undefined })).toBe('warn')
    expect(levelOf('persistence', { rdbWorks: false })).toBe('fail')
  })

  test.each([
    [0.2, 'ok'],
    [51, 'warn'],
    [501, 'fail'],
  ])('answers in %s ms: %s', (ms, level) => expect(judgePace(ms).level).toBe(level))
})
