import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { plimsoll } from '../support/command.ts'
import type { Daemon } from '../support/daemon.ts'
import { connectAccount, connectAll, eventually, getJson, hubIdsOf } from '../support/fleet.ts'
import { at, handOut, type JournalEntry, lookInto } from '../support/look-into.ts'
import { openScene, type Scene } from '../support/scene.ts'

/*
 * What users of OAuth tokens suffer from, each pain by its name; what another file shows is only named here, and those of a whole fleet are in
 * pains-of-the-fleet.test.ts.
 *
 * | pain | test |
 * |---|---|
 * | two workers refresh at once | below; two-daemons.test.ts, 'two daemons on one Redis refresh each account once per life'; e2e/admin-tokens.test.ts, '200 who ask two daemons at once' |
 * | a false bad refresh token after losing the race | below |
 * | a new token was obtained and could not be saved | below; killed-daemons.test.ts for a process that dies in between |
 * | a 429 of the token endpoint | below; fleet-trouble.test.ts, 'a provider that is down changes no account for good' for a whole fleet that comes back |
 * | dead grants are retried for ever | below; e2e/main-job.test.ts, 'an uninstall on the provider side is confirmed and told once' |
 * | one blip kills an account | below; outages.test.ts, 'a provider that answers 500 changes nobody to reauthorize' |
 * | an uninstall on the provider's side goes unnoticed | below, with the dead grants; jobs/refresh-tokens.test.ts, 'is uninstalled by the first daily probe after the time that the config gives it' |
 * | a mass failure is mistaken for mass uninstall | below; fleet-trouble.test.ts, 'a wrong client secret is one alert and a trickle of requests' |
 * | a token expires during a run | below |
 * | a clock is wrong | wrong-clock.test.ts, 'three daemons with clocks that are hours apart refresh each account once in its time' |
 * | a 401 that leads to no refresh, or to a loop of them | below |
 * | a lifetime that is hard-coded | below, twice: the provider changes it; the provider gives less than it said |
 * | tokens that are longer than the column | below: every token of two of the scenes has 2,000 characters |
 * | tokens in logs, mails, pages, Redis | e2e/secrets.test.ts, 'no log line holds a token or the client secret' and those after it |
 * | missing scopes found late, or taken for a dead token | below; e2e/import.test.ts, 'a fleet comes in beside a daemon at work' |
 * | an account moves to another data center (477) | below |
 * | the provider ends an API version | pains-of-the-fleet.test.ts, 'ends: the API version is changed by SIGHUP under load' |
 * | failing accounts starve the others | below; outages.test.ts, 'limits endpoints that hang take no token with them' |
 * | an access token imported as refresh token | below, for one account; e2e/import.test.ts, 'a fleet comes in beside a daemon at work', for a file |
 * | a token imported for the wrong account | e2e/import.test.ts, 'a token of another account is told and not used under the wrong name' |
 * | a second user connects the same account | below |
 */

let scene: Scene
const { accountOf, tokenOf, control, addFault, faultMet, requestsOf, refreshesOf, toldOf, inState, refreshedSince } =
  lookInto(() => scene)

const LONG_TOKEN = 2_000

describe('one account in trouble, two daemons, lives of 10 seconds, tokens of 2,000 characters', () => {
  const LIFE_MS = 10_000
  let [daemon, other]: Daemon[] = []
  let takeConnected: () => number
  beforeAll(async () => {
    scene = await openScene({ accounts: 20, tokenLifetimeMs: LIFE_MS, accessTokenLength: LONG_TOKEN })
    ;[daemon, other] = await Promise.all([scene.daemon(), scene.daemon()])
    const hubIds = await hubIdsOf(scene.sandbox.url)
    await connectAll(one().url, hubIds)
    takeConnected = handOut(hubIds)
  })
  afterAll(() => scene.close())
  const one = () => daemon as Daemon
  const two = () => other as Daemon

  test.concurrent('two workers refresh at once: while an answer is slow, nobody else redeems the token', async () => {
    const hubId = takeConnected()
    const slowMs = 6_000
    await addFault({ endpoint: 'token', hubId, after: true, delayMs: slowMs, times: 1 })
    await faultMet(hubId)
    const met = Date.now()
    // Whoever asks the other daemon meanwhile is served, or waits for the one refresh that there is.
    expect((await tokenOf(two(), hubId)).status).toBe(200)
    await eventually('refreshes after it', async () => {
      const refreshes = await refreshesOf(hubId)
      return refreshes.filter((entry) => at(entry) > met + slowMs).length >= 2
    })
    const refreshes = await refreshesOf(hubId)
    const [slow, next] = refreshes.slice(refreshes.findLastIndex((entry) => at(entry) <= met)) as JournalEntry[]
    expect(slow && next && at(next) - at(slow)).toBeGreaterThan(slowMs - 500)
    expect(refreshes.filter(({ status }) => status !== 200)).toEqual([])
    expect(await toldOf(hubId)).toEqual([])
  })

  test.concurrent('a false bad refresh token after losing the race: the tokens that won stay, and count', async () => {
    const hubId = takeConnected()
    await addFault({ endpoint: 'token', hubId, status: 400, delayMs: 2_500, times: 1 })
    await faultMet(hubId)
    expect((await connectAccount(two().url, hubId)).status).toBe(200)
    const states = new Set<string>()
    await eventually('the refusal, and refreshes after it', async () => {
      states.add((await accountOf(one(), hubId)).state)
      const refreshes = await refreshesOf(hubId)
      const refused = refreshes.findLastIndex(({ status }) => status === 400)
      return refused >= 0 && refreshes.slice(refused).filter(({ status }) => status === 200).length >= 2
    })
    expect([...states]).toEqual(['active'])
    expect(await accountOf(one(), hubId)).toMatchObject({ refreshFailure: null, refusedSince: null })
    expect(await toldOf(hubId)).toEqual([])
  })

  test.concurrent('one blip does not kill an account, nor do two with a refresh that worked between them', async () => {
    const hubId = takeConnected()
    for (const _blip of ['first', 'second']) {
      const before = (await refreshesOf(hubId)).length
      await addFault({ endpoint: 'token', hubId, status: 400, times: 1 })
      await eventually('a refresh that is refused, and one after it', async () => {
        const statuses = (await refreshesOf(hubId)).slice(before).map(({ status }) => status)
        return statuses.includes(400) && statuses.at(-1) === 200
      })
      expect(await inState(one(), hubId, 'active')).toMatchObject({ refreshFailure: null, refusedSince: null })
    }
    expect(await toldOf(hubId)).toEqual([])
  })

  test.concurrent('an uninstall on the provider’s side is noticed, and a dead grant is not retried for ever', async () => {
    const hubId = takeConnected()
    // The first poll brings the name: nothing can be asked about the account once it is uninstalled.
    await eventually('its name', async () => (await accountOf(one(), hubId)).hubDomain !== '')
    await control('DELETE', `accounts/${hubId}`)
    const { token } = await inState(one(), hubId, 'reauthorize')
    const asked = (await requestsOf(hubId)).length
    const hours = (Date.parse(token.nextRefreshAt) - Date.now()) / 3_600_000
    expect(hours).toBeGreaterThan(20)
    expect(hours).toBeLessThan(28)
    // The subject itself: nobody asks any more, not even two daemons for a life of the token.
    await pause(LIFE_MS)
    expect((await requestsOf(hubId)).length).toBe(asked)
    expect((await tokenOf(two(), hubId)).status).toBe(409)

    const alerts = await toldOf(hubId)
    expect(alerts).toMatchObject([{ kind: 'token', status: 'firing', level: 'critical', reason: 'entered' }])
    expect(alerts[0]?.account?.hubDomain).toMatch(/example\.com$/)
    expect(alerts[0]?.message).toMatch(
      /uninstalled, or its access was revoked\. Tokens last worked 20.* accounts reconnect-link \d+ prints the link/,
    )
  })

  test.concurrent('a token that expires while it can not be refreshed is not used, and that is told once', async () => {
    const hubId = takeConnected()
    await addFault({ endpoint: 'token', hubId, status: 503, times: 6 })
    const without = await eventually('no token to serve', async () => {
      const answer = await tokenOf(one(), hubId)
      return answer.status !== 200 && answer
    })
    expect(without.status).toBe(503)
    expect(Number(without.headers.get('retry-after'))).toBeGreaterThan(0)
    await eventually('over', async () => (await toldOf(hubId)).some(({ status }) => status === 'resolved'))
    expect(await toldOf(hubId)).toMatchObject([
      { kind: 'token', status: 'firing', level: 'critical', message: expect.stringContaining('503') },
      { kind: 'token', status: 'resolved', reason: 'recovered' },
    ])
    expect((await accountOf(one(), hubId)).state).toBe('active')
    // No call went out with the dead token, neither before nor after.
    expect((await requestsOf(hubId)).filter(({ status }) => status === 401)).toEqual([])
  })

  test.concurrent.each(['token', 'customProperties', 'associations'])(
    'an account that moves to another data centre (477 of %s) is parked until the provider said',
    async (endpoint) => {
      const hubId = takeConnected()
      const awayMs = 12_000
      const moving = { status: 477, headers: { 'Retry-After': awayMs / 1_000 }, times: 1 }
      // A refresh that is under way when a poll is told so would bring tokens that work.
      await refreshedSince([hubId], Date.now())
      await addFault({ endpoint, hubId, ...moving })
      const { parkedUntil, refusedSince } = await inState(one(), hubId, 'parked')
      expect(refusedSince).toBeNull()
      const moved = (await requestsOf(hubId)).find(({ status }) => status === 477) as JournalEntry
      expect(Math.abs(Date.parse(parkedUntil ?? '') - (at(moved) + awayMs))).toBeLessThan(awayMs / 2)

      await eventually('a refresh', async () => (await refreshesOf(hubId)).some((entry) => at(entry) > at(moved)))
      const [next] = (await requestsOf(hubId)).filter((entry) => at(entry) > at(moved) + 1_000)
      expect(next && at(next) - at(moved)).toBeGreaterThan(awayMs - 1_000)
      expect(await inState(one(), hubId, 'active')).toMatchObject({ parkedUntil: null, refreshFailure: null })
      await eventually('over', async () => (await toldOf(hubId)).some(({ status }) => status === 'resolved'))
      expect((await toldOf(hubId)).map(({ level, reason }) => [level, reason])).toEqual([
        ['critical', 'entered'],
        ['critical', 'recovered'],
      ])
    },
  )
})

describe('calls for data, lives of a minute, tokens of 2,000 characters', () => {
  const LIFE_MS = 60_000
  /** A token that is younger is not the reason for a 401. */
  const BRAND_NEW_MS = LIFE_MS / 10
  let daemon: Daemon
  let takeFresh: () => number
  beforeAll(async () => {
    scene = await openScene({
      accounts: 10,
      tokenLifetimeMs: LIFE_MS,
      accessTokenLength: LONG_TOKEN,
      rotateRefreshTokens: false,
    })
    daemon = await scene.daemon({ limits: { every: '1s', alertAfter: '1s' } })
    takeFresh = handOut(await hubIdsOf(scene.sandbox.url))
  })
  afterAll(() => scene.close())

  async function connected(): Promise<number> {
    const hubId = takeFresh()
    expect((await connectAccount(daemon.url, hubId)).status).toBe(200)
    return hubId
  }

  const LIMITS = ['customProperties', 'associations']
  const refuse = (hubId: number, status: number, times?: number) =>
    Promise.all(LIMITS.map((endpoint) => addFault({ endpoint, hubId, status, ...(times && { times }) })))

  test.concurrent('a 401 leads to one refresh, and the call is made once more', async () => {
    const hubId = await connected()
    await eventually('a token of some age', async () => {
      const { token } = await accountOf(daemon, hubId)
      return Date.now() - Date.parse(token.obtainedAt) > BRAND_NEW_MS + 500
    })
    const since = Date.now()
    await refuse(hubId, 401, 1)
    const calls = await eventually('polls that work again', async () => {
      const entries = (await requestsOf(hubId)).filter((entry) => at(entry) >= since)
      const refreshed = entries.findIndex(({ endpoint }) => endpoint === 'token')
      return refreshed >= 0 && entries.length > refreshed + 6 && entries
    })
    const refused = calls.findIndex(({ status }) => status === 401)
    expect(calls.filter(({ endpoint }) => endpoint === 'token')).toHaveLength(1)
    expect(
      calls
        .slice(refused, refused + 5)
        .map(({ endpoint, status }) => `${endpoint} ${status}`)
        .sort(),
    ).toEqual(['associations 200', 'associations 401', 'customProperties 200', 'customProperties 401', 'token 200'])
    expect(await accountOf(daemon, hubId)).toMatchObject({ state: 'active', pollFailure: null })
  })

  test.concurrent('a 401 that no refresh helps against is no loop of refreshes, and no dead account', async () => {
    const hubId = takeFresh()
    await refuse(hubId, 401)
    const since = Date.now()
    expect((await connectAccount(daemon.url, hubId)).status).toBe(200)
    await eventually('eight polls', async () => {
      const polls = (await requestsOf(hubId)).filter(({ endpoint }) => endpoint === 'customProperties')
      return polls.length >= 8
    })
    const most = Math.floor((Date.now() - since) / BRAND_NEW_MS)
    expect((await refreshesOf(hubId)).length).toBeLessThanOrEqual(most)
    const account = await accountOf(daemon, hubId)
    expect(account).toMatchObject({ state: 'active', refreshFailure: null })
    expect(account.pollFailure?.reason).toContain('401')
    // Polls may fail for long before the token is old enough for a refresh: then there is one alert more.
    const alerts = await eventually('the alert that only a new connection helps', async () => {
      const sent = await toldOf(hubId)
      return sent.some(({ message }) => message?.includes('reconnect-link')) && sent
    })
    const [alert] = alerts
    expect(alert).toMatchObject({ kind: 'poll', level: 'warning', reason: 'entered' })
    expect(alerts.at(-1)?.message).toMatch(/401.*Connect the account again\. .*reconnect-link/)
    expect(alerts.length).toBeLessThanOrEqual(2)
  })

  test.concurrent('a token of which the provider says that it lives shorter than it was given for is refreshed by that', async () => {
    const hubId = takeFresh()
    const scopes = ['oauth', 'crm.objects.contacts.read']
    const body = { hub_id: hubId, hub_domain: 'short.example.com', scopes, expires_in: 20 }
    await addFault({ endpoint: 'metadata', hubId, body, times: 1 })
    expect((await connectAccount(daemon.url, hubId)).status).toBe(200)
    const { driftMs, obtainedAt, nextRefreshAt } = await eventually('what the provider says', async () => {
      const { token } = await accountOf(daemon, hubId)
      return token.driftMs !== null && token
    })
    expect(driftMs).toBeGreaterThan(-41_000)
    expect(driftMs).toBeLessThan(-30_000)
    // Not even the earliest refresh would come before half of the life that it was given for.
    expect(Date.parse(nextRefreshAt) - Date.parse(obtainedAt)).toBeLessThan(LIFE_MS / 2)
    await eventually('a refresh', async () => (await refreshesOf(hubId))[0])
  })

  test.concurrent('tokens of 2,000 characters are kept whole, in paths, bodies and Redis', async () => {
    const hubId = await connected()
    await eventually('a poll', async () =>
      (await requestsOf(hubId)).some(({ endpoint, status }) => endpoint === 'associations' && status === 200),
    )
    const { accessToken } = (await (await tokenOf(daemon, hubId)).json()) as { accessToken: string }
    expect(accessToken.length).toBeGreaterThanOrEqual(LONG_TOKEN)
    const path = `/oauth/v1/access-tokens/${encodeURIComponent(accessToken)}`
    expect(await getJson(scene.sandbox.url + path)).toMatchObject({ hub_id: hubId })
  })

  test.concurrent('scopes that are missing are found at once, and are no dead token', async () => {
    const hubId = takeFresh()
    const install = await fetch(`${daemon.url}/install`, { redirect: 'manual' })
    const page = new URL(install.headers.get('location') ?? '')
    for (const name of ['scope', 'scopes']) page.searchParams.set(name, 'oauth')
    const approved = await fetch(`${page}&account=${hubId}`, { method: 'POST', redirect: 'manual' })
    await fetch(approved.headers.get('location') ?? '', { redirect: 'manual' })
    await eventually(
      'some refused polls',
      async () => (await requestsOf(hubId)).filter(({ status }) => status === 403).length >= 4,
    )
    const [alert, ...more] = await eventually('the alert', async () => {
      const alerts = await toldOf(hubId)
      return alerts.length > 0 && alerts
    })
    expect(more).toEqual([])
    expect(alert).toMatchObject({ kind: 'poll', level: 'warning', reason: 'entered' })
    expect(alert?.message).toContain('Missing: crm.objects.contacts.read')
    const [firstRefusal] = (await requestsOf(hubId)).filter(({ status }) => status === 403)
    expect(Date.parse(alert?.measuredAt ?? '')).toBeLessThanOrEqual(firstRefusal ? at(firstRefusal) : 0)
    expect((await accountOf(daemon, hubId)).state).toBe('active')
    expect((await tokenOf(daemon, hubId)).status).toBe(200)

    await connectAccount(daemon.url, hubId)
    await eventually('the end of it', async () => (await toldOf(hubId)).at(-1)?.reason === 'recovered')
  })

  test.concurrent('a scope that is taken away later is no dead token either', async () => {
    const hubId = await connected()
    await refuse(hubId, 403)
    const account = await eventually('a refused poll', async () => {
      const found = await accountOf(daemon, hubId)
      return found.watch !== null && found
    })
    expect(account).toMatchObject({ state: 'active', refreshFailure: null, pollFailure: null })
    expect(account.watch?.is).toMatch(/^cannot be watched/)
    await eventually('one alert', async () => (await toldOf(hubId)).some(({ kind }) => kind === 'poll'))
    expect((await toldOf(hubId)).filter(({ kind, status }) => kind === 'poll' && status === 'firing')).toHaveLength(1)
    expect((await tokenOf(daemon, hubId)).status).toBe(200)
    expect((await refreshesOf(hubId)).length).toBe(0)
  })

  test.concurrent('a second user who connects the same account: one account, his tokens, and the first ones are left alone', async () => {
    const hubId = await connected()
    const scopes = ['oauth', 'crm.objects.contacts.read']
    const body = { hub_id: hubId, user: 'second@example.com', scopes, expires_in: LIFE_MS / 1_000 }
    await addFault({ endpoint: 'metadata', hubId, body, times: 1 })
    expect((await connectAccount(daemon.url, hubId)).status).toBe(200)
    const account = await eventually('the second user', async () => {
      const found = await accountOf(daemon, hubId)
      return found.user === 'second@example.com' && found
    })
    expect(account.state).toBe('active')
    const since = Date.now()
    await eventually('polls', async () =>
      (await requestsOf(hubId)).some((entry) => entry.endpoint === 'associations' && at(entry) > since),
    )
    expect((await requestsOf(hubId)).filter(({ endpoint, status }) => endpoint === 'delete' || status > 400)).toEqual(
      [],
    )
    const { items } = await getJson<{ items: { hubId: number }[] }>(`${daemon.url}/api/v1/accounts?limit=500`)
    expect(items.filter((item) => item.hubId === hubId)).toHaveLength(1)
  })

  test.concurrent('an access token given as refresh token is refused before anything is stored', async () => {
    const hubId = await connected()
    const { accessToken } = (await (await tokenOf(daemon, hubId)).json()) as { accessToken: string }
    const file = join(scene.folder, 'wrong-column.txt')
    writeFileSync(file, accessToken)
    const before = await accountOf(daemon, hubId)
    const args = ['accounts', 'connect', '--refresh-token-file', file, '--config', await scene.configFile()]
    const { code, out, err } = await plimsoll(args, scene.folder)
    expect([code, out]).toEqual([1, ''])
    expect(err).toMatch(/^plimsoll: .*refresh token.*\n$/)
    expect(err).not.toContain(accessToken)
    expect(await accountOf(daemon, hubId)).toMatchObject({ state: 'active', token: before.token })
  })
})
