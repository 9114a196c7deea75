import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, type TestContext, test } from 'vitest'
import { plimsoll } from '../../support/command.ts'
import { startDaemon, writeDaemonConfig } from '../../support/daemon.ts'
import { ask, customProperties, eventually, freePort, getJson } from '../../support/fleet.ts'
import { startRedis } from '../../support/redis-server.ts'
import { say } from '../../support/say.ts'

/** On a busy machine fewer show nearly as much: PLIMSOLL_ACCOUNTS=2000. */
const MANY = Number(process.env.PLIMSOLL_ACCOUNTS ?? 10_000)
const FEW = 40
const CALLBACKS = 200
const FEW_LIVE_MS = 20_000

/** A provider for as many accounts as ask, as cheap as can be: a token tells whose it is. Those up to FEW live short. */
async function startAnyProvider(context: TestContext) {
  const grants: { hubId: number; at: number }[] = []
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { url = '' } = request
      const hubId = Number(/(?:refresh|code|access)-(\d+)/.exec(body + url)?.[1] ?? 0)
      const answer = url.endsWith('/token') ? grant(hubId) : url.startsWith('/oauth/') ? about(hubId) : report(url)
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    })
  })
  const grant = (hubId: number) => {
    grants.push({ hubId, at: Date.now() })
    const life = hubId <= FEW ? FEW_LIVE_MS / 1_000 : 1_800
    return {
      access_token: `access-${hubId}`,
      refresh_token: `refresh-${hubId}`,
      expires_in: life,
      token_type: 'bearer',
    }
  }
  server.listen(0, '127.0.0.1')
  await eventually('the provider', async () => server.listening)
  context.onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, grants }
}

function about(hubId: number): object {
  return {
    hub_id: hubId,
    hub_domain: `${hubId}.example.com`,
    user: 'a@example.com',
    scopes: ['oauth', 'crm.objects.contacts.read'],
    expires_in: 1_000,
  }
}

function report(url: string): object {
  return url.endsWith('/custom-properties') ? customProperties(100) : { results: [] }
}

/** As a customer comes back from the provider's page. */
async function callBack(daemonUrl: string, hubId: number): Promise<number> {
  const install = await askAgain(`${daemonUrl}/install`)
  const page = new URL(install.headers.get('location') ?? '')
  const back = new URL(page.searchParams.get('redirect_uri') ?? '')
  back.search = new URLSearchParams({ code: `code-${hubId}`, state: page.searchParams.get('state') ?? '' }).toString()
  return (await askAgain(back.href)).status
}

/** As the page does by itself where the install has to wait. */
async function askAgain(address: string): Promise<Response> {
  for (;;) {
    const response = await fetch(address, { redirect: 'manual' })
    if (response.status !== 503) return response
    await response.arrayBuffer()
    await pause(Number(response.headers.get('retry-after') ?? 1) * 1_000)
  }
}

/** Of sorted times. */
function mostWithin(ms: number, times: readonly number[]): number {
  let most = 0
  let from = 0
  for (const [n, at] of times.entries()) {
    while (at - (times[from] as number) >= ms) from++
    most = Math.max(most, n - from + 1)
  }
  return most
}

test(`${MANY} accounts come at once, by import, while ${CALLBACKS} customers connect: no older token expires, pages answer`, async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-many-'))
  const redis = await startRedis(folder)
  const provider = await startAnyProvider(context)
  const config = writeDaemonConfig(folder, {
    sandboxUrl: provider.url,
    smtpUrl: 'smtp://127.0.0.1:9',
    redisUrl: redis.url,
    port: await freePort(),
    settings: {
      limits: { every: '15m', associations: [] },
      encryption: { keys: [{ id: 'k1', key: Buffer.alloc(32, 7).toString('base64') }] },
    },
  })
  const daemon = await startDaemon(config)
  context.onTestFinished(async () => {
    await daemon.stop()
    await redis.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  for (let hubId = 1; hubId <= FEW; hubId++) expect(await callBack(daemon.url, hubId)).toBe(200)

  const lines = Array.from({ length: MANY }, (_, n) => `${1_000 + n},refresh-${1_000 + n}`)
  writeFileSync(join(folder, 'fleet.csv'), ['hubId,refreshToken', ...lines].join('\n'))
  const begun = Date.now()
  const looks: number[] = []
  const looking = { on: true }
  const look = (async () => {
    while (looking.on) {
      const at = Date.now()
      const isThere = await ask(`${daemon.url}/`).then(
        async (page) => page.ok && (await page.text()) !== '',
        () => false,
      )
      looks.push(isThere ? Date.now() - at : Number.POSITIVE_INFINITY)
      await pause(250)
    }
  })()
  const imported = plimsoll(['accounts', 'import', join(folder, 'fleet.csv'), '--config', config], folder)
  const customers = Promise.all(Array.from({ length: CALLBACKS }, (_, n) => callBack(daemon.url, 500 + n)))
  expect(await customers).toEqual(Array.from({ length: CALLBACKS }, () => 200))
  const summary = `imported ${MANY.toLocaleString('en')}, kept 0, replaced 0, bad 0`
  expect(await imported).toMatchObject({ code: 0, out: expect.stringContaining(summary) })
  const active = async () =>
    (await getJson<{ accounts: { byState: { active: number } } }>(`${daemon.url}/api/v1/status`)).accounts.byState
      .active
  const all = FEW + CALLBACKS + MANY
  // One that was imported is active from then on, with a token once it had its first refresh.
  const haveTokens = () => new Set(provider.grants.map(({ hubId }) => hubId)).size
  await eventually('a token for each', async () => haveTokens() === all && (await active()) === all, 200_000)
  const seconds = Math.round((Date.now() - begun) / 1_000)
  // Of the older ones each came through its turn meanwhile, or has it now.
  await eventually('refreshes of the older accounts', async () => {
    const refreshed = new Set(provider.grants.flatMap(({ hubId, at }) => (hubId <= FEW && at > begun ? [hubId] : [])))
    return refreshed.size === FEW
  })
  looking.on = false
  await look

  const first = new Map(provider.grants.toReversed().map(({ hubId, at }) => [hubId, at]))
  const firstOfMany = [...first].flatMap(([hubId, at]) => (hubId >= 1_000 ? [at] : [])).sort((a, b) => a - b)
  const sorted = looks.toSorted((a, b) => a - b)
  const p95 = sorted[Math.floor(sorted.length * 0.95)] ?? 0
  say(
    `${all} accounts have a token after ${seconds} s, at most ${mostWithin(1_000, firstOfMany)} first ` +
      `refreshes in a second; the status page took ${sorted[Math.floor(sorted.length / 2)]} ms, 95 % within ${p95} ms`,
  )
  expect(p95).toBeLessThan(5_000)
  expect(daemon.lines.filter((line) => /"token\.(?:expired|transient|reauthorize)"/.test(line))).toEqual([])
})
