import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createKeys, type Keys } from '../../src/redis/keys.ts'
import { NO_ALERT_WRITES } from '../../src/redis/steps.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { Courier, type CourierDeps } from '../../src/tokens/courier/courier.ts'
import type { CourierSettings } from '../../src/tokens/courier/messages.ts'
import type { RedeemJob } from '../../src/tokens/redeem.ts'
import { TokenStore } from '../../src/tokens/token-store.ts'
import { keyIdOf } from '../../src/tokens/vault.ts'
import { liveWriters } from '../../src/tokens/writers.ts'
import { seedAccount, storedTokens, vaultKey } from '../support/accounts.ts'
import { isAlive } from '../support/couriers.ts'
import { type FarSide, json, startFarSide } from '../support/far-side.ts'
import { eventually } from '../support/fleet.ts'
import { logLines } from '../support/log-lines.ts'
import { startRedis, type TestRedis } from '../support/redis-server.ts'

const HELD = { isHeld: () => true }
const HUB = 123
const CLIENT_SECRET = 'the-client-secret-of-the-courier-tests'

let redis: TestRedis
let provider: FarSide
let keys: Keys
let couriers: Courier[]
let logged: ReturnType<typeof logLines>

beforeEach(async () => {
  redis = await startRedis()
  provider = await startFarSide()
  provider.answer = rotated
  keys = createKeys(`test-${randomBytes(6).toString('hex')}`)
  couriers = []
  logged = logLines()
})

afterEach(async () => {
  const pids = couriers.map(({ pid }) => pid ?? 0)
  await Promise.all(couriers.map((courier) => courier.stop(5_000)))
  expect(pids.filter(isAlive)).toEqual([])
  await provider.stop()
  await redis.stop()
})

function open(more: Partial<CourierDeps> = {}, settings: Partial<CourierSettings> = {}): Courier {
  const courier = new Courier({
    settings: {
      provider: {
        ...{ dialect: 'v1', baseUrl: provider.url, redirectUri: 'http://127.0.0.1:9/cb', timeoutMs: 10_000 },
        ...{ clientId: 'the-client', clientSecret: new Secret(CLIENT_SECRET), connections: 4 },
      },
      redis: { kind: 'url', url: new Secret(redis.url) },
      daemon: 'here pid 1',
      ...{ dataDir: '/nowhere', prefix: keys.prefix, keys: [vaultKey], logLevel: 'debug' },
      refresh: { refreshFrom: 0.5, refreshBy: 0.8 },
      ...settings,
    },
    unstored: new Set(),
    redeemHere: () => Promise.reject(new Error('not here')),
    clock: systemClock,
    log: logged.log,
    ...more,
  })
  couriers.push(courier)
  return courier
}

/** An account whose lease is held, and the job to redeem its token. */
async function job(hubId = HUB): Promise<RedeemJob> {
  const store = redis.store()
  await seedAccount(store, keys, { hubId, obtainedAt: Date.now(), refreshToken: `refresh-1-of-${hubId}` })
  const begun = await new TokenStore(store, keys).begin(hubId, 'me', Date.now())
  if (begun.is !== 'begun') throw new Error(`the account is ${begun.is}`)
  const { leaseMs, generation, refreshToken, previousToken } = begun.context
  return {
    ...{ hubId, owner: 'me', leaseMs, generation, refreshToken, previousToken },
    ...{ restartPoll: false, recovered: NO_ALERT_WRITES },
  }
}

const rotated = json(200, {
  ...{ token_type: 'bearer', access_token: 'access-2', refresh_token: 'refresh-2', expires_in: 1800 },
})

/** Answers that wait until they are let go. */
function heldAnswers(): () => void {
  const held: (() => void)[] = []
  provider.answer = (request, response: ServerResponse) => held.push(() => rotated(request, response))
  return () => {
    for (const letGo of held.splice(0)) letGo()
  }
}

const stored = (hubId = HUB) => storedTokens(redis.store(), keys, hubId)
const marked = () => redis.store().hget(keys.account(HUB).account, 'refreshing')

describe('a courier', () => {
  test('is no process before there is something to redeem', async () => {
    const courier = open()
    expect(courier.pid).toBeUndefined()
    await courier.replace([vaultKey], { clientId: 'x', clientSecret: new Secret('x') })
    expect(courier.pid).toBeUndefined()
  })

  test('redeems and stores in a process of its own, one for all jobs', async () => {
    const courier = open()
    const jobs = await Promise.all([1, 2, 3, 4, 5, 6].map((hubId) => job(hubId)))
    const redeemed = await Promise.all(jobs.map((one) => courier.redeem(one, HELD)))
    expect(redeemed).toEqual(
      jobs.map(() => expect.objectContaining({ is: 'stored', rotated: true, sentAt: expect.any(Number) })),
    )
    expect(await stored(6)).toEqual({ access: 'access-2', refresh: 'refresh-2', previous: 'refresh-1-of-6' })
    expect(courier.pid).not.toBe(process.pid)
    expect(logged.lines().filter(({ code }) => code === 'courier.started')).toHaveLength(1)
    expect(courier.skewMs).toBeTypeOf('number')
  })

  test('says what the provider says where that is a failure', async () => {
    provider.answer = json(503, {})
    expect(await open().redeem(await job(), HELD)).toMatchObject({
      is: 'failed',
      failure: { class: 'transient', status: 503 },
    })
    expect(await stored()).toMatchObject({ access: 'access-1' })
  })

  test('keeps the account for this process while it is at it', async () => {
    const unstored = new Set<number>()
    const letGo = heldAnswers()
    const redeeming = open({ unstored }).redeem(await job(), HELD)
    await provider.came(1)
    expect([...unstored]).toEqual([HUB])
    letGo()
    await redeeming
    expect([...unstored]).toEqual([])
  })

  test('that dies over a job says so, leaves the mark that tells of it, and is replaced after a pause', async () => {
    const courier = open()
    const letGo = heldAnswers()
    const redeeming = courier.redeem(await job(), HELD)
    const failed = expect(redeeming).rejects.toThrow('may be lost')
    await provider.came(1)
    const died = courier.pid ?? 0
    process.kill(died, 'SIGKILL')
    await failed
    expect(await marked()).toMatch(/^me \d+$/)
    expect(logged.lines()).toContainEqual(expect.objectContaining({ code: 'courier.ended', underWay: 1, pid: died }))
    const endedAt = Date.now()
    const next = courier.redeem(await job(7), HELD)
    await provider.came(2)
    letGo()
    expect(await next).toMatchObject({ is: 'stored' })
    expect(Date.now() - endedAt).toBeGreaterThan(900)
    expect(courier.pid).not.toBe(died)
  })

  test('that can not be started is done without, job by job', async () => {
    const here: number[] = []
    const redeemHere: CourierDeps['redeemHere'] = async ({ hubId }) => {
      here.push(hubId)
      return { is: 'stored', sentAt: 0, expiresAt: 0, unstoredMs: 0, rotated: true }
    }
    // Its private Redis can't be: that is no folder.
    const courier = open({ redeemHere }, { redis: { kind: 'embedded', socket: '' }, dataDir: '/dev/null/x' })
    expect(await courier.redeem(await job(), HELD)).toMatchObject({ is: 'stored' })
    expect(here).toEqual([HUB])
    expect(provider.seen).toEqual([])
    expect(logged.lines().map(({ code }) => code)).toEqual(expect.arrayContaining(['courier.broken', 'courier.ended']))
  })

  test('is waited for until it takes jobs at once; also one that can not be started, or is stopped, keeps nobody waiting', async () => {
    const courier = open()
    await Promise.all([courier.ready(), courier.ready()])
    expect(logged.lines().filter(({ code }) => code === 'courier.started')).toHaveLength(1)
    await open({}, { redis: { kind: 'embedded', socket: '' }, dataDir: '/dev/null/x' }).ready()
    expect(logged.lines().map(({ code }) => code)).toContain('courier.ended')
    const stopped = open()
    const ready = stopped.ready()
    await stopped.stop(5_000)
    await Promise.all([ready, stopped.ready()])
  })

  test('takes over other keys and another identity', async () => {
    const courier = open()
    await courier.redeem(await job(1), HELD)
    const k2 = { id: 'k2', key: randomBytes(32) }
    await courier.replace([k2, vaultKey], { clientId: 'other', clientSecret: new Secret('other-secret') })
    await courier.redeem(await job(2), HELD)
    const sealed = await redis.store().hgetBuffer(keys.account(2).tokens, 'refresh')
    expect(sealed && keyIdOf(sealed)).toBe('k2')
    expect(provider.seen[1]?.body).toContain('other-secret')
  })

  test('takes over other keys even while it is being started', async () => {
    const courier = open()
    const redeeming = courier.redeem(await job(), HELD)
    const k2 = { id: 'k2', key: randomBytes(32) }
    await courier.replace([k2, vaultKey], { clientId: 'other', clientSecret: new Secret('other-secret') })
    await redeeming
    await courier.redeem(await job(2), HELD)
    const sealed = await redis.store().hgetBuffer(keys.account(2).tokens, 'refresh')
    expect(sealed && keyIdOf(sealed)).toBe('k2')
  })

  test('that is stopped finishes what is under way, and is waited for', async () => {
    const courier = open()
    const letGo = heldAnswers()
    const redeeming = courier.redeem(await job(), HELD).catch(() => 'told nothing')
    await provider.came(1)
    const pid = courier.pid ?? 0
    const stopped = courier.stop(10_000)
    letGo()
    await stopped
    await redeeming
    expect(isAlive(pid)).toBe(false)
    expect(await stored()).toMatchObject({ access: 'access-2', refresh: 'refresh-2' })
    expect(await courier.redeem(await job(8), HELD)).toEqual({ is: 'too-late' })
  })

  test('that is stopped and takes too long is left to finish by itself', async () => {
    const courier = open()
    const letGo = heldAnswers()
    const redeeming = courier.redeem(await job(), HELD)
    await provider.came(1)
    const pid = courier.pid ?? 0
    await courier.stop(50)
    expect(await redeeming).toEqual({ is: 'left' })
    expect(isAlive(pid)).toBe(true)
    const writers = () => liveWriters({ store: redis.store(), keys })
    // A rekey must not be over before it is.
    await eventually('it says which key it encrypts with', async () => (await writers()).length > 0)
    expect(await writers()).toEqual([{ daemon: 'here pid 1', keyId: 'k1' }])
    letGo()
    await eventually('it has ended', async () => !isAlive(pid))
    expect(await writers()).toEqual([])
    expect(await stored()).toMatchObject({ access: 'access-2', refresh: 'refresh-2' })
  })

  test('ignores the signals that its daemon gets', async () => {
    const courier = open()
    await courier.redeem(await job(1), HELD)
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.kill(courier.pid ?? 0, signal)
    expect(await courier.redeem(await job(2), HELD)).toMatchObject({ is: 'stored' })
    expect(logged.lines().filter(({ code }) => code === 'courier.started')).toHaveLength(1)
  })

  test('stores also what Redis refuses at first, and says that it is refused', async () => {
    const unstored = new Set<number>()
    const letGo = heldAnswers()
    const redeeming = open({ unstored }).redeem(await job(), HELD)
    await provider.came(1)
    const store = redis.store()
    await store.config('SET', 'min-replicas-to-write', '1')
    letGo()
    await eventually('the log says so', async () => logged.lines().some(({ code }) => code === 'token.not-stored'))
    expect(unstored.has(HUB)).toBe(true)
    await store.config('SET', 'min-replicas-to-write', '0')
    expect(await redeeming).toMatchObject({ is: 'stored' })
    expect(logged.lines()).toContainEqual(
      expect.objectContaining({ code: 'token.not-stored', hubId: HUB, courier: expect.any(Number) }),
    )
    expect(logged.text()).not.toMatch(/refresh-1|refresh-2|access-2/)
    expect(logged.text()).not.toContain(CLIENT_SECRET)
  })
})
