import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { systemClock } from '../src/runtime/clock.ts'
import { startSandbox } from '../src/sandbox/sandbox.ts'
import { type BrowserPages, LOOKS, type Look, openBrowserPages, sidewaysScroll } from './support/browser-pages.ts'
import { startDaemon, writeDaemonConfig } from './support/daemon.ts'
import { ADMIN_TOKEN, connectAll, eventually, freePort, getJson, hubIdsOf, send } from './support/fleet.ts'

/**
 * `npm run screenshots -- FOLDER`: a daemon and a sandbox with a fleet in every state, then each page in each look as a
 * picture in FOLDER, with its height. `--only=status,account` takes these alone. `--readme` also makes the picture in the README anew.
 */
const README_PICTURE = new URL('../config/guide/status-page.png', import.meta.url).pathname
const args = process.argv.slice(2)
const folder = args.find((arg) => !arg.startsWith('--')) ?? 'screenshots'
const only = args
  .find((arg) => arg.startsWith('--only='))
  ?.slice(7)
  .split(',')
/** So that charts have a line, not a point. */
const RISES = 12
/** What is waited for ends as soon as it is there: on a busy machine that takes minutes. */
const PATIENCE_MS = 600_000

interface Fleet {
  sandboxUrl: string
  url: string
  hubIds: number[]
}

/** Of the accounts in the order of their ids; the others have alerts about their limits. */
const RICH = 0
const DEAD = 20
const NO_REFRESH = 21
const NO_POLL = 22
const NO_SCOPE = 23
const PAUSED = 24
const LEAVING = 25
const ACCOUNTS = 26

const TYPES = ['Contacts', 'Companies', 'Deals', 'Tickets', 'Subscriptions', 'Vehicles', 'Shipments', 'Courses']

const scene = mkdtempSync(join(tmpdir(), 'plimsoll-screenshots-'))
const sandbox = await startSandbox(
  {
    port: 0,
    smtpPort: 0,
    accounts: ACCOUNTS,
    tokenLifetimeMs: 20_000,
    rotateRefreshTokens: false,
    scenario: 'steady',
    clientId: 'sandbox-client-id',
    clientSecret: 'sandbox-client-secret',
  },
  systemClock,
)
const pairs = [
  { from: '0-1', to: '0-2' },
  { from: '0-2', to: '0-1' },
  { from: '0-1', to: '0-3' },
  { from: '0-3', to: '0-1' },
]
const settings = {
  limits: { every: '2s', associations: pairs, alertAfter: '5s' },
  thresholds: [
    { on: 'customProperties.overall', warning: { percent: 80 }, critical: { percent: 95 } },
    { on: 'customProperties.objectType', warning: { percent: 80 }, critical: { remaining: 10 } },
    { on: 'associations.atLimit', warning: { count: 1 } },
    { on: 'associations.fullest', warning: { percent: 90 }, critical: { percent: 100 } },
  ],
  alerts: { firstRun: 'digest', group: { wait: '2s', interval: '10s' } },
  http: { brand: { name: 'Example App' } },
  receivers: { customers: { type: 'email', smtp: sandbox.smtpUrl, from: 'app@example.com', to: 'account' } },
}
const port = await freePort()
const daemon = await startDaemon(
  writeDaemonConfig(scene, { sandboxUrl: sandbox.url, smtpUrl: sandbox.smtpUrl, port, settings }),
)
let pages: BrowserPages | undefined
try {
  pages = await openBrowserPages({ url: daemon.url, token: ADMIN_TOKEN, timeoutMs: PATIENCE_MS })
  const fleet = { sandboxUrl: sandbox.url, url: daemon.url, hubIds: await hubIdsOf(sandbox.url) }
  await take(pages, { 'status without accounts': '/' })
  await putInEveryState(fleet)
  if (args.includes('--readme')) await takeForReadme(pages)
  await take(pages, await pathsOf(fleet))
  await take(pages, { 'install connected': await approvedPath(daemon.url, fleet.hubIds[0] as number) })
  await send(`${sandbox.url}/sandbox/faults`, 'POST', {
    endpoint: 'token',
    status: 401,
    body: { error: 'invalid_client', status: 'BAD_CLIENT_SECRET', message: 'missing or invalid client secret' },
  })
  await waitUntil('an alert about all accounts', async () => {
    const { items } = await getJson<{ items: { kind: string }[] }>(`${daemon.url}/api/v1/alerts?limit=500`)
    return items.some(({ kind }) => kind === 'fleet')
  })
  await take(pages, { 'status in an outage': '/', 'alerts in an outage': '/alerts' })
} finally {
  await pages?.close()
  await daemon.stop()
  await sandbox.close()
  rmSync(scene, { recursive: true, force: true })
}

/** Connects all, lets usage rise, and breaks what can break for one account. */
async function putInEveryState(fleet: Fleet): Promise<void> {
  const { hubIds, sandboxUrl, url } = fleet
  const idOf = (n: number) => hubIds[n] as number
  await rise(fleet, 0)
  await connectAll(url, hubIds)
  const fault = (of: object) => send(`${sandboxUrl}/sandbox/faults`, 'POST', of)
  await send(`${url}/api/v1/accounts/${idOf(DEAD)}/contact`, 'PUT', { contact: 'ada@umber-and-oak.example.com' })
  await send(`${sandboxUrl}/sandbox/accounts/${idOf(DEAD)}`, 'DELETE')
  await fault({ endpoint: 'token', hubId: idOf(NO_REFRESH), status: 500 })
  await fault({ endpoint: 'associations', hubId: idOf(NO_POLL), status: 502 })
  await fault({ endpoint: 'customProperties', hubId: idOf(NO_SCOPE), status: 403 })
  await fault({ endpoint: 'token', hubId: idOf(PAUSED), status: 477, headers: { 'retry-after': '3600' } })
  await fault({ endpoint: 'hooks', status: 503 })
  await isRead(fleet, 0)
  for (let step = 1; step <= RISES; step++) {
    await rise(fleet, step)
    await isRead(fleet, step)
  }
  await send(`${url}/api/v1/accounts/${idOf(LEAVING)}/uninstall`, 'POST', { reason: 'the customer left' })
  await send(`${url}/api/v1/silences`, 'POST', {
    matchers: [{ name: 'account', value: String(idOf(5)) }],
    comment: 'migration until tomorrow',
    endsAt: new Date(Date.now() + 86_400_000).toISOString(),
  })
  for (const [n, state] of [
    [DEAD, 'reauthorize'],
    [NO_REFRESH, 'failing'],
    [PAUSED, 'parked'],
  ] as const) {
    const path = `${url}/api/v1/accounts/${idOf(n)}`
    await waitUntil(
      `a token in the state ${state}`,
      async () => (await getJson<{ state: string }>(path)).state === state,
    )
  }
  const alert = await waitUntil('a warning', async () => {
    const { items } = await getJson<{ items: { id: string }[] }>(`${url}/api/v1/alerts?level=warning&limit=1`)
    return items[0]
  })
  await send(`${url}/api/v1/alerts/${alert.id}/acknowledge`, 'POST', { comment: 'asked the customer' })
}

function waitUntil<T>(what: string, check: () => Promise<T | undefined | false>): Promise<T> {
  return eventually(what, check, PATIENCE_MS)
}

/** Until the daemon has read what a rise set: each is a point of the charts. */
async function isRead({ hubIds, url }: Fleet, step: number): Promise<void> {
  await waitUntil(`reading ${step}`, async () => {
    const path = `${url}/api/v1/accounts/${hubIds[RICH]}`
    const { series } = await getJson<{ series: { metric: string; usage: number }[] }>(path)
    return series.some(
      ({ metric, usage }) => metric === 'customProperties.overall' && usage === overallUsage(RICH, step),
    )
  })
}

function overallUsage(n: number, step: number): number {
  return n < 18 ? 7_600 + 110 * step + 60 * n : 3_000 + 40 * n + 5 * step
}

async function rise({ hubIds, sandboxUrl }: Fleet, step: number): Promise<void> {
  await Promise.all(
    hubIds.map(async (hubId, n) => {
      const isFull = n < 18
      const types = Array.from({ length: n === RICH ? 25 : 8 }, (_, place) => {
        const name = TYPES[place] ?? `Custom objects ${place + 1}`
        const near = isFull && place >= 1 && place <= 3
        const usage = near ? 780 + 8 * step + 15 * place + 4 * n : 40 + 7 * ((place * 13 + n) % 50) + step
        return typeReport(place < 4 ? ['0-1', '0-2', '0-3', '0-5'][place] : `2-${10_000_000 + place}`, name, usage)
      })
      const overall = overallUsage(n, step)
      const url = `${sandboxUrl}/sandbox/accounts/${hubId}`
      await send(`${url}/custom-properties`, 'PUT', {
        overallLimit: 10_000,
        overallUsage: overall,
        overallPercentage: overall / 100,
        byObjectType: types,
      })
      if (n < 8) await send(`${url}/associations/0-2/0-1`, 'PUT', pairReport(n, step))
    }),
  )
}

function typeReport(objectTypeId = '', label: string, usage: number) {
  return {
    objectTypeId,
    singularLabel: label.replace(/s$/, ''),
    pluralLabel: label,
    limit: 1_000,
    usage,
    percentage: usage / 10,
  }
}

function pairReport(n: number, step: number) {
  const near = Array.from({ length: 4 }, (_, place) => {
    const percentage = Math.min(99.9, 86 + place * 3 + step / 2)
    return {
      label: `Company ${n + 1}-${place + 1}`,
      objectId: 9_000 + place,
      percentage,
      usage: Math.round(percentage * 100),
    }
  })
  const atLimit = n < 4 ? [{ label: 'Globex Holding', objectId: 8_001 }] : []
  return {
    limit: 10_000,
    totalRecordsAtLimit: n < 4 ? 12 + step : 0,
    totalRecordsNearLimit: 40 + step,
    atLimitFromRecordSamples: atLimit,
    nearLimitFromRecordSamples: near,
  }
}

/** Every page, by a name for its picture. */
async function pathsOf({ url, hubIds }: Fleet): Promise<Record<string, string>> {
  const account = (n: number) => `/accounts/${hubIds[n]}`
  const firstAlert = async (query: string) => {
    const { items } = await getJson<{ items: { id: string }[] }>(`${url}/api/v1/alerts?limit=1&${query}`)
    return `/alerts/${items[0]?.id}`
  }
  return {
    status: '/',
    upcoming: '/upcoming',
    accounts: '/accounts',
    'accounts by usage': '/accounts?sort=nearest&order=desc',
    account: account(RICH),
    'account to reconnect': account(DEAD),
    'account whose refresh fails': account(NO_REFRESH),
    'account whose polls fail': account(NO_POLL),
    'account without scope': account(NO_SCOPE),
    'account paused': account(PAUSED),
    'account uninstalled': account(LEAVING),
    'account unknown': '/accounts/9',
    series: `${account(RICH)}/series?id=overall`,
    alerts: '/alerts',
    'alerts critical': '/alerts?level=critical',
    'alerts none': '/alerts?account=nothing',
    alert: await firstAlert(`account=${hubIds[DEAD]}`),
    'alert of a limit': await firstAlert('kind=limit&level=critical'),
    silence: `/silences/new?name=account&value=${hubIds[1]}&name=level&value=critical`,
    changes: '/changes',
    deliveries: '/deliveries',
    rules: '/rules',
    'sign in': '/sign-in',
    'install refused': '/oauth/callback?error=access_denied',
    'install forged': '/oauth/callback?code=c&state=forged',
    'not found': '/nothing',
  }
}

/** The address that HubSpot sends a customer back to, once they approved; the code in it soon expires. */
async function approvedPath(url: string, hubId: number): Promise<string> {
  const install = await fetch(`${url}/install`, { redirect: 'manual' })
  const page = `${install.headers.get('location')}&account=${hubId}`
  const approved = await fetch(page, { method: 'POST', redirect: 'manual' })
  const { pathname, search } = new URL(approved.headers.get('location') ?? '')
  return `${pathname}${search}`
}

/** The whole of each page; its height is what a reader scrolls through. */
async function take(browser: BrowserPages, paths: Record<string, string>): Promise<void> {
  mkdirSync(folder, { recursive: true })
  for (const [name, path] of Object.entries(paths).filter(([one]) => only?.includes(one) ?? true)) {
    for (const look of LOOKS) await takeOne(browser, name, path, look)
  }
}

async function takeOne(browser: BrowserPages, name: string, path: string, look: Look): Promise<void> {
  const { page, faults } = await browser.visit(path, look)
  const file = `${name} ${look.width} ${look.colorScheme}.png`.replaceAll(' ', '-')
  await draw(page, { path: join(folder, file), fullPage: true })
  const height = Number(await page.evaluate('document.documentElement.scrollHeight'))
  const aside = await sidewaysScroll(page)
  const notes = [...(aside > 0 ? [`${aside} px sideways`] : []), ...faults]
  process.stdout.write(`${file.padEnd(46)} ${String(height).padStart(6)} px  ${notes.join('; ')}\n`)
}

/** On a busy machine a browser may fail to draw a page; the next time it does. */
async function draw(page: Page, how: { path: string; fullPage?: boolean }): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await page.screenshot(how)
      return
    } catch (error) {
      if (attempt === 3) throw error
    }
  }
}

async function takeForReadme(browser: BrowserPages): Promise<void> {
  const { page } = await browser.visit('/')
  await draw(page, { path: README_PICTURE })
  process.stdout.write(`${README_PICTURE}\n`)
}
