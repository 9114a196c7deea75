import { describe, expect, test } from 'vitest'
import { sweep, sweepGrants } from '../../jobs/sweep.ts'
import { beginUninstall } from '../../src/accounts/uninstall.ts'
import { readFleetStatus } from '../../src/checks/fleet-status.ts'
import { NO_ACCOUNT } from '../../src/redis/steps.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { keepGrant, newGrantId } from '../../src/tokens/parked-grants.ts'
import { openAlertPath } from '../support/alert-path.ts'
import { failure, tokens } from '../support/fake-provider.ts'
import { HandClock } from '../support/hand-clock.ts'
import { redisOfFile } from '../support/of-file.ts'
import { HUB, openWorld, type World } from '../support/world.ts'

const redis = redisOfFile()
const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** By so much the clock of Redis was wrong. */
const AHEAD = 6 * HOUR

/** The clock goes wrong, or is set right: a sweep notes it either way. */
async function setClock(w: Pick<World, 'clock' | 'services'>, ms: number) {
  w.clock.set(ms)
  await sweep(w.services, 'refresh-tokens')
}

const POLLS = { limits: { every: '15m', reports: 'customProperties' } }
const down = (retryAfterMs?: number) => failure('transient', { status: 503, ...(retryAfterMs && { retryAfterMs }) })

/** What the sweeps of some minutes hand on. */
async function handedOn(w: World, kind: 'refresh-tokens' | 'poll-limits', minutes: number): Promise<Set<number>> {
  const taken = new Set<number>()
  for (let minute = 0; minute < minutes; minute++) {
    if (kind === 'poll-limits') await w.sweep('refresh-tokens')
    for (const hubId of (await w.sweep(kind)).hubIds) taken.add(hubId)
    w.clock.move(MINUTE)
  }
  return taken
}

describe('after the clock of Redis was ahead by hours', () => {
  test('what a daemon had claimed when it was killed is taken up by the next one in time', async () => {
    const w = await openWorld(redis, { settings: POLLS })
    for (let hubId = 1; hubId <= 20; hubId++) await w.account({ hubId, lifeMs: 30 * MINUTE })
    await setClock(w, AHEAD)
    await w.sweep('poll-limits')
    w.clock.set(-AHEAD)
    const next = await w.beside()
    expect((await handedOn(next, 'refresh-tokens', 25)).size).toBe(20)
    expect((await handedOn(next, 'poll-limits', 16)).size).toBe(20)
  })

  test('an account whose refresh failed meanwhile is refreshed in time', async () => {
    const w = await openWorld(redis)
    const one = await w.account({ lifeMs: 30 * MINUTE })
    await w.sweep('refresh-tokens')
    w.says.refresh = async () => down()
    await setClock(w, AHEAD)
    await one.refresh()
    expect((await one.dueAt('refresh')) ?? 0).toBeGreaterThan(w.clock.now())
    w.clock.move(MINUTE)
    await setClock(w, -AHEAD)
    w.says.refresh = async () => tokens('access-2')
    const before = w.clock.now()
    for (let minute = 0; minute < 30 && (await one.record()).failures !== undefined; minute++) {
      await w.work('refresh-tokens')
      w.clock.move(MINUTE)
    }
    expect(w.clock.now() - before).toBeLessThan(25 * MINUTE)
    expect((await one.read()).token.obtainedAt).toBeGreaterThanOrEqual(before)
  })

  test('an account is refreshed in time though all that went by that clock was a daemon that claimed it, and was killed', async () => {
    const w = await openWorld(redis)
    const one = await w.account({ lifeMs: 30 * MINUTE })
    await w.sweep('refresh-tokens')
    w.clock.set(AHEAD)
    await w.services.tokens.claimOne(HUB, MINUTE)
    await setClock(w, -AHEAD)
    expect(await one.dueAt('refresh')).toBeLessThanOrEqual(w.clock.now() + MINUTE)
  })

  test('an account whose poll failed meanwhile is polled by its period', async () => {
    const w = await openWorld(redis, { settings: POLLS })
    const one = await w.account({ lifeMs: 1_000 * HOUR })
    await w.sweep('refresh-tokens')
    w.says.customProperties = async () => down()
    await setClock(w, AHEAD)
    await w.poll()
    w.clock.move(MINUTE)
    await setClock(w, -AHEAD)
    expect(await one.waits()).toBeLessThanOrEqual(15 * MINUTE)
  })

  test('an uninstall that was asked for meanwhile is done', async () => {
    const w = await openWorld(redis)
    const one = await w.account()
    await setClock(w, AHEAD)
    expect(await beginUninstall(w.services, HUB, { by: 'cli', reason: 'asked' })).toBe('begun')
    await setClock(w, -AHEAD)
    await sweep(w.services, 'uninstall')
    expect((await one.dueAt('uninstall')) ?? 0).toBeLessThanOrEqual(w.clock.now() + MINUTE)
    const jobs = await w.services.queues.uninstall.getJobs(['waiting'])
    await w.services.queues.uninstall.drain()
    expect(jobs).toHaveLength(1)
  })

  test('a grant that came meanwhile is asked about again, by a token of which it is known when it ends', async () => {
    const w = await openWorld(redis)
    const asked: string[] = []
    w.says.refresh = async () => tokens('access-2')
    w.says.metadata = async (token) => {
      asked.push(token.reveal())
      return down()
    }
    await setClock(w, AHEAD)
    const [obtainedAt, secret] = [w.clock.now(), new Secret('granted')]
    const times = { obtainedAt, expiresAt: obtainedAt + 30 * MINUTE }
    const granted = { hubId: NO_ACCOUNT, access: secret, refresh: secret, times } as const
    const grant = { id: newGrantId(), ...granted, grantedAt: obtainedAt, only: undefined, version: 1_000_000 }
    await keepGrant(w.services, grant)
    await setClock(w, -AHEAD)
    await sweepGrants(w.services)
    expect(asked).toEqual(['access-2'])
  })

  test('an alert that waits for its next attempt arrives', async () => {
    const says = { fails: true, arrived: 0 }
    const path = await openAlertPath(
      redis,
      { critical: { percent: 80 } },
      {
        ops: () => {
          if (says.fails) return { outcome: 'retry', reason: 'down' }
          says.arrived++
          return { outcome: 'delivered' }
        },
      },
    )
    await path.poll(100)
    await path.live(MINUTE)
    await path.poll(900)
    await path.live(40_000)
    says.fails = false
    await path.sweep('refresh-tokens')
    await setClock(path, -AHEAD)
    await path.live(2 * MINUTE)
    expect(says.arrived).toBe(1)
  })
})

describe('all that was planned is brought forward', () => {
  const KINDS = ['refresh-tokens', 'poll-limits', 'uninstall', 'grants', 'alerts'] as const
  const sweepAll = (w: World) => Promise.all(KINDS.map((kind) => sweep(w.services, kind)))
  const times = (...worlds: World[]) =>
    worlds.flatMap((w) => w.codes()).filter((code) => code === 'clock.set-back').length

  test('once, however many sweeps of however many daemons find that the clock of Redis was set back', async () => {
    const w = await openWorld(redis)
    const other = await w.beside()
    await sweepAll(w)
    w.clock.set(-AHEAD)
    await Promise.all([sweepAll(w), sweepAll(other)])
    await sweepAll(w)
    expect(times(w, other)).toBe(1)
    w.clock.set(-AHEAD)
    await sweepAll(other)
    expect(times(w, other)).toBe(2)
  })

  test('not by a daemon whose machine slept: its own clock is behind, and that of Redis is not', async () => {
    const w = await openWorld(redis)
    const slept = await w.beside({ clock: new HandClock(w.clock.now() - 10_000) })
    Object.assign(slept.store, { readTime: async () => w.clock.now() })
    await sweepAll(w)
    await sweepAll(slept)
    expect(times(w, slept)).toBe(0)
  })

  test('by another one where the daemon that had begun it died', async () => {
    const w = await openWorld(redis)
    const next = await w.beside()
    await w.account({ lifeMs: 30 * MINUTE })
    await sweepAll(w)
    w.clock.set(-AHEAD)
    Object.assign(w.store, { bringForward: async () => Promise.reject(new Error('killed')) })
    await expect(sweep(w.services, 'refresh-tokens')).rejects.toThrow('killed')
    next.clock.move(MINUTE)
    await sweepAll(next)
    expect(await next.of(HUB).dueAt('refresh')).toBeLessThan(next.clock.now() + HOUR)
  })
})

test('a token that another daemon obtained just now, by a clock that is a moment ahead, is not refreshed again', async () => {
  const w = await openWorld(redis)
  await w.account()
  const behind = await w.beside({ clock: new HandClock(w.clock.now() - 50) })
  expect(await behind.of(HUB).refresh()).toMatchObject({ is: 'fresh' })
})

test('a clock of Redis that was days behind, and is right, gives no delivery up that was tried for a minute', async () => {
  let tries = 0
  const path = await openAlertPath(
    redis,
    { critical: { percent: 80 } },
    {
      ops: () => (++tries > 3 ? { outcome: 'delivered' } : { outcome: 'retry', reason: 'down' }),
    },
  )
  await path.poll(100)
  await path.live(MINUTE)
  await path.poll(900)
  await path.live(MINUTE)
  path.clock.set(96 * HOUR)
  await path.live(30 * MINUTE)
  expect(tries).toBe(4)
  expect(await path.services.deliveries.countDead()).toBe(0)
})

test('a token of an active account that is over is critical, whatever is due', async () => {
  const w = await openWorld(redis)
  await w.account({ lifeMs: 30 * MINUTE })
  await w.store.zadd(w.keys.due.refresh, w.clock.now() + 24 * HOUR, HUB)
  w.clock.move(35 * MINUTE)
  const { verdict } = await readFleetStatus({ ...w.services, isDaemon: true })
  expect(verdict.level).toBe('critical')
  expect(verdict.says).toContain('the access token of an active account expired 5 min ago')
})
