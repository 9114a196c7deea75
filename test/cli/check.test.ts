import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createKeys } from '../../src/redis/keys.ts'
import { type Clock, systemClock } from '../../src/runtime/clock.ts'
import { plimsoll, plimsollHere } from '../support/command.ts'
import {
  customProperties,
  eventually,
  getJson,
  type JournalEntry,
  journalOf,
  refreshTokenFor,
  send,
} from '../support/fleet.ts'
import { openScene, type Scene } from '../support/scene.ts'

/** No daemon is at work here: accounts are connected and polled by commands alone. */
const [ACME, GLOBEX, HOSTILE, LATE] = [1, 2, 3, 4]
const HOSTILE_DOMAIN = '=cmd|x\u001b[31m,"\n\u202eevil.example.com'
const HOSTILE_LABEL = '-1+1|\u001b[2J\r\n"Things"'

let scene: Scene
let config: string

beforeAll(async () => {
  scene = await openScene({ accounts: 0, tokenLifetimeMs: 600_000 })
  config = await scene.configFile({
    provider: { accountRate: { requests: 1_000, per: '10s' } },
    limits: { every: '15m', associations: [{ from: '0-1', to: '0-2' }] },
    thresholds: [
      { on: 'customProperties.*', warning: { percent: 80 }, critical: { percent: 95 } },
      { on: 'associations.atLimit', warning: { count: 1 } },
    ] as object,
  })
  await connect(ACME, 'acme.example.com')
  await connect(GLOBEX, 'globex.example.com')
})
afterAll(() => scene.close())

beforeEach(async () => {
  await send(`${scene.sandbox.url}/sandbox/faults`, 'DELETE')
  await forgetRequests()
})

async function connect(hubId: number, hubDomain: string): Promise<void> {
  await send(`${scene.sandbox.url}/sandbox/accounts`, 'POST', { hubId, hubDomain })
  await put(hubId, customProperties(100))
  const file = join(scene.folder, `token-${hubId}.txt`)
  writeFileSync(file, await refreshTokenFor(scene.sandbox.url, hubId))
  const connected = await command('accounts', 'connect', '--refresh-token-file', file)
  expect(connected).toMatchObject({ code: 0, err: '' })
}

const put = (hubId: number, report: object) =>
  send(`${scene.sandbox.url}/sandbox/accounts/${hubId}/custom-properties`, 'PUT', report)
const fault = (one: object) => send(`${scene.sandbox.url}/sandbox/faults`, 'POST', one)

const command = (...args: string[]) => plimsollHere([...args, '--config', config], scene.folder)
const check = (...args: string[]) => command('check', ...args)
const checkAt = (clock: Clock, ...args: string[]) =>
  plimsollHere(['check', ...args, '--config', config], scene.folder, { clock })
const ahead = (ms: number): Clock => ({ ...systemClock, now: () => systemClock.now() + ms })
const firstLine = ({ out }: { out: string }) => out.split('\n')[0]

/** Of the sandbox, endpoint by endpoint. */
const asked = async (): Promise<string[]> =>
  (await journalOf(scene.sandbox.url)).slice(known).map(({ endpoint }: JournalEntry) => endpoint)
let known = 0
const forgetRequests = async () => {
  known = (await journalOf(scene.sandbox.url)).length
}

describe('the exit code', () => {
  test('is 0 where all is within its thresholds: --live reads first', async () => {
    const line =
      'PLIMSOLL OK - 2 accounts: 6 series within their thresholds' +
      ' | accounts=2 critical=0 warning=0 unknown=0 series=6 without_limit=0 handled=0 reconnect=0\n'
    expect(await check('--live')).toEqual({ code: 0, out: line, err: '' })
    expect((await asked()).sort()).toEqual([...Array(2).fill('associations'), ...Array(2).fill('customProperties')])
    expect(await check()).toEqual({ code: 0, out: line, err: '' })
  })

  test('is 1 at warning, 2 as soon as one is critical; stored readings are judged, not what would be read now', async () => {
    await put(ACME, customProperties(850))
    expect(await check()).toMatchObject({ code: 0 })
    const warning = await check('--live', String(ACME))
    expect(warning).toMatchObject({ code: 1, err: '' })
    expect(firstLine(warning)).toMatch(
      /^PLIMSOLL WARNING - 1 of 1 account: 1 series at warning, 0 critical, 0 accounts /,
    )
    expect(warning.out).toMatch(
      /^warning +1 +acme\.example\.com +Custom properties +850 +1,000 +85 .* from 80 % +\d+ s$/m,
    )

    await put(ACME, customProperties(790))
    const margin = await check('--live', String(ACME))
    expect(margin, 'an alert is open: recoverBelow').toMatchObject({ code: 1 })
    await put(ACME, customProperties(850))
    await put(GLOBEX, customProperties(990))
    const critical = await check('--live')
    expect(critical).toMatchObject({ code: 2, err: '' })
    expect(
      critical.out
        .split('\n')
        .slice(3, 5)
        .map((line) => line.slice(0, 11).trim()),
    ).toEqual(['critical  2', 'warning   1'])
    expect(await check(String(ACME))).toMatchObject({ code: 1 })
  })

  test('commits what --live read like any poll, alerts included', async () => {
    const open = JSON.parse((await command('alerts', 'list', '--json')).out)
    expect(open.map(({ hubId, level }: { hubId: number; level: string }) => [hubId, level])).toEqual([
      [GLOBEX, 'critical'],
      [ACME, 'warning'],
    ])
  })

  test.each([
    ['an option that there is not', ['--bogus'], /^PLIMSOLL UNKNOWN - wrong usage: .*--bogus/],
    ['no config', ['--config', 'nowhere.yaml'], /^PLIMSOLL UNKNOWN - .*nowhere\.yaml/],
  ])('is 3 for %s', async (_, args, line) => {
    const ran = await plimsollHere(['check', ...args], scene.folder)
    expect(ran).toMatchObject({ code: 3, out: expect.stringMatching(line), err: expect.stringMatching(/./) })
    expect(ran.out.match(/^PLIMSOLL /gm)).toHaveLength(1)
  })

  test('is 3 without Redis, in every form', async () => {
    const away = await scene.configFile({ redis: { url: 'redis://127.0.0.1:1' } })
    const ran = await plimsollHere(['check', '--config', away], scene.folder)
    expect(ran).toMatchObject({ code: 3, err: expect.stringContaining('plimsoll: Redis does not answer') })
    expect(ran.out).toMatch(/^PLIMSOLL UNKNOWN - Redis does not answer: [^|\n]*\n$/)
    const json = await plimsollHere(['check', '--json', '--live', '--config', away], scene.folder)
    expect(json.code).toBe(3)
    expect(JSON.parse(json.out)).toMatchObject({ status: 'unknown', exitCode: 3, accounts: [] })
  })

  test('is 0 for --help, which tells the codes; a process ends with them', async () => {
    const help = await plimsollHere(['check', '--help'], scene.folder)
    expect(help).toMatchObject({ code: 0, out: expect.stringContaining('the worst wins') })
    const ran = await plimsoll(['check', '--live', '--config', config, String(ACME)], scene.folder)
    expect(ran).toMatchObject({ code: 1, out: expect.stringContaining('PLIMSOLL WARNING'), err: '' })
  })
})

describe('for programs', () => {
  test('a limit of 0 is unknown, and alone no reason for 3; an alert that is open still counts', async () => {
    await put(ACME, { ...customProperties(100), overallLimit: 0 })
    expect(await check('--live', String(ACME))).toMatchObject({ code: 1 })
    await put(ACME, customProperties(100))
    expect(await check('--live', String(ACME))).toMatchObject({ code: 0 })
    await put(ACME, { ...customProperties(100), overallLimit: 0 })
    const ran = await check('--live', String(ACME))
    expect(ran).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^PLIMSOLL OK .* without_limit=1 handled=0 reconnect=0$/m),
    })
    expect(ran.out).toMatch(/^unknown +1 +acme\.example\.com +Custom properties +100 +customProperties/m)
  })
})

describe('--live', () => {
  test('shows an account whose poll failed as unknown, with the reason', async () => {
    await put(GLOBEX, customProperties(1))
    await check('--live')
    await fault({ endpoint: 'customProperties', hubId: GLOBEX, status: 503 })
    const ran = await check('--live')
    expect(ran).toMatchObject({ code: 3, err: '' })
    expect(ran.out).toMatch(/^unknown +2 +globex\.example\.com +could not be polled: the provider answered 503/m)
    expect(ran.out).toMatch(/ accounts=2 critical=0 warning=0 unknown=1 /)
  })

  test('refreshes a token that is about to expire through the same door as the daemon', async () => {
    await connect(LATE, 'late.example.com')
    await forgetRequests()
    // Redis has another clock here, and finds tokens from the future due at once.
    expect(await checkAt(ahead(599_000), '--live', String(LATE))).toMatchObject({ err: '' })
    expect((await asked()).filter((endpoint) => endpoint === 'token')).toHaveLength(1)
  })

  test('is stopped by a signal, and then it is not known', async () => {
    const stop = AbortSignal.abort()
    const ran = await plimsollHere(['check', '--live', '--config', config], scene.folder, { stop })
    expect(ran).toMatchObject({ code: 3, out: expect.stringMatching(/^PLIMSOLL UNKNOWN - stopped before/) })
    expect(await asked()).toEqual([])
  })

  test('is not held up by a provider that hangs: stopped, it leaves the call behind', async () => {
    await fault({ endpoint: 'customProperties', delayMs: 20_000, times: 1 })
    const stop = new AbortController()
    const hasty: Clock = { ...systemClock, wait: (ms, signal) => systemClock.wait(ms / 100, signal) }
    const running = plimsollHere(['check', '--live', '--config', config], scene.folder, {
      clock: hasty,
      stop: stop.signal,
    })
    await eventually(
      'the call',
      async () => (await getJson<object[]>(`${scene.sandbox.url}/sandbox/faults`)).length === 0,
    )
    stop.abort()
    const ran = await running
    expect(ran).toMatchObject({ code: 3, out: expect.stringMatching(/^PLIMSOLL UNKNOWN - stopped, with work left/) })
  })
})

test('accounts poll says what came of each account, and fails if one could not be read', async () => {
  const read = await command('accounts', 'poll', String(ACME), '--json')
  expect(read).toMatchObject({ code: 0, err: '' })
  expect(JSON.parse(read.out)).toEqual([
    {
      hubId: ACME,
      state: 'active',
      hubDomain: 'acme.example.com',
      outcome: 'read',
      reason: null,
      polledAt: expect.stringMatching(/^20/),
    },
  ])
  await fault({ endpoint: 'customProperties', hubId: GLOBEX, status: 503 })
  const mixed = await command('accounts', 'poll', String(ACME), String(GLOBEX), '42')
  expect(mixed).toMatchObject({
    code: 1,
    err: expect.stringContaining('plimsoll: 2 of 3 accounts could not be read, or not all of it\n'),
    out: expect.stringMatching(
      /^1 .* read +\d+ s\n2 .* failed .* the provider answered 503.*\n42 .* there is no such account$/m,
    ),
  })
})

test('accounts refresh gets new tokens at once, due or not', async () => {
  const ran = await command('accounts', 'refresh', String(GLOBEX))
  expect(ran).toMatchObject({
    code: 0,
    err: '',
    out: expect.stringMatching(/^refreshed account 2: .* until 20.* UTC\n$/),
  })
  expect(await asked()).toEqual(['token'])
  expect(await command('accounts', 'refresh', '42')).toMatchObject({ code: 1 })
})

test("strangers' words break neither line, nor table, nor the terminal", async () => {
  await connect(HOSTILE, HOSTILE_DOMAIN)
  const [type] = (customProperties(1) as { byObjectType: object[] }).byObjectType
  const report = { ...type, usage: 999, objectTypeId: '2-1', pluralLabel: HOSTILE_LABEL }
  await put(HOSTILE, { ...customProperties(1), byObjectType: [report] })
  const table = (await check('--live', String(HOSTILE))).out
  expect(table.trimEnd().split('\n')).toHaveLength(4)
  expect(firstLine({ out: table })?.split('|')).toHaveLength(2)
  expect(table.replaceAll('\n', '')).not.toMatch(/\p{Cc}|\u202e/u)
  const { accounts } = JSON.parse((await check('--json', String(HOSTILE))).out)
  expect(accounts[0].series[0]).toMatchObject({ label: HOSTILE_LABEL, level: 'critical' })
})

test('readings that are spoilt make their account unknown, and hide no other', async () => {
  const keys = createKeys('plimsoll')
  await scene.redis.connect().set(keys.account(HOSTILE).poll, 'spoilt')
  const ran = await check(String(HOSTILE), String(ACME))
  // The alert of its last reading is open still.
  expect(ran).toMatchObject({ code: 2, out: expect.stringMatching(/^unknown +3 .* Limits have not been read yet/m) })
  expect(ran.out).toMatch(/ accounts=2 .* series=3 /)
})
