import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeState, openedState, type SeriesState } from '../../src/alerts/alert-state.ts'
import type { Store } from '../../src/redis/connect.ts'
import { createKeys, type Keys } from '../../src/redis/keys.ts'
import { seedAccount } from '../support/accounts.ts'
import { changePolls } from '../support/changed-polls.ts'
import { plimsollHere } from '../support/command.ts'
import { HandClock } from '../support/hand-clock.ts'
import { redisOfFile } from '../support/of-file.ts'

/** Account 1 with 87 limits in trouble, 2 whose token is dead, 3 whose polls fail, 4 that is well. */
const [FULL, DEAD, UNREAD, WELL] = [1, 2, 3, 4] as const
const MINUTE = 60_000
const clock = new HandClock()
const NOW = clock.now()

const redis = redisOfFile()
let folder: string
let config: string
let store: Store
let keys: Keys

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'plimsoll-lists-'))
  config = join(folder, 'plimsoll.yaml')
  writeFileSync(
    config,
    `provider: { clientId: a, clientSecret: b }
redis: { url: "${redis.url}" }
encryption: { keys: [ { id: k1, key: "${Buffer.alloc(32, 7).toString('base64')}" } ] }
http: { publicUrl: https://plimsoll.example.com }
tags: { vip: ["n2.*", 4], none: [] }
receivers: { ops: { type: email, smtp: "smtps://u:p@mail.example.com", from: a@example.com, to: [b@example.com] } }
routes: [ { to: [ops] } ]
`,
  )
  store = redis.connect()
  keys = createKeys('plimsoll')
  for (const hubId of [FULL, DEAD, UNREAD, WELL]) {
    await seedAccount(store, keys, { hubId, hubDomain: `n${hubId}.example.com`, obtainedAt: NOW - 10 * MINUTE })
  }
  await changePolls(store, keys, WELL, { polledAt: NOW - 3 * MINUTE })
  await open(DEAD, 'token', openedState('critical', 'token', NOW - 90 * MINUTE))
  await open(UNREAD, 'poll', openedState('warning', 'poll', NOW - 30 * MINUTE))
  for (let n = 0; n < 87; n++) {
    const said = { level: 'critical' as const, usage: 1_000, limit: 1_000, at: NOW - MINUTE }
    await open(FULL, `type/2-${n}`, { ...openedState('critical', 'full', NOW - MINUTE), lastSent: said })
  }
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
})

async function open(hubId: number, field: string, state: SeriesState): Promise<void> {
  await store.hset(keys.account(hubId).alerts, field, encodeState(state))
  await store.sadd(keys.alerting, hubId)
}

const run = (...args: string[]) => plimsollHere([...args, '--config', config], folder, { clock })
const ids = async (...args: string[]): Promise<number[]> => {
  const { code, out, err } = await run(...args, '--json')
  expect({ args, code, err }).toEqual({ args, code: 0, err: '' })
  return (JSON.parse(out) as { hubId: number }[]).map(({ hubId }) => hubId)
}

test.each<[string, number[]]>([
  ['--level warning', [UNREAD]],
  ['--kind limit', [FULL]],
  ['--kind token --level warning', []],
  ['--tag vip', [DEAD, WELL]],
  ['--tag none', []],
  ['--search N4.', [WELL]],
  ['--search 3', [UNREAD]],
  ['--state active', [DEAD, FULL, UNREAD, WELL]],
  ['--state uninstalled', []],
  ['--state must-reconnect', []],
  ['--state paused', []],
  ['--sort domain --tag vip', [DEAD, WELL]],
  ['--stale', []],
])('accounts list %s', async (options, expected) => {
  expect(await ids('accounts', 'list', ...options.split(' '))).toEqual(expected)
})

test.each<[string, number[]]>([
  ['--level warning', [UNREAD]],
  ['--kind token', [DEAD]],
  ['--kind fleet', []],
  ['--tag vip', [DEAD]],
  ['--search n3.exa', [UNREAD]],
  ['--state active --kind poll', [UNREAD]],
  ['--state silenced', []],
  ['--state acknowledged', []],
])('alerts list %s', async (options, expected) => {
  expect(await ids('alerts', 'list', ...options.split(' '))).toEqual(expected)
})

test('with --watch a list is shown again every few seconds, until it is told to stop', async () => {
  const stop = new AbortController()
  const hand = new HandClock()
  const lines: string[] = []
  const watched = plimsollHere(['alerts', 'list', '--watch', '--kind', 'token', '--json', '--config', config], folder, {
    clock: hand,
    stop: stop.signal,
    drained: async () => void lines.push('drawn'),
  })
  for (let n = 0; n < 3; n++) {
    await hand.sleeper(3_000)
    hand.move(3_000)
  }
  await hand.sleeper(3_000)
  stop.abort()
  const { code, out, err } = await watched
  expect({ code, err, documents: out.trim().split('\n').length }).toEqual({ code: 0, err: '', documents: 4 })
  for (const line of out.trim().split('\n')) expect(JSON.parse(line)).toMatchObject([{ hubId: DEAD }])
  expect(lines).toHaveLength(4)
})

test('status ends with the level of its verdict where it is asked to, and with 3 where that is not known', async () => {
  expect((await run('status')).code).toBe(0)
  expect(await run('status', '--exit-code', '--json')).toMatchObject({ code: 2, err: '' })
  const nowhere = await plimsollHere(['status', '--exit-code', '--config', 'none.yaml'], folder, { clock })
  expect(nowhere).toMatchObject({ code: 3, out: '', err: expect.stringContaining('none.yaml') })
  expect((await run('status', '--exit-code', '--watch')).code).toBe(2)
})

test('nothing of an account is cut on a narrow terminal: what is wrong goes below its line', async () => {
  const name = 'a-rather-long-name.example.com'
  const failing = { hubDomain: name, state: 'failing', failures: 3, failureAt: NOW, failingSince: NOW - MINUTE }
  const { account } = keys.account(UNREAD)
  const before = await store.hgetall(account)
  await store.hset(account, { ...failing, failureReason: 'the provider answered 503: Service Unavailable' })
  const { out } = await plimsollHere(['accounts', 'list', '--config', config], folder, {
    clock,
    isTerminal: true,
    columns: 80,
  })
  await store.hset(account, before)
  const lines = out.split('\n')
  expect(lines.filter((line) => line.length > 80)).toEqual([])
  expect(lines[0]).toMatch(/^HUB ID +DOMAIN +STATE +ALERTS +NEAREST LIMIT/)
  expect(out).toMatch(/^1 +n1\.example\.com +active +87 critical +not read yet/m)
  expect(out).toMatch(
    /^3 +a-rather-long-name\.example\.com +failing +1 warning +not read yet.*\n {2}refresh failing for 1 min: HubSpot answered 503: Service Unavailable\n/m,
  )
})
