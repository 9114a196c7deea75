import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { planRefresh } from '../../src/tokens/plan-refresh.ts'
import {
  accessTokenOf,
  FIRST_HUB_ID,
  hubIdIn,
  lifeUntilDue,
  plan,
  SHARES,
  seedFleet,
  shareOfLife,
} from '../support/many-accounts.ts'
import { say } from '../support/say.ts'
import { startWholeDaemon, type WholeDaemon } from '../support/whole-daemon.ts'
import { quietReports } from './quiet-reports.ts'

const ACCOUNTS = Number(process.env.PLIMSOLL_FLEET ?? 100_000)
const SECONDS = Number(process.env.PLIMSOLL_SECONDS ?? 240)
const LIFE_MS = 1_800_000
const POLL_MS = 900_000
/** From the first turn that is given until the last one. */
const PLAN_MS = 10_000
/** One tick is a second. */
const LATE_MS = 1_500
const PAGE_MS = 1_000
/** What people and machines read while a daemon works. */
const PATHS = ['/', '/accounts?q=customer', '/accounts?sort=poll', '/api/v1/status', '/metrics', '/healthz']

test('100,000 accounts are refreshed in time by one daemon, and pages answer meanwhile', async ({ onTestFinished }) => {
  const provider = await startProvider()
  const daemon = await startWholeDaemon(
    provider.url,
    { limits: { every: '15m', associations: [{ from: '0-1', to: '0-2' }] } },
    { seed: (store, keys) => seedFleet(store, keys, ACCOUNTS) },
  )
  onTestFinished(async () => {
    await daemon.close()
    provider.close()
  })
  // As after a long time at work: each account is somewhere in the life of its token.
  const from = Date.now() + PLAN_MS
  await plan(daemon.store, daemon.keys, {
    from: 0,
    count: ACCOUNTS,
    turn: (place) => {
      const left = (place + 1) / ACCOUNTS
      const life = lifeUntilDue(place, from + left * shareOfLife(place) * LIFE_MS, LIFE_MS)
      provider.madeAt[place] = life.obtainedAt
      return { ...life, pollAt: from + Math.round(left * POLL_MS) }
    },
  })
  const pages = await probePages(daemon, SECONDS)

  const late = provider.lateness.sort((a, b) => a - b)
  const p99 = late[Math.floor((late.length - 1) * 0.99)]
  say(`${late.length} refreshes, late p99 ${p99} ms, most ${late.at(-1)} ms`)
  for (const page of pages) say(`${page.path}: p99 ${page.p99.toFixed(0)} ms`)
  const dueInASecond = (2 * ACCOUNTS * 1_000) / (LIFE_MS * (SHARES.refreshFrom + SHARES.refreshBy))
  expect(late.length).toBeGreaterThan(dueInASecond * (SECONDS - PLAN_MS / 1_000) * 0.8)
  expect(p99).toBeLessThan(LATE_MS)
  for (const page of pages) expect(page.p99, page.path).toBeLessThan(PAGE_MS)
})

/** It remembers when it made each token, so that lateness is what the far side saw and not what the daemon reports of itself. */
async function startProvider() {
  const madeAt = new Float64Array(ACCOUNTS)
  const lateness: number[] = []
  const { customProperties, associations } = quietReports()
  const token = (refreshToken: string) => {
    const [hubId, now] = [hubIdIn(refreshToken), Date.now()]
    const obtainedAt = madeAt[hubId - FIRST_HUB_ID] ?? 0
    lateness.push(now - planRefresh(hubId, { obtainedAt, expiresAt: obtainedAt + LIFE_MS }, SHARES).dueAt)
    madeAt[hubId - FIRST_HUB_ID] = now
    return { access_token: accessTokenOf(hubId), refresh_token: refreshToken, expires_in: LIFE_MS / 1_000 }
  }
  const server = createServer(async (request, response) => {
    const refreshToken = new URLSearchParams(await text(request)).get('refresh_token')
    const report = request.url?.endsWith('/custom-properties') === true ? customProperties : associations
    const answer = refreshToken === null ? report : token(refreshToken)
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    madeAt,
    lateness,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** Asks for each page once a second, one after the other, signed in: how long all but a hundredth of the answers took at most, ms. */
async function probePages({ ask }: Pick<WholeDaemon, 'ask'>, seconds: number) {
  const took = PATHS.map((path) => ({ path, times: [] as number[] }))
  for (const end = performance.now() + seconds * 1_000; performance.now() < end; ) {
    const next = performance.now() + 1_000
    for (const { path, times } of took) {
      const from = performance.now()
      await ask(path)
      times.push(performance.now() - from)
    }
    await pause(Math.max(0, next - performance.now()))
  }
  return took.map(({ path, times }) => {
    const sorted = [...times].sort((a, b) => a - b)
    return { path, p99: sorted[Math.floor((times.length - 1) * 0.99)] ?? Number.NaN }
  })
}
