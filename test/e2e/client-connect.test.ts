import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Store } from '../../src/redis/connect.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { begin, plimsoll } from '../support/command.ts'
import { type Daemon, startDaemon } from '../support/daemon.ts'
import { eventually, getJson, hubIdsOf, refreshTokenFor, send } from '../support/fleet.ts'
import { MAIN } from '../support/main.ts'
import { sampled } from '../support/runs.ts'
import { openScene, type Scene } from '../support/scene.ts'

/**
 * `accounts connect` ends by kill -9 at the worst moments, where each refresh makes the token before worthless: what is run again
 * connects the account, and its newest refresh token is kept and works.
 */

const KEYS = createKeys('plimsoll')
const QUIET = { schedule: { refreshTokens: '0 0 5 29 2 *', pollLimits: '0 0 5 29 2 *' }, limits: { every: '1h' } }

let scene: Scene
let store: Store
let config: string
let hubIds: number[]
let daemon: Daemon | undefined

beforeAll(async () => {
  scene = await openScene({ accounts: 9, tokenLifetimeMs: 3_600_000, rotateRefreshTokens: true })
  store = scene.redis.connect()
  config = await scene.configFile(QUIET)
  hubIds = await hubIdsOf(scene.sandbox.url)
})
afterAll(async () => {
  await daemon?.stop()
  await scene.close()
})

const answers = () => join(scene.folder, 'data', 'answers')
const sealed = () => (existsSync(answers()) ? readdirSync(answers()).filter((name) => name.endsWith('.latest')) : [])
const stateOf = (hubId: number) => store.hget(KEYS.account(hubId).account, 'state')
const faults = () => `${scene.sandbox.url}/sandbox/faults`
const args = (file: string) => ['accounts', 'connect', '--refresh-token-file', file, '--config', config]

/** What the provider does then, and what shows that the moment has come. */
interface Moment {
  endpoint?: string
  hasCome(hubId: number): Promise<boolean>
}

const MOMENTS: Record<string, Moment> = {
  // An answer that gets lost on its way would be lost with any tool: here the provider has done nothing yet.
  'before the answer of the provider': {
    endpoint: 'token',
    hasCome: async () => (await getJson<unknown[]>(faults())).length === 0,
  },
  'with the new token sealed, before it is stored': { endpoint: 'metadata', hasCome: async () => sealed().length > 0 },
  'once it is stored': { hasCome: async (hubId) => (await stateOf(hubId)) === 'active' },
}

const WHO = ['the daemon', 'the command that it works for', 'the command without a daemon'] as const

const CASES = sampled(
  Object.entries(MOMENTS).flatMap(([moment, does]) => WHO.map((who) => ({ moment, who, ...does }))),
  ({ moment }) => moment,
)

test.each(CASES)('$who is killed $moment', async ({ who, endpoint, hasCome }) => {
  const hubId = hubIds.shift() ?? 0
  const file = `${hubId}.txt`
  writeFileSync(join(scene.folder, file), await refreshTokenFor(scene.sandbox.url, hubId))
  daemon = who === 'the command without a daemon' ? undefined : await startDaemon(config)
  if (endpoint !== undefined) await send(faults(), 'POST', { endpoint, hubId, delayMs: 8_000, drop: true, times: 1 })
  const { child, ended } = begin(process.execPath, [MAIN, ...args(file)], scene.folder)
  while (!(await hasCome(hubId))) await pause(1)
  if (who === 'the daemon') {
    await daemon?.kill()
    daemon = await startDaemon(config)
  } else child.kill('SIGKILL')
  const { code, err } = await ended
  if (who === 'the daemon' && code !== 0) expect(err).toMatch(/^plimsoll: [^\n]+\n$/)

  await eventually('the account connected', async () => {
    const again = await plimsoll(args(file), scene.folder)
    if (again.code === 0) return true
    expect(again.err).toMatch(/^plimsoll: [^\n]+\n$/)
    // It is stored, and the token that was given is worth nothing any more.
    return (await stateOf(hubId)) === 'active'
  })
  const refreshed = await plimsoll(['accounts', 'refresh', String(hubId), '--config', config], scene.folder)
  expect(refreshed).toMatchObject({ code: 0, err: '' })
  expect(sealed()).toEqual([])
  await daemon?.stop()
  daemon = undefined
})
