import { describe, expect, test } from 'vitest'
import { mailInstallers } from '../../jobs/mail-installers.ts'
import { sweep } from '../../jobs/sweep.ts'
import { encodeState, openedState, TOKEN_FIELD } from '../../src/alerts/alert-state.ts'
import { recheckWaiting } from '../../src/alerts/sending/read-due.ts'
import { sendAlerts } from '../../src/alerts/sending/send-alerts.ts'
import { NO_ACCOUNT } from '../../src/redis/steps.ts'
import { associations, properties } from '../limits/reports.ts'
import { outboxOf } from '../support/accounts.ts'
import { fails, reads, tokens } from '../support/fake-provider.ts'
import { pendingIds } from '../support/take-due.ts'
import { HUB } from '../support/world.ts'
import { DAY, MINUTE, pollsOfFile } from './polled.ts'

const polled = pollsOfFile()
const ASK_EVERY_MS = 20
const AWAY = { status: 503, message: 'the provider answered 503' }

/** Accounts with tokens of an hour, and a provider that works. */
async function fleet(accounts: number) {
  const hubIds = Array.from({ length: accounts }, (_, n) => n + 1)
  const works = {
    refresh: async () => tokens('access-2'),
    customProperties: reads(properties(10)),
    associations: reads(associations(5)),
  }
  const one = await polled({ hubIds, provider: works, account: { lifeMs: 60 * MINUTE } })
  const { store, keys, clock, services } = one
  return {
    ...one,
    hubIds,
    /** The provider from now on. */
    is: (how: 'away' | 'back') => {
      const away = fails('transient', AWAY)
      Object.assign(one.says, how === 'back' ? works : { refresh: away, customProperties: away, associations: away })
    },
    /** One after the other, `pauseMs` apart. */
    refresh: async (some: readonly number[], pauseMs = 1_000) => {
      for (const hubId of some) {
        clock.move(pauseMs)
        const refreshed = one.of(hubId).refresh()
        let isOver = false
        void refreshed.finally(() => {
          isOver = true
        })
        // One that just missed a report of the endpoint waits for the next.
        const pump = (): Promise<void> =>
          clock.sleeper(ASK_EVERY_MS).then(() => {
            if (isOver) return
            clock.move(ASK_EVERY_MS)
            return pump()
          })
        await Promise.race([refreshed, pump()])
      }
    },
    sweepFleet: () => sweep(services, 'coverage'),
    /** Counts of answered calls, so many days ago. */
    called: async (calls: number, failed: number, daysAgo = 0) => {
      const day = Math.floor(clock.now() / DAY) - daysAgo
      await store.hset(keys.dayCounts, { [`${day}:calls`]: calls, [`${day}:failed`]: failed })
    },
    alerts: async () => {
      const sent = await outboxOf(store, keys, NO_ACCOUNT)
      return sent.map(({ status, level, reason, cause }) => [status, level, reason, cause].join(' '))
    },
    messages: async () => (await outboxOf(store, keys, NO_ACCOUNT)).map(({ message }) => String(message)),
  }
}

describe('an outage of the provider', () => {
  test('of one minute is one alert with 500 accounts, and over once tokens are refreshed and polls work', async () => {
    const one = await fleet(500)
    await one.poll(...one.hubIds)
    await one.called(2_000, 240)
    one.clock.move(45 * MINUTE)
    one.is('away')
    await one.poll(...one.hubIds)
    await one.refresh(one.hubIds.slice(0, 12))
    await one.sweepFleet()
    one.clock.move(MINUTE)
    await one.poll(...one.hubIds)
    for (let n = 0; n < 3; n++) await one.sweepFleet()
    expect(await one.alerts()).toEqual(['firing critical entered unreachable'])
    expect(await one.messages()).toEqual([expect.stringMatching(/^All .* accounts: HubSpot can't be reached\. /)])

    one.is('back')
    one.clock.move(MINUTE)
    // The breaker lets one at a time through until enough have worked.
    await one.refresh(one.hubIds.slice(20, 40), 20_000)
    await one.sweepFleet()
    expect(await one.alerts()).toEqual(['firing critical entered unreachable'])
    await one.poll(...one.hubIds)
    await one.sweepFleet()
    expect(await one.alerts()).toEqual([
      'firing critical entered unreachable',
      'resolved critical recovered unreachable',
    ])
    expect((await one.messages()).at(-1)).toContain('500 of 500 accounts have a fresh reading')
  })

  test('that polls notice first is the same alert when the token endpoint fails, too', async () => {
    const one = await fleet(30)
    await one.poll(...one.hubIds)
    one.clock.move(45 * MINUTE)
    one.is('away')
    await one.poll(...one.hubIds)
    one.clock.move(MINUTE)
    await one.poll(...one.hubIds)
    await one.sweepFleet()
    await one.refresh(one.hubIds.slice(0, 12))
    await one.sweepFleet()
    expect(await one.alerts()).toEqual(['firing critical entered coverage'])
  })
})

test('the share of failed calls counts only where there is a whole day of calls', async () => {
  const one = await fleet(1)
  await one.called(2_000, 240)
  await one.sweepFleet()
  await one.called(10, 0, 1)
  await one.sweepFleet()
  expect(await one.alerts()).toEqual([])
  await one.called(10, 0, 2)
  await one.sweepFleet()
  expect(await one.alerts()).toEqual(['firing critical entered calls'])
  expect((await one.messages())[0]).toMatch(/^11\.9 % of 2,020 calls failed in 30 days \(HubSpot allows 5 %\)\. /)
})

test('an alert about failed calls gets worse, gets better and ends with their share', async () => {
  const one = await fleet(1)
  await one.called(1, 0, 2)
  const sweepWith = async (failed: number) => {
    await one.called(9_999, failed)
    await one.sweepFleet()
    await one.sweepFleet()
    return (await one.alerts()).at(-1)
  }
  expect(await sweepWith(299)).toBeUndefined()
  const opened = 'firing warning entered calls'
  expect(await sweepWith(300)).toBe(opened)
  expect(await sweepWith(290)).toBe(opened)
  expect(await sweepWith(500)).toBe('firing critical escalated calls')
  expect(await sweepWith(440)).toBe('firing warning eased calls')
  expect(await sweepWith(269)).toBe('resolved warning recovered calls')
  expect(one.codes().filter((code) => String(code).startsWith('calls.'))).toEqual([
    'calls.failing',
    'calls.failing',
    'calls.failing',
    'calls.recovered',
  ])
})

test('tokens of active accounts that are over because the endpoint lets too few through are one alert, until none is', async () => {
  const one = await fleet(25)
  one.clock.move(61 * MINUTE)
  await one.refresh(one.hubIds.slice(0, 5))
  one.says.refresh = fails('transient', { status: 429, message: 'the provider answered 429', retryAfterMs: 5_000 })
  await one.refresh(one.hubIds.slice(5, 6))
  await one.sweepFleet()
  expect(await one.alerts()).toEqual(['firing critical entered throttled'])
  expect((await one.messages())[0]).toMatch(/^Tokens of 20 of 25 accounts have expired: HubSpot throttles refreshes\. /)
  one.says.refresh = async () => tokens('access-3')
  await one.refresh(one.hubIds.slice(5), 6_000)
  await one.sweepFleet()
  expect((await one.alerts()).at(-1)).toBe('resolved critical recovered throttled')
})

test('tokens that are over because refreshes are refused are no alert about throttling, though a 429 came shortly before', async () => {
  const one = await fleet(25)
  one.clock.move(59 * MINUTE)
  one.says.refresh = fails('transient', { status: 429, message: 'the provider answered 429', retryAfterMs: 1_000 })
  await one.refresh(one.hubIds.slice(0, 1))
  one.says.refresh = fails('rejected', { status: 400, code: 'BAD_REFRESH_TOKEN', message: 'the provider answered 400' })
  await one.refresh(one.hubIds.slice(1, 14), 2_000)
  expect(await one.alerts()).toEqual(['firing critical entered refused'])
  one.clock.move(MINUTE)
  await one.sweepFleet()
  expect(await one.alerts()).toEqual(['firing critical entered refused'])
})

test('no customer is written to while a fleet alert is open, whatever it is about, and each is once it is over', async () => {
  const mail = { type: 'email', smtp: 'smtps://mail.example.com', from: 'a@example.com' }
  const one = await polled({
    settings: {
      http: { publicUrl: 'https://plimsoll.example.com', brand: { name: 'Example App' } },
      tokens: { mailInstaller: true },
      receivers: { ops: { ...mail, to: ['b@example.com'] }, owner: { ...mail, to: 'account' } },
      routes: [{ to: ['ops', 'owner'] }],
      limits: { associations: [] },
      alerts: { firstRun: 'alert', group: { wait: '0s' } },
    },
    rules: [{ on: 'customProperties.overall', critical: { percent: 90 } }],
  })
  const { store, keys, clock, services } = one
  const fleetAlerts = keys.account(NO_ACCOUNT).alerts
  const own = keys.account(HUB)
  await store.hset(own.account, { user: 'u@acme.example.com', contact: 'c@acme.example.com' })
  const open = encodeState(openedState('critical', 'fleet', clock.now()))
  const receivers = async () => {
    await sendAlerts(services.sending, clock.now())
    await mailInstallers(services)
    const ids = await pendingIds(store, keys)
    const all = await Promise.all(ids.map((id) => store.hget(keys.delivery.delivery(id), 'receiver')))
    return new Set(all)
  }
  await store.hset(fleetAlerts, 'coverage', open)
  one.says.customProperties = reads(properties(950))
  await one.poll()
  // It must be connected again, too.
  await store.hset(own.account, { state: 'reauthorize', rejectedAt: clock.now(), connectedAt: 1 })
  await store.zadd(keys.state.reauthorize, HUB, HUB)
  await store.hset(own.alerts, TOKEN_FIELD, encodeState(openedState('critical', 'token', clock.now())))
  for (const trouble of ['coverage', 'provider', 'token-endpoint', 'data']) {
    await store.del(fleetAlerts)
    await store.hset(fleetAlerts, trouble, open)
    expect([trouble, (await receivers()).has('owner')]).toEqual([trouble, false])
  }
  expect(await receivers()).toEqual(new Set(['ops']))
  await store.del(fleetAlerts)
  await recheckWaiting(services)
  clock.move(2 * MINUTE)
  expect(await receivers()).toEqual(new Set(['ops', 'owner']))
})
