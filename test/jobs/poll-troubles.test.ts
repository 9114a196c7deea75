import { describe, expect, test } from 'vitest'
import { refreshOne } from '../../jobs/refresh-tokens.ts'
import { sweepFleet } from '../../jobs/sweep-fleet.ts'
import { beginUninstall } from '../../src/accounts/uninstall.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { createVault } from '../../src/tokens/vault.ts'
import { watchJson } from '../../src/views/poll-texts.ts'
import { associations, properties } from '../limits/reports.ts'
import { putToken } from '../support/accounts.ts'
import { fails, failure, reads, tokens } from '../support/fake-provider.ts'
import { HUB } from '../support/world.ts'
import { DAY, EVERY_MS, MINUTE, PAIR, pollsOfFile } from './polled.ts'

const polled = pollsOfFile()
const SCOPES = { scopes: ['contacts'] }

/** Connected accounts, one job, and a provider that says what the test says from now on. */
async function fleet(hubIds: number[] = [HUB], every = '15m') {
  const limits = { every, soonest: every, associations: [PAIR] }
  const w = await polled({ hubIds, settings: { limits }, provider: { refresh: fails('transient') } })
  const { coverage } = w.services
  return {
    ...w,
    poll: (some = hubIds) => w.poll(...some),
    alerts: (hubId = HUB) => w.of(hubId).outbox(),
    coverage: () => coverage.read(w.clock.now()),
    stale: () => coverage.staleAccounts(w.clock.now(), 10),
    /** As one daemon does it. */
    look: () => sweepFleet(w.services),
    said: (code: string) => w.logged.lines().filter((line) => line.code === code),
  }
}

/** Not sooner because something failed. */
function expectRegular(wait: number): void {
  expect(wait).toBeGreaterThan(EVERY_MS / 2)
  expect(wait).toBeLessThanOrEqual(EVERY_MS)
}

const outline = (alerts: Record<string, unknown>[]) =>
  alerts.map(({ kind, status, reason }) => `${kind} ${status} ${reason}`)

describe('an endpoint that refuses for want of a scope', () => {
  test('loses nothing of the other, opens one alert, is no failure, and is asked again at the regular turn', async () => {
    const one = await fleet()
    await one.poll()
    one.clock.move(EVERY_MS)
    one.says.customProperties = fails('forbidden', SCOPES)
    one.says.associations = reads(associations(50))
    for (let n = 0; n < 4; n++) {
      await one.poll()
      expectRegular(await one.waits())
      one.clock.move(EVERY_MS)
    }
    expect(outline(await one.alerts())).toEqual(['limit-changed firing entered', 'poll firing entered'])
    const account = await one.read()
    expect(account).toMatchObject({ state: 'active', pollFailure: null, polledAt: one.clock.now() - EVERY_MS })
    expect(watchJson(account)).toEqual({
      is: 'cannot be watched in part',
      because: 'scope missing',
      scopes: ['contacts'],
      since: new Date(one.clock.now() - 4 * EVERY_MS).toISOString(),
    })
    expect(one.said('poll.forbidden')).toHaveLength(1)

    one.says.customProperties = reads(properties(11))
    await one.poll()
    expect(outline(await one.alerts()).slice(2)).toEqual(['poll resolved recovered'])
    expect(watchJson(await one.read())).toBeNull()
    expect(await one.tokens()).toMatchObject({ access: 'access-1' })
  })

  test('together with the other leaves nothing to watch: no gap in the coverage, and the token stays alive', async () => {
    const one = await fleet()
    one.says.customProperties = fails('forbidden', SCOPES)
    one.says.associations = fails('forbidden')
    for (let n = 0; n < 3; n++) {
      await one.poll()
      const wait = await one.waits()
      if (n > 0) expectRegular(wait)
      one.clock.move(wait)
    }
    expect(watchJson(await one.read())).toMatchObject({ is: 'cannot be watched' })
    expect(await one.coverage()).toMatchObject({ polled: 0, stale: 0, failing: 0, notWatched: 1 })
    expect(outline(await one.alerts())).toEqual(['poll firing entered'])
    const counted = (await one.services.metrics.polls.get()).values.filter(({ value }) => value > 0)
    expect(counted).toMatchObject([{ labels: { outcome: 'blocked' }, value: 3 }])
    expect(one.calls()).not.toContain('refresh')

    one.says.customProperties = fails('transient')
    await one.poll()
    expect(await one.coverage()).toMatchObject({ polled: 0, failing: 1 })
    expect(watchJson(await one.read())).toMatchObject({ is: 'cannot be watched', scopes: ['contacts'] })

    one.says.customProperties = reads(properties(11))
    one.says.associations = reads(associations(50))
    await one.poll()
    expect(await one.coverage()).toEqual({ polled: 1, stale: 0, failing: 0, failingForLong: 0, notWatched: 0 })
    expect(outline(await one.alerts())).toEqual(['poll firing entered', 'poll resolved recovered'])
  })
})

describe('polls that fail', () => {
  test.each([
    ['half an hour, however many there were by then', '1m', 30 * MINUTE],
    ['half an hour', '15m', 30 * MINUTE],
    ['two periods, where that is longer', '2h', 240 * MINUTE],
  ])(
    'are one alert after %s, whether all or a part of them failed, closed by the next success',
    async (_, every, toldAfter) => {
      const one = await fleet([HUB], every)
      const began = one.clock.now()
      one.says.associations = fails('transient', { message: 'the provider answered 503' })
      let polls = 0
      while ((await one.alerts()).length === 0) {
        expect(one.clock.now()).toBeLessThanOrEqual(began + toldAfter)
        const isWhole = polls++ % 2 === 0
        one.says.customProperties = isWhole ? fails('transient') : reads(properties(10))
        if (polls > 1) one.clock.move(await one.waits())
        await one.poll()
      }
      expect(one.clock.now()).toBe(began + toldAfter)
      expect(polls).toBeGreaterThan(3)
      expect((await one.read()).pollFailure).toMatchObject({ count: polls, since: began })
      one.says.customProperties = reads(properties(10))
      one.says.associations = reads(associations(100))
      await one.poll()
      const alerts = await one.alerts()
      expect(outline(alerts)).toEqual(['poll firing entered', 'poll resolved recovered'])
      expect(alerts[0]).toMatchObject({
        cause: 'failing',
        message: expect.stringContaining(`${polls} polls failed in a row`),
      })
      expect(await one.read()).toMatchObject({ pollFailure: null })
      expect(one.woken.filter((kind) => kind === 'alerts')).toHaveLength(2)
    },
  )

  test('because the access token stays refused are refreshed once a poll, and no more', async () => {
    const one = await fleet()
    let refreshes = 0
    one.says.refresh = async () => tokens(`access-${++refreshes + 1}`, `refresh-${refreshes + 1}`, 365 * DAY)
    const bucket = { intervalMs: 10_000, max: 110, remaining: 80 }
    one.says.customProperties = async () => ({ ...failure('unauthorized'), ...(refreshes === 0 && { bucket }) })
    one.clock.move(DAY)
    await one.poll()
    // What the round before the refresh saw counts, too.
    expect(await one.read()).toMatchObject({ bucket: { lastSeen: { used: 30 }, refused: 0 } })
    expect(one.calls()).toEqual(['customProperties', 'associations', 'refresh', 'customProperties', 'associations'])
    // The other endpoint's reading is kept, and the poll counts as one that failed.
    expect(await one.read()).toMatchObject({ polledAt: one.clock.now(), pollFailure: { count: 1 } })
    expectRegular(await one.waits())
    // A brand-new token that is refused is not worth another refresh.
    one.clock.move(30_000)
    await one.poll()
    expect(refreshes).toBe(1)
    expect(await one.read()).toMatchObject({ pollFailure: { count: 2 } })
  })

  test('because the access token stays refused are an alert that has what its refresh answered', async () => {
    const one = await fleet()
    one.says.customProperties = fails('unauthorized')
    let refreshes = 1
    one.says.refresh = async () => tokens(`access-${++refreshes}`, `refresh-${refreshes}`, 365 * DAY)
    one.clock.move(DAY)
    for (let n = 0; n < 4; n++) {
      let isOver = false
      const polled = one.poll().finally(() => {
        isOver = true
      })
      // The door to the token endpoint may have to ask for leave a moment later.
      while (!isOver) {
        await Promise.race([polled, new Promise(setImmediate)])
        one.clock.move(1)
      }
      one.clock.move(EVERY_MS)
    }
    const alerts = await one.alerts()
    expect(outline(alerts)).toEqual(['poll firing entered'])
    expect(alerts[0]?.message).toContain('A newly refreshed token is refused, too.')
  })
})

describe('an account that moves to another data centre', () => {
  const MOVING = { code: '477', message: 'the provider answered 477', status: 477 }

  test.each(['customProperties', 'associations'] as const)(
    'is parked by a poll of its %s until the provider said',
    async (which) => {
      const one = await fleet()
      const awayMs = 6 * 60 * MINUTE
      one.says[which] = fails('parked', { ...MOVING, retryAfterMs: awayMs })
      await one.poll()
      const until = one.clock.now() + awayMs
      expect(await one.read()).toMatchObject({ state: 'parked', parkedUntil: until, refreshFailure: null })
      expect(await one.dueAt('poll')).toBe(until)
      expect(await one.dueAt('refresh')).toBe(until)
      expect(await one.alerts()).toEqual([])
    },
  )

  test('is parked for an hour where the provider does not say, and nobody refreshes it before', async () => {
    const one = await fleet()
    one.says.associations = fails('parked', MOVING)
    await one.poll()
    expect(await one.waits()).toBe(60 * MINUTE)
    expect(await refreshOne(one.services, HUB)).toMatchObject({ is: 'fresh' })
    one.clock.move(60 * MINUTE)
    one.says.refresh = async () => tokens('access-2', undefined, DAY)
    expect(await refreshOne(one.services, HUB)).toMatchObject({ is: 'refreshed' })
    expect(await one.read()).toMatchObject({ state: 'active', parkedUntil: null })
    expect(await one.waits()).toBe(0)
  })

  test('is told of where its token ends before, as by a refresh', async () => {
    const one = await fleet()
    one.says.associations = fails('parked', { ...MOVING, retryAfterMs: 400 * DAY })
    await one.poll()
    expect(outline(await one.alerts())).toEqual(['token firing entered'])
    expect((await one.alerts())[0]?.message).toContain('HubSpot answered 477). The access token expires 2027-')
    one.clock.move(400 * DAY)
    one.says.refresh = async () => tokens('access-2', undefined, DAY)
    await refreshOne(one.services, HUB)
    expect(outline(await one.alerts())).toEqual(['token firing entered', 'token resolved recovered'])
  })
})

describe('an access token that no key opens', () => {
  const strange = createVault([{ id: 'k9', key: Buffer.alloc(32, 9) }])
  const seal = (one: Awaited<ReturnType<typeof fleet>>, field: 'access' | 'refresh') =>
    putToken(one.store, one.keys, field, strange.seal(new Secret('x'), HUB, field), HUB)

  test('is as none at all: a refresh brings another one, and the account is polled', async () => {
    const one = await fleet()
    await seal(one, 'access')
    one.says.refresh = async () => tokens('access-2', undefined, 365 * DAY)
    await one.poll()
    expect(one.calls()).toEqual(['refresh', 'customProperties', 'associations'])
    expect(await one.read()).toMatchObject({ state: 'active', polledAt: one.clock.now(), refreshFailure: null })
  })

  test('beside a refresh token that none opens either makes the account fail at its poll, which keeps its turn', async () => {
    const one = await fleet()
    await seal(one, 'access')
    await seal(one, 'refresh')
    for (let n = 0; n < 3; n++) await one.poll()
    expect(one.calls()).toEqual([])
    expect(await one.read()).toMatchObject({
      state: 'failing',
      polledAt: null,
      refreshFailure: { count: 1, class: 'unopened', reason: expect.stringContaining('no key with the id k9') },
    })
    expect(await one.waits()).toBe(15_000)
    expect(one.codes()).toEqual(['token.unopened'])
  })
})

describe('object types that come and go', () => {
  test('that are too many to be kept are counted, and told once until there are no more of them', async () => {
    const one = await fleet()
    const many = Array.from({ length: 510 }, (_, n): [string, [number, number]] => [`2-${1_000 + n}`, [1, 10]])
    const warnings = async (typesLeftOut: number) => {
      one.clock.move(EVERY_MS)
      const some = many.slice(0, typesLeftOut > 0 ? 500 + typesLeftOut : 0)
      one.says.customProperties = reads(properties(10, 1_000, Object.fromEntries(some)))
      await one.poll()
      expect((await one.read()).objectTypesLeftOut).toBe(typesLeftOut)
      return one.said('poll.types-left-out').map(({ leftOut }) => leftOut)
    }
    expect(await warnings(7)).toEqual([7])
    expect(await warnings(8)).toEqual([7])
    one.says.customProperties = fails('transient')
    await one.poll()
    expect((await one.read()).objectTypesLeftOut).toBe(8)
    expect(await warnings(0)).toEqual([7])
    expect(await warnings(1)).toEqual([7, 1])
  })
})

describe('many accounts that are not read', () => {
  const HUBS = Array.from({ length: 10 }, (_, n) => n + 1)

  test('are one alert of the fleet, not one each; what still fails when it is over is told of itself', async () => {
    const one = await fleet(HUBS)
    await one.poll()
    await one.look()
    one.says.customProperties = fails('transient', { message: 'the provider answered 503' })
    for (let n = 0; n < 4; n++) {
      one.clock.move(EVERY_MS)
      await one.poll()
      // Two daemons look at the same time.
      await Promise.all([one.look(), one.look()])
    }
    expect((await Promise.all(HUBS.map((hubId) => one.alerts(hubId)))).flat()).toEqual([])
    const told = await one.alerts(0)
    expect(outline(told)).toEqual(['fleet firing entered'])
    expect(told[0]?.message).toContain("Limits of 10 of 10 accounts can't be read (the provider answered 503)")

    one.says.customProperties = reads(properties(10))
    await one.poll(HUBS.slice(1))
    await Promise.all([one.look(), one.look()])
    expect(outline(await one.alerts(0))).toEqual(['fleet firing entered', 'fleet resolved recovered'])
    expect(await one.alerts(1)).toEqual([])
    one.says.customProperties = fails('transient')
    one.clock.move(EVERY_MS)
    await one.poll([1])
    expect(outline(await one.alerts(1))).toEqual(['poll firing entered'])
    expect(one.codes()).toEqual(expect.arrayContaining(['provider.failing', 'provider.recovered']))
  })

  test('hold their own alerts back also before the fleet was told', async () => {
    const one = await fleet(HUBS)
    one.says.customProperties = fails('transient')
    for (let n = 0; n < 3; n++) await one.poll()
    expect((await Promise.all(HUBS.map((hubId) => one.alerts(hubId)))).flat()).toEqual([])
    await one.look()
    expect(await one.alerts(0)).toEqual([])
  })

  test('count from when they are connected, though not read, until they are not polled any more', async () => {
    const one = await fleet()
    expect(await one.coverage()).toMatchObject({ polled: 1, stale: 0 })
    one.clock.move(26 * 3_600_000 + 1)
    // A new grant is no reading.
    await one.account()
    expect(await one.coverage()).toMatchObject({ polled: 1, stale: 1 })
    await beginUninstall(one.services, HUB, { by: 'cli', reason: 'asked' })
    expect(await one.coverage()).toMatchObject({ polled: 0, stale: 0 })
  })

  test('because nobody polls them are told when their readings are too old, repeated, and over when they are read again', async () => {
    const one = await fleet(HUBS)
    await one.poll()
    one.clock.move(26 * 3_600_000)
    await one.look()
    expect(await one.alerts(0)).toEqual([])
    one.clock.move(1)
    await one.poll(HUBS.slice(3))
    await one.look()
    await one.look()
    expect(await one.coverage()).toMatchObject({ polled: 10, stale: 3, failing: 0 })
    expect(await one.stale()).toEqual([1, 2, 3])
    const [told] = await one.alerts(0)
    expect(told?.message).toContain(
      'Limits of 3 of 10 accounts were not read for 26 h: 70 % are covered, 95 % should be.',
    )
    one.clock.move(DAY)
    await one.look()
    await one.poll()
    await one.look()
    expect(outline(await one.alerts(0))).toEqual([
      'fleet firing entered',
      'fleet firing repeat',
      'fleet resolved recovered',
    ])
  })
})
