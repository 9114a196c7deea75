import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeState } from '../../../src/alerts/alert-state.ts'
import { type BrowserPages, LOOKS, openBrowserPages, screenshot } from '../../support/browser-pages.ts'
import { changePolls } from '../../support/changed-polls.ts'
import { redisOfFile } from '../../support/of-file.ts'
import { ADMIN_TOKEN, BEARER, openLastingServer, openState } from '../open-server.ts'
import { connectRichAccount, EXPLAIN } from './scenes.ts'

const PATHS = {
  account: '/accounts/4711?range=30d',
}

const redis = redisOfFile()
let pages: BrowserPages
let server: Awaited<ReturnType<typeof openLastingServer>>
beforeAll(async () => {
  server = await openLastingServer(redis, { explain: EXPLAIN })
  await connectRichAccount(server, 4711)
  const { steps, keys, clock } = server
  const open = openState('critical', 'full', clock.now() - 86_400_000)
  await steps.hset(keys.account(4711).alerts, 'overall', encodeState(open))
  pages = await openBrowserPages({ url: server.server.url, token: ADMIN_TOKEN })
})
afterAll(async () => {
  await pages.close()
  await server.close()
})

test('a chart is a picture with a name, as wide as there is room, beside its values', async () => {
  const { page } = await pages.visit(PATHS.account)
  const picture = page.getByRole('img', { name: 'Custom properties', exact: true })
  const figure = page.locator('figure').filter({ has: picture })
  expect(await figure.locator('figcaption').textContent()).toContain('960 of 1,000 properties, up 240 in 30 days.')
  expect((await picture.boundingBox())?.width).toBeGreaterThan(300)
})

test('whoever has no mouse gets to the numbers, to another range and to the page of a series', async () => {
  const { page, faults } = await pages.visit(PATHS.account)
  await page.locator('figure summary').first().focus()
  await page.keyboard.press('Enter')
  const rows = page.locator('figure').first().locator('tbody tr')
  expect(await rows.first().isVisible()).toBe(true)
  expect(await rows.filter({ hasText: 'no data' }).count()).toBe(1)
  await page.getByRole('link', { name: '7d', exact: true }).focus()
  await page.keyboard.press('Enter')
  await page.waitForURL(/range=7d#charts$/)
  expect(await page.locator('[aria-current=true]').textContent()).toBe('7d')
  await page.locator('figure h3 a').first().focus()
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/series\?id=overall&range=7d$/)
  expect(await page.locator('h1').textContent()).toBe('Custom properties, northwind-traders.example.com')
  expect(faults).toEqual([])
})

test('on a phone no range is broken in two', async () => {
  const { page } = await pages.visit(PATHS.account, LOOKS[0])
  const boxOf = (text: string) => page.getByRole('link', { name: text, exact: true }).boundingBox()
  const boxes = await Promise.all(['1h', '24h', '1y'].map(boxOf))
  // A line, as high as a finger needs.
  for (const box of boxes) expect(box?.height).toBeLessThan(50)
})

test('without scripts the page shows the same', async () => {
  const context = await pages.browser.newContext({ javaScriptEnabled: false, extraHTTPHeaders: BEARER })
  const page = await context.newPage()
  await page.goto(server.server.url + PATHS.account)
  expect(await page.locator('figure .plot').count()).toBe(2)
  await context.close()
})

test('without scripts its buttons work, and an uninstall is confirmed', async () => {
  const context = await pages.browser.newContext({ javaScriptEnabled: false })
  const page = await context.newPage()
  await server.connectAccount({ hubId: 4714, hubDomain: 'leaving.example.com' })
  await page.goto(`${server.server.url}/accounts/4714`)
  await page.getByLabel('Admin token').fill(ADMIN_TOKEN)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Poll now' }).click()
  expect(await page.getByRole('status').first().textContent()).toBe('Polled: its limits were read.')
  await page.getByRole('button', { name: 'Refresh now' }).click()
  expect(await page.getByLabel('Reconnect link').inputValue()).toContain('/install?account=4714&')
  expect(await page.getByRole('button', { name: 'Copy reconnect link' }).isVisible()).toBe(false)
  await page.getByText('More actions').click()
  await page.getByRole('link', { name: 'Uninstall' }).click()
  await page.getByRole('link', { name: 'Cancel' }).click()
  await page.getByText('More actions').click()
  await page.getByRole('link', { name: 'Uninstall' }).click()
  await page.getByLabel('Reason').fill('left us')
  await page.getByRole('button', { name: 'Uninstall' }).click()
  expect(await page.locator('.verdict').last().textContent()).toContain('Reason: left us.')
  await context.close()
})

test('the reconnect link is copied by keyboard', async () => {
  const { page, faults } = await pages.visit(PATHS.account)
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.getByText('More actions').click()
  await page.getByRole('button', { name: 'Copy reconnect link' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  const copied = await page.evaluate('navigator.clipboard.readText()')
  expect(copied).toBe(await page.getByLabel('Reconnect link').inputValue())
  expect(faults).toEqual([])
})

/** Cells of which a part can't be read; what only a screen reader reads is no part. */
const CUT = `[...document.querySelectorAll('td, td :not(.visually-hidden)')]
  .filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX !== 'visible')
  .map((one) => one.textContent)`
/** What is touched on its own, and is smaller than a fingertip. */
const SMALL = `[...document.querySelectorAll('main :is(button, summary, select, .button, .chips a, td:first-child a, label:has(> [type=checkbox]), input:not([type=hidden], [type=checkbox]))')]
  .filter((one) => one.checkVisibility() && one.getBoundingClientRect().height < 44)
  .map((one) => one.outerHTML)`

test('an account of 25 object types and four pairs is no longer than a look takes, on its worst day too', async () => {
  const { steps, keys, clock } = server
  const own = keys.account(4711)
  const before = await steps.hgetall(own.alerts)
  const heights = async (day: string) => {
    for (const look of LOOKS) {
      const { page, faults } = await pages.visit(PATHS.account, look)
      await screenshot(page, `account page ${day}`, look)
      expect(await page.locator('.limits tbody tr').count()).toBe(26 + 3 * 4)
      const height = (await page.evaluate('document.documentElement.scrollHeight')) as number
      expect(height, `${day}, ${look.device}`).toBeLessThanOrEqual(look.device === 'desktop' ? 2_200 : 4_300)
      expect(await page.evaluate(CUT)).toEqual([])
      if (look.device === 'phone') expect(await page.evaluate(SMALL)).toEqual([])
      expect(faults).toEqual([])
    }
  }
  await heights('any day')
  expect(await (await pages.visit(PATHS.account)).page.locator('#alerts summary').textContent()).toBe(
    '33 more limits: 29 OK, 4 unknown',
  )
  const { json } = await server.get('/api/v1/accounts/4711')
  for (const { id } of json.series) {
    const state = openState('warning', 'full', clock.now() - 7_200_000)
    const acknowledged = { by: 'ann', at: clock.now(), until: clock.now() + 3_600_000, usage: 1 }
    await steps.hset(own.alerts, id, encodeState({ ...state, acknowledged }))
  }
  const near = { is: 'near', series: 'type/0-2', usage: 93, limit: 100, level: 'warning', move: 'enter' } as const
  const because = { ...near, asks: 'percent', of: 95, since: clock.now() } as const
  const failure = 'the provider answered 500 to custom properties: Internal Server Error, request 4711'
  await changePolls(steps, keys, 4711, {
    turn: { regularAt: clock.now(), because },
    failing: { count: 3, reason: failure, at: clock.now(), since: 1 },
  })
  await heights('worst day')
  await changePolls(steps, keys, 4711, { turn: undefined, failing: undefined })
  await steps.del(own.alerts)
  await steps.hset(own.alerts, before)
})

test('the list of accounts has bars with their percent on one line, cuts nothing, and can be touched', async () => {
  for (const look of LOOKS) {
    const { page, faults } = await pages.visit('/accounts', look)
    await screenshot(page, 'accounts list', look)
    expect(await page.locator('.fullness .whole').first().textContent()).toMatch(/ %$/)
    const lines = await page.evaluate(
      `[...document.querySelectorAll('.whole')].filter((one) => one.checkVisibility()).map((one) => one.getClientRects().length)`,
    )
    expect(new Set(lines as number[])).toEqual(new Set([1]))
    expect(await page.evaluate(CUT)).toEqual([])
    if (look.device === 'phone') expect(await page.evaluate(SMALL)).toEqual([])
    expect(faults).toEqual([])
  }
})

test('the page of an alert has the chart of its series, in any range', async () => {
  const { page, faults } = await pages.visit(PATHS.account)
  await page.locator('.limits a[href^="/alerts/"]').first().click()
  await page.waitForURL(/\/alerts\/[0-9a-f]{16}\?account=4711$/)
  expect(await page.locator('.plot path.critical').count()).toBe(1)
  await page.getByRole('link', { name: '24h', exact: true }).click()
  await page.waitForURL(/account=4711&range=24h$/)
  expect(await page.locator('.plot').count()).toBe(1)
  await screenshot(page, 'alert with a chart', LOOKS[2])
  expect(faults).toEqual([])
})
