import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DaemonStore } from '../../../src/heartbeat/daemon-store.ts'
import { ROLES } from '../../../src/heartbeat/roles.ts'
import { type ListedAccount, seedListed } from '../../accounts/search/seed-listed.ts'
import { openBrowserPages } from '../../support/browser-pages.ts'
import { openChromium } from '../../support/chromium.ts'
import { redisOfFile } from '../../support/of-file.ts'
import { ADMIN_TOKEN, openServer, openState, readings } from '../open-server.ts'

const redis = redisOfFile()
let browser: Browser
beforeAll(async () => {
  browser = await openChromium()
})
afterAll(async () => {
  await browser?.close()
})

const MINUTE = 60_000

/** A fleet as it is on most days: nearly all well, some near a limit, a few in trouble. */
async function openFleet(count: number) {
  const server = await openServer(redis, { queueDepths: async () => QUEUES })
  const { steps, keys, clock } = server
  const now = clock.now()
  const fleet = Array.from({ length: count }, (_, n): ListedAccount => {
    const state = n % 97 === 5 ? 'failing' : n % 211 === 3 ? 'reauthorize' : 'active'
    return {
      ...{ hubId: 20_000_000 + n * 79, hubDomain: `${WORDS[n % WORDS.length]}-${n}.example.com`, state },
      refresh: now + ((n * 7_919) % (30 * MINUTE)),
      ...(state === 'reauthorize' ? {} : { poll: now + ((n * 104_729) % (360 * MINUTE)), readAt: now - MINUTE }),
    }
  })
  await seedListed(steps, keys, fleet)
  const daemons = new DaemonStore(steps, keys)
  await daemons.report({
    name: 'ops-1 pid 4711',
    version: '1.2.0',
    startedAt: now - 90_000_000,
    lastSeenAt: now - 4_000,
    config: 'f00d',
    roles: ROLES,
  })
  await daemons.report({
    name: 'ops-2 pid 815',
    version: '1.1.9',
    startedAt: now - 9_000_000,
    lastSeenAt: now - 400_000,
    config: 'f00d',
    roles: ROLES,
  })
  const near = [980, 910, 760, 640, 1_000]
  for (const [n, usage] of near.entries()) {
    const hubId = 990_000 + n
    await server.connectAccount({ hubId, hubDomain: `near-${n}.example.com` })
    const level = usage >= 950 ? 'critical' : 'warning'
    const states = usage >= 800 ? { overall: openState(level, 'full', now - n * 60 * MINUTE) } : {}
    await server.poll(hubId, readings(now - n * MINUTE, usage), states)
    await steps.zadd(keys.partition(keys.partitionOf(hubId)).nearest, 200 - usage / 10, hubId)
  }
  const pages = await openBrowserPages({ url: server.server.url, token: ADMIN_TOKEN, within: browser })
  return { ...server, ...pages }
}
const QUEUES = ['refresh-tokens', 'poll-limits', 'deliver'].map((queue, n) => {
  const oldestWaitingAt = n === 1 ? Date.parse('2026-11-21T09:59:40Z') : null
  return { queue, waiting: n === 1 ? 1_200 : 0, active: n, delayed: 0, failed: n === 2 ? 3 : 0, oldestWaitingAt }
})
const WORDS = ['acme', 'blue-river', 'cobalt', 'delta-foods', 'evergreen', 'fjord', 'granite-works']

const domains = (page: Page) => page.locator('tbody tr td:first-child').allInnerTexts()

test('an account is found among thousands, and its list is ordered and paged by keyboard alone', {
  timeout: 60_000,
}, async () => {
  const { visit, close } = await openFleet(3_000)
  try {
    const { page, faults } = await visit('/accounts')
    expect(await page.locator('nav[aria-label=States]').innerText()).toMatch(/all 3,005.*active 2,9\d\d.*failing 31/s)

    await page.focus('input[name=q]')
    await page.keyboard.type('FJORD-29')
    await page.keyboard.press('Enter')
    await page.waitForURL(/q=FJORD-29/)
    expect(await domains(page)).toEqual(FJORDS)
    await page.click('text=fjord-2903.example.com')
    await page.waitForURL(/\/accounts\/20229337$/)

    await visit('/accounts')
    await page.focus('th >> text=Domain')
    await page.keyboard.press('Enter')
    await page.waitForURL(/sort=domain/)
    expect((await domains(page)).slice(0, 3)).toEqual([
      'acme-0.example.com',
      'acme-1001.example.com',
      'acme-1008.example.com',
    ])
    expect(await page.getAttribute('th:has-text("Domain")', 'aria-sort')).toBe('ascending')
    await page.focus('a[rel=next]')
    await page.keyboard.press('Enter')
    await page.waitForURL(/after=/)
    const second = await domains(page)
    await page.click('a[rel=next]')
    await page.waitForSelector(`text=${second[0]}`, { state: 'detached' })
    await page.click('a[rel=prev]')
    await page.waitForSelector(`text=${second[0]}`)
    expect(await domains(page)).toEqual(second)
    // A bookmark shows the same.
    await page.reload()
    expect(await domains(page)).toEqual(second)

    await visit('/accounts?sort=nearest')
    expect((await domains(page)).slice(0, 5)).toEqual([4, 0, 1, 2, 3].map((n) => `near-${n}.example.com`))
    await page.click('nav[aria-label=States] >> text=failing')
    await page.waitForURL(/state=failing&sort=nearest/)
    await page.selectOption('select[name=alert]', 'critical')
    await page.click('button:text-is("Search")')
    await page.waitForURL(/alert=critical/)
    expect(await page.innerText('.nothing')).toContain('No account matches.')
    expect(faults).toEqual([])
  } finally {
    await close()
  }
})
const FJORDS = [292, 299, ...Array.from({ length: 14 }, (_, n) => 2_903 + 7 * n)].map((n) => `fjord-${n}.example.com`)

test('what a page shows is kept up to date, without a load, a lost focus or a lost word', {
  timeout: 60_000,
}, async () => {
  const { visit, close, clock, poll } = await openFleet(20)
  try {
    const { page, faults } = await visit('/accounts?q=near&sort=nearest')
    await page.clock.install()
    await page.reload()
    await page.evaluate('window.stillHere = true')
    await page.fill('input[name=q]', 'half a wo')
    await page.focus('text=near-3.example.com')
    clock.move(120_000)
    await page.clock.runFor(11_000)
    await page.waitForSelector('tbody >> text=2 min ago')
    expect(await page.inputValue('input[name=q]')).toBe('half a wo')
    expect(await page.evaluate('document.activeElement.innerText')).toBe('near-3.example.com')
    expect(await page.evaluate('window.stillHere')).toBe(true)

    await visit('/')
    await poll(990_003, readings(clock.now(), 990), { overall: openState('critical', 'full', clock.now()) })
    await page.clock.runFor(11_000)
    await page.waitForSelector('[role=status] >> text=3 critical alerts')
    expect(faults).toEqual([])

    await page.route('**/', (route) => route.abort())
    await page.clock.runFor(11_000)
    await page.waitForSelector('.live-note')
    expect(await page.innerText('.live-note')).toMatch(/^Not up to date since \d\d:\d\d\.$/)
    await page.unroute('**/')
    await page.clock.runFor(11_000)
    await page.waitForSelector('.live-note', { state: 'hidden' })
  } finally {
    await close()
  }
})
