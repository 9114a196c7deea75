import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { plimsoll, plimsollHere } from '../support/command.ts'
import { eventually } from '../support/fleet.ts'
import { openScene, type Scene } from '../support/scene.ts'

interface Finding {
  name: string
  level: string
  detail: string
  fix?: string
}

/** Not v1, which has an end. */
const PROVIDER = { api: '2026-03' }

let scene: Scene
beforeAll(async () => {
  scene = await openScene({ accounts: 1 })
})
afterAll(() => scene.close())

async function doctor(file: string): Promise<{ code: number | null; err: string; found: Record<string, Finding> }> {
  const { code, out, err } = await plimsollHere(['doctor', '--json', '--config', file], scene.folder)
  const findings = JSON.parse(out) as Finding[]
  return { code, err, found: Object.fromEntries(findings.map((finding) => [finding.name, finding])) }
}

test('an installation at work has nothing that fails', async () => {
  const settings = { provider: PROVIDER }
  const daemon = await scene.daemon(settings)
  const http = { publicUrl: daemon.url, listen: new URL(daemon.url).host }
  const config = await scene.configFile({ ...settings, http })
  await eventually('sweeps of every kind', async () => (await doctor(config)).found.daemon?.level === 'ok')
  // A machine that is busy with other tests may answer slowly for a moment.
  const { code, err, found } = await eventually('a Redis that answers in time', async () => {
    const answer = await doctor(config)
    return answer.found.redis?.level === 'ok' && answer
  })
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(Object.keys(found)).toEqual([
    'config',
    'redis',
    'redis.write',
    'redis.format',
    'redis.version',
    'redis.eviction',
    'redis.persistence',
    'redis.memory',
    'encryption',
    'admin-tokens',
    'sealed-tokens',
    'secret-files',
    'open-files',
    'provider',
    'clock',
    'calls',
    'end-date',
    'receiver.ops-mail',
    'receiver.ops-hook',
    'deliveries',
    'public-url',
    'daemon',
    'config.in-force',
    'verdict',
  ])
  // A config for tests has its secrets in clear where others may read them.
  const complaints = Object.values(found).filter(({ level }) => level !== 'ok')
  expect(complaints.map(({ name }) => name)).toEqual(['secret-files'])

  expect(found['config.in-force']).toMatchObject({ level: 'ok', detail: 'all daemons use this config' })
  const changed = await scene.configFile({ ...settings, http: { publicUrl: daemon.url }, tags: { vip: [1] } })
  expect((await doctor(changed)).found['config.in-force']).toMatchObject({
    level: 'warn',
    detail: expect.stringContaining(`another config than this file is in force: `),
    fix: expect.stringContaining('SIGHUP'),
  })

  // What the daemon knows is asked of the daemon.
  const apart = await scene.configFile({ ...settings, http, redis: { url: 'redis://127.0.0.1:1' } })
  expect((await doctor(apart)).found).toMatchObject({
    redis: { level: 'fail' },
    daemon: { level: 'ok', detail: 'running: sweeps finish' },
    verdict: { level: 'ok' },
  })

  const { out } = await plimsoll(['doctor', '--config', config], scene.folder)
  expect(out).toMatch(/^warn {2}secret-files +/m)
  expect(out).toMatch(/^ok {4}redis\.eviction +noeviction$/m)
  expect(out).not.toContain('\u001b')
})

test('what is wrong fails with exit code 1, each with its way out', async () => {
  await scene.redis.connect('pages').config('SET', 'maxmemory-policy', 'allkeys-lru')
  const config = await scene.configFile({
    provider: { ...PROVIDER, baseUrl: 'http://127.0.0.1:1' },
    encryption: { keys: [{ id: 'k1', key: Buffer.alloc(32, 9).toString('base64') }] },
  })
  const { code, out, err } = await plimsoll(['doctor', '--config', config], scene.folder)
  expect(code).toBe(1)
  expect(err).toBe('plimsoll: 3 of 24 checks failed: each shows what to do\n')
  expect(out).toMatch(/^fail {2}redis\.eviction .*\n +-> set maxmemory-policy noeviction/m)
  expect(out).toMatch(/^fail {2}encryption .*\n +-> check encryption\.keys/m)
  expect(out).toMatch(/^fail {2}provider .*\n +-> check provider\.baseUrl/m)
})

test('without Redis that alone fails; what needs it says that it was not tried', async () => {
  const { code, found } = await doctor(
    await scene.configFile({ provider: PROVIDER, redis: { url: 'redis://127.0.0.1:1' } }),
  )
  expect(code).toBe(1)
  const failed = Object.values(found).filter(({ level }) => level === 'fail')
  expect(failed).toMatchObject([{ name: 'redis', detail: 'does not answer: connection refused' }])
  expect(found.encryption).toMatchObject({ level: 'warn', detail: 'not checked: Redis does not answer' })
})

test('before the first start all but the data is looked at, and nothing is made', async () => {
  const config = await scene.configFile({ provider: PROVIDER, redis: { url: undefined } })
  const { encryption: _, ...rest } = JSON.parse(readFileSync(config, 'utf8')) as Record<string, unknown>
  const data = join(scene.folder, 'no-data')
  writeFileSync(config, JSON.stringify({ ...rest, dataDir: data }))
  const { code, found } = await doctor(config)
  expect(code).toBe(1)
  expect(found).toMatchObject({
    redis: { level: 'fail', detail: expect.stringContaining(`no Plimsoll data at ${data}: plimsoll start begins`) },
    encryption: { level: 'warn', detail: 'not checked: Redis does not answer' },
    provider: { level: 'ok' },
    'public-url': { level: 'warn' },
  })
  expect(existsSync(data)).toBe(false)
})

test('a config that cannot be used is all that is told, in colour on a terminal', async () => {
  const file = join(scene.folder, 'broken.yaml')
  writeFileSync(file, 'provider: { clientId: a }\n')
  const { code, found } = await doctor(file)
  expect(code).toBe(1)
  expect(Object.keys(found)).toEqual(['config'])
  expect(found.config?.fix).toContain('correct the file')

  const terminal = { isTerminal: true, columns: 80, hasColours: true }
  const { out } = await plimsollHere(['doctor', '--config', file], scene.folder, terminal)
  expect(out).toContain('\u001b[31mfail\u001b[39m  config')
})
