import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SILENT_MS } from '../../src/redis/connect.ts'
import { type Daemon, WEBHOOK_SECRET } from '../support/daemon.ts'
import {
  ask,
  connectAll,
  customProperties,
  eventually,
  getJson,
  hooksOf,
  hubIdsOf,
  journalOf,
  mailsOf,
  send,
} from '../support/fleet.ts'
import { type HalfOpenProxy, type Silence, startHalfOpenProxy } from '../support/half-open-proxy.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { say } from '../support/say.ts'
import { allRefreshedSince, type Fleet, openFleet, statesOf, whatProviderSaw } from './open-fleet.ts'

describe('Redis', () => {
  const ACCOUNTS = 60
  const LIFE_MS = 30_000

  let redis: RedisServer
  let proxy: HalfOpenProxy
  let fleet: Fleet
  let daemon: Daemon
  let hubIds: number[]

  beforeAll(async () => {
    redis = await startRedis()
    proxy = await startHalfOpenProxy(redis.port)
    const url = `redis://127.0.0.1:${proxy.port}`
    fleet = await openFleet({ url }, { accounts: ACCOUNTS, tokenLifetimeMs: LIFE_MS, rotateRefreshTokens: true })
    daemon = await fleet.daemon()
    hubIds = await hubIdsOf(fleet.sandbox.url)
    await connectAll(daemon.url, hubIds)
  })
  afterAll(async () => {
    await fleet?.close()
    await proxy?.stop()
    await redis?.stop()
  })

  /** Of those that polls make: one from each account every 2 s. */
  async function firstPollAfter(since: number): Promise<number> {
    const poll = await eventually('a poll', async () =>
      (await journalOf(fleet.sandbox.url)).find(
        ({ time, endpoint }) => endpoint === 'customProperties' && Date.parse(time) > since,
      ),
    )
    return Date.parse(poll.time) - since
  }

  test.for<Silence>(['both ways', 'to the server', 'to the client'])(
    'every connection to Redis is forgotten on the way, %s: each is replaced, and no token is lost or late',
    async (silence) => {
      const connections = proxy.forgetOpen(silence)
      const since = Date.now()
      // What the daemon has in its hands at that moment goes on for a moment; then nothing does.
      const polls = firstPollAfter(since + 2_500)
      await eventually('a page', async () => (await ask(`${daemon.url}/api/v1/status`)).ok)
      const pageMs = Date.now() - since
      const pollMs = 2_500 + (await polls)
      say(
        `${connections} connections, nothing comes through ${silence}: pages after ${(pageMs / 1_000).toFixed(1)} s, ` +
          `polls after ${(pollMs / 1_000).toFixed(1)} s`,
      )
      expect(pageMs).toBeLessThan(SILENT_MS.pages + 2_500)
      expect(pollMs).toBeLessThan(SILENT_MS.waiting + 3_000)
      await allRefreshedSince(fleet, hubIds, since)
      expect(await statesOf(daemon.url)).toEqual({ active: ACCOUNTS })
      const { refused, expired, shortest, longest } = await whatProviderSaw(fleet.sandbox)
      expect({ refused, expired }).toEqual({ refused: [], expired: 0 })
      expect(longest).toBeLessThan(LIFE_MS)
      // Half a life is the beginning of the window: before that a token would be redeemed twice.
      expect(shortest).toBeGreaterThan(LIFE_MS * 0.5 - 500)
      const { alive } = await getJson<{ alive: boolean }>(`${daemon.url}/healthz`)
      expect(alive).toBe(true)
    },
  )
})

describe('provider, mail server, webhook', () => {
  const ACCOUNTS = 40
  const LIFE_MS = 20_000
  const TIMEOUT_MS = 3_000

  let redis: RedisServer
  let fleet: Fleet
  let daemon: Daemon
  let hubIds: number[]
  let proxies: { provider: HalfOpenProxy; hooks: HalfOpenProxy; mail: HalfOpenProxy }

  beforeAll(async () => {
    redis = await startRedis()
    // A provider that rotates has ended the old token by the time that its answer is lost: no client can mend that.
    fleet = await openFleet(
      { url: redis.url },
      { accounts: ACCOUNTS, tokenLifetimeMs: LIFE_MS, rotateRefreshTokens: false },
    )
    const [http, smtp] = [new URL(fleet.sandbox.url), new URL(fleet.sandbox.smtpUrl)]
    const to = (port: string) => startHalfOpenProxy(Number(port))
    proxies = { provider: await to(http.port), hooks: await to(http.port), mail: await to(smtp.port) }
    daemon = await fleet.daemon({ settings: throughProxies(smtp.protocol) })
    hubIds = await hubIdsOf(fleet.sandbox.url)
    await connectAll(daemon.url, hubIds)
  })
  afterAll(async () => {
    await fleet?.close()
    for (const proxy of Object.values(proxies ?? {})) await proxy.stop()
    await redis?.stop()
  })

  function throughProxies(smtp: string): Record<string, object> {
    const mail = { type: 'email', from: 'Plimsoll <plimsoll@example.com>', to: ['ops@example.com'] }
    return {
      provider: {
        baseUrl: `http://127.0.0.1:${proxies.provider.port}`,
        installUrl: `${fleet.sandbox.url}/oauth/authorize`,
        clientId: 'sandbox-client-id',
        clientSecret: 'sandbox-client-secret',
        timeout: `${TIMEOUT_MS}ms`,
        scopes: ['oauth', 'crm.objects.contacts.read'],
      },
      receivers: {
        'ops-mail': { ...mail, smtp: `${smtp}//127.0.0.1:${proxies.mail.port}` },
        'ops-hook': {
          type: 'webhook',
          url: `http://127.0.0.1:${proxies.hooks.port}/sandbox/hooks`,
          secrets: [WEBHOOK_SECRET],
        },
      },
    }
  }

  async function setUsage(hubId: number, usage: number): Promise<void> {
    await send(`${fleet.sandbox.url}/sandbox/accounts/${hubId}/custom-properties`, 'PUT', customProperties(usage))
  }

  test.for(['both ways', 'to the client'] as const)(
    'connections to the provider are forgotten, %s: calls run into their deadline, then go by new ones',
    async (silence) => {
      await eventually('a poll', async () =>
        (await journalOf(fleet.sandbox.url)).some(({ endpoint }) => endpoint === 'customProperties'),
      )
      const connections = proxies.provider.forgetOpen(silence)
      const since = Date.now()
      const poll = await eventually('polls that are answered', async () =>
        (await journalOf(fleet.sandbox.url)).find(
          ({ time, endpoint }) => endpoint === 'associations' && Date.parse(time) > since + TIMEOUT_MS,
        ),
      )
      const took = Date.parse(poll.time) - since
      say(
        `${connections} connections to the provider, nothing comes through ${silence}: polls after ${(took / 1_000).toFixed(1)} s`,
      )
      expect(took).toBeLessThan(TIMEOUT_MS + 10_000)
      await allRefreshedSince(fleet, hubIds, since)
      expect(await statesOf(daemon.url)).toEqual({ active: ACCOUNTS })
      expect(await whatProviderSaw(fleet.sandbox)).toMatchObject({ refused: [], expired: 0 })
    },
  )

  test('connections to the mail server and to a webhook are forgotten: what was on its way is sent again', async () => {
    const [first = 0, second = 0] = hubIds
    const told = async (hubId: number) => {
      const [mails, hooks] = await Promise.all([mailsOf(fleet.sandbox.url), hooksOf(fleet.sandbox.url)])
      return (
        mails.some(({ subject }) => subject.includes(`(${hubId})`)) &&
        hooks.some(({ body }) => body.data.alerts.some(({ account }) => account?.hubId === hubId))
      )
    }
    await setUsage(first, 960)
    await eventually('the first alert, by connections that stay open', () => told(first))
    proxies.mail.forgetOpen('both ways')
    proxies.hooks.forgetOpen('both ways')
    const since = Date.now()
    await setUsage(second, 960)
    await eventually('the second alert', () => told(second), 90_000)
    say(`mail and webhook on forgotten connections: both arrived after ${((Date.now() - since) / 1_000).toFixed(1)} s`)
  })
})
