import { describe, expect, test } from 'vitest'
import { pollLimits } from '../../jobs/poll-limits.ts'
import { connectWithCode } from '../../src/accounts/connect-account.ts'
import { alertOf } from '../../src/alerts/alert.ts'
import { alertId, encodeState, openedState, TOKEN_FIELD } from '../../src/alerts/alert-state.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { metadata } from '../accounts/connected.ts'
import { aRelay, NOW } from '../alerts/a-relay.ts'
import { anAlert } from '../alerts/an-alert.ts'
import { BEARER, JSON_BODY, openServer, openState, readings } from '../http/open-server.ts'
import { properties } from '../limits/reports.ts'
import { openAlertPath } from '../support/alert-path.ts'
import { CodeDoor } from '../support/endpoint.ts'
import { reads, tokens } from '../support/fake-provider.ts'
import { redisOfFile } from '../support/of-file.ts'
import { HUB, openWorld } from '../support/world.ts'

const redis = redisOfFile()

/** One byte of the text is no UTF-8 from now on: `word` begins with it. */
async function spoilField(key: string, field: string, word: string): Promise<void> {
  const stored = await redis.store.hgetBuffer(key, field)
  if (stored === null || !stored.includes(word)) throw new Error(`no ${word} in ${field} of ${key}`)
  stored[stored.indexOf(word)] = 0xff
  await redis.store.hset(key, field, stored)
}

const FIELD = 'overall'

describe('an alert of which one byte is no UTF-8', () => {
  test('is acknowledged, that is withdrawn, and its account is uninstalled', async () => {
    const { ask, connectAccount, poll, keys, clock, deps } = await openServer(redis)
    await connectAccount({ hubId: HUB })
    const state = openState('critical', 'full', clock.now())
    await poll(HUB, readings(clock.now(), 960), { [FIELD]: state })
    const { alerts } = keys.account(HUB)
    const alertPath = `/api/v1/alerts/${alertId(HUB, FIELD, state.since)}`
    await spoilField(alerts, FIELD, 'full')
    expect((await ask('POST', `${alertPath}/acknowledge`, { ...BEARER, ...JSON_BODY }, '{}')).status).toBe(200)
    await spoilField(alerts, FIELD, 'ull')
    expect((await ask('POST', `${alertPath}/unacknowledge`, BEARER)).status).toBe(200)
    await deps.store.hset(alerts, FIELD, encodeState(state))
    await spoilField(alerts, FIELD, 'full')
    expect((await ask('DELETE', `/api/v1/accounts/${HUB}`, BEARER)).status).toBe(202)
    expect(await deps.store.exists(alerts)).toBe(0)
  })

  test('does not keep its account from being connected again', async () => {
    const w = await openWorld(redis, {
      provider: { exchangeCode: async () => tokens('access-2', 'refresh-2'), metadata: async () => metadata() },
    })
    await w.account({ lifeMs: 1_800_000 })
    const { alerts } = w.keys.account(HUB)
    await w.store.hset(alerts, TOKEN_FIELD, encodeState(openedState('critical', 'the-rule', w.clock.now())))
    await spoilField(alerts, TOKEN_FIELD, 'the-rule')
    w.clock.move(3_600_000)
    const deps = { ...w.services, endpoint: new CodeDoor() }
    expect(await connectWithCode(deps as never, new Secret('the-code'))).toMatchObject({ is: 'reconnected' })
    expect(await w.store.hget(alerts, TOKEN_FIELD)).toBeNull()
  })

  test('is over with the next poll: its account is polled in its turn', async () => {
    const path = await openAlertPath(redis, { critical: { percent: 80 } }, { ops: () => ({ outcome: 'delivered' }) })
    await path.poll(100)
    await path.live(120_000)
    await path.poll(900)
    await path.live(120_000)
    await spoilField(path.keys.account(HUB).alerts, FIELD, 'properties')
    path.says.customProperties = reads(properties(100))
    const calls = () => path.calls().filter((name) => name === 'customProperties').length
    const before = calls()
    // Ten minutes, with a period of one.
    for (let n = 0; n < 240; n++) {
      await pollLimits(path.services, new AbortController().signal)
      path.clock.move(2_500)
    }
    expect(calls() - before).toBeGreaterThan(8)
    expect(calls() - before).toBeLessThan(16)
    expect(await path.store.hgetall(path.keys.account(HUB).alerts)).toEqual({})
  })
})

test('what a receiver knows of one alert, with a byte that is no UTF-8, keeps no other alert back', async () => {
  const one = aRelay(redis.store, redis.freshKeys(), { routes: [{ to: ['mail'] }] })
  const [bad, good] = [1, 2].map((hubId) => anAlert({ account: { hubId, hubDomain: '' } }))
  if (bad === undefined || good === undefined) throw new Error('two alerts are needed')
  await one.commit({ alert: bad })
  await one.commit({ alert: good })
  const until = await one.look(NOW)
  await spoilField(one.keys.delivery.known('mail'), alertOf(bad), 'rule=')
  await one.look(until ?? 0)
  expect(await one.told()).toEqual([bad.id, good.id])
})

test('the state of the token endpoint with a byte that is no UTF-8 is written over', async () => {
  const w = await openWorld(redis, { provider: { refresh: async () => tokens('access-2') } })
  const account = await w.account()
  await w.store.hset(w.keys.fleet, 'endpoint', Buffer.from('{"shape":1,"breaker":{"detail":"\xff"}}', 'latin1'))
  w.clock.move(1_700_000)
  expect((await account.refresh()).is).toBe('refreshed')
})
