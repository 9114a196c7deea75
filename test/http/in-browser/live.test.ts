import { expect, onTestFinished, test } from 'vitest'
import { openBrowserPages } from '../../support/browser-pages.ts'
import { redisOfFile } from '../../support/of-file.ts'
import { ADMIN_TOKEN, openServer, openState, readings } from '../open-server.ts'

const redis = redisOfFile()

/** Five accounts near a limit; of one the alert is critical. */
async function openFleet() {
  const server = await openServer(redis)
  const { steps, keys, clock } = server
  const now = clock.now()
  for (const [n, usage] of [980, 910, 760, 640, 1_000].entries()) {
    const hubId = 990_000 + n
    await server.connectAccount({ hubId, hubDomain: `near-${n}.example.com` })
    const states = usage >= 800 ? { overall: openState(usage >= 950 ? 'critical' : 'warning', 'full', now) } : {}
    await server.poll(hubId, readings(now - n * 60_000, usage), states)
    await steps.zadd(keys.nearest, 200 - usage / 10, hubId)
  }
  const pages = await openBrowserPages({ url: server.server.url, token: ADMIN_TOKEN })
  onTestFinished(() => pages.close())
  return { ...server, ...pages }
}

test('what a page shows is kept up to date, without a load, a lost focus or a lost word', async () => {
  const { visit, clock, poll } = await openFleet()
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
  await page.waitForSelector('[role=status] >> text=3 critical, 1 with a warning')
  expect(faults).toEqual([])

  await page.route('**/', (route) => route.abort())
  await page.clock.runFor(11_000)
  await page.waitForSelector('.live-note')
  expect(await page.innerText('.live-note')).toMatch(/^Not up to date since \d\d:\d\d\.$/)
  await page.unroute('**/')
  await page.clock.runFor(11_000)
  await page.waitForSelector('.live-note', { state: 'hidden' })
})

test('a domain or a number in the search leads to its page', async () => {
  const { visit } = await openFleet()
  const { page, faults } = await visit('/')
  for (const typed of ['near-3.example.com', '990003']) {
    await visit('/')
    await page.locator('input[name=q]').fill(typed)
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/accounts\/990003$/)
  }
  expect(faults).toEqual([])
})
