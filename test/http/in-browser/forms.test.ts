import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type BrowserPages, openBrowserPages, openChromium } from '../../support/browser-pages.ts'
import { redisOfFile } from '../../support/of-file.ts'
import { ADMIN_TOKEN } from '../open-server.ts'
import { badDay } from './scenes.ts'

const redis = redisOfFile()
let browser: Browser
beforeAll(async () => {
  browser = await openChromium()
})
afterAll(async () => {
  await browser?.close()
})

type World = Awaited<ReturnType<typeof badDay>>

async function openScene(): Promise<{ world: World; pages: BrowserPages }> {
  const world = await badDay(redis)
  const pages = await openBrowserPages({ url: world.server.url, token: ADMIN_TOKEN, within: browser })
  onTestFinished(() => pages.close())
  return { world, pages }
}

test('an alert is acknowledged, silenced, unsilenced and a delivery replayed, all by keyboard', async () => {
  const { world, pages } = await openScene()
  const { page, faults } = await pages.visit('/alerts')
  page.setDefaultTimeout(6_000)
  await page.locator('#account-1001 summary').press('Enter')
  await press(page, page.getByRole('link', { name: /^Acknowledge Custom properties of 1001/ }))
  await page.waitForURL(/\/alerts\/[0-9a-f]{16}\?account=1001#acknowledge$/)
  await page.getByRole('textbox', { name: 'Comment' }).focus()
  await page.keyboard.type('ann looks <b>into it')
  await page.keyboard.press('Enter')
  await page.waitForURL(/done=acknowledged/)
  expect(await page.getByRole('status').first().textContent()).toContain('Acknowledged')
  expect(await page.textContent('dl')).toContain('admin token, ends in 7 days ann looks <b>into it')

  await press(page, page.getByRole('main').getByRole('link', { name: 'Silence', exact: true }))
  await page.waitForURL(/\/silences\/new\?name=account&value=1001/)
  const values = page.getByLabel('Value')
  expect(await values.first().inputValue()).toBe('1001')
  await values.last().fill('high')
  await page.getByRole('textbox', { name: 'Why' }).focus()
  await page.keyboard.type('a planned import')
  await press(page, page.getByRole('button', { name: 'Silence', exact: true }))
  await page.getByText('no level is "high"').waitFor()
  expect(await page.getByRole('textbox', { name: 'Why' }).inputValue()).toBe('a planned import')
  await press(page, page.getByRole('button', { name: /^Remove row/ }).last())
  await page.getByText('1 open alert matches now.').waitFor()
  const rows = await values.count()
  await press(page, page.getByRole('button', { name: 'Add a row' }))
  await page.getByLabel('Value').nth(rows).waitFor()
  await page.getByLabel('Field').last().selectOption('level')
  await values.last().fill('*')
  // Counted as it is filled in, without a press of a button.
  await values.last().press('Tab')
  await page.getByText('1 open alert matches now.').waitFor()
  await page.getByRole('radio', { name: '24 hours' }).focus()
  await page.keyboard.press('Space')
  await press(page, page.getByRole('button', { name: 'Silence', exact: true }))
  await page.waitForURL(/\/silences\?done=silenced/)
  const [silence] = await world.silences.active(world.clock.now())
  expect(silence).toMatchObject({
    author: 'config',
    comment: 'a planned import',
    endsAt: world.clock.now() + 86_400_000,
  })

  await press(page, page.getByRole('button', { name: `End now ${silence?.id}` }))
  await page.waitForURL(/done=unsilenced/)
  expect(await world.silences.active(world.clock.now())).toEqual([])

  await pages.visit('/deliveries')
  await press(page, page.getByRole('button', { name: 'Retry now what ops-hook did not get' }))
  await page.waitForURL(/done=replayed/)
  expect(await page.getByRole('status').first().textContent()).toContain('Sent again')
  expect(await world.deps.deliveries.head('d-dead')).toMatchObject({ state: 'pending' })
  await press(page, page.getByRole('button', { name: 'Send a test to ops-hook' }))
  await page.waitForURL(/done=tested/)
  // What was typed wrong is answered 400, and the browser says so.
  expect(faults).toEqual([])
})

test('without JavaScript the same forms work', async () => {
  const { world, pages } = await openScene()
  const context = await pages.browser.newContext({ javaScriptEnabled: false })
  const page = await context.newPage()
  const { url } = world.server
  await page.goto(`${url}/deliveries`)
  await page.getByLabel('Admin token').fill(ADMIN_TOKEN)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(`${url}/deliveries`)
  await page.getByRole('button', { name: 'Retry now what ops-hook did not get' }).click()
  expect(await page.getByRole('status').first().textContent()).toContain('Sent again')
  await page.reload()
  expect(await page.getByRole('status').count()).toBe(0)
  await page.goto(`${url}/silences/new?name=account&value=1001`)
  await page.getByText('1 open alert matches now.').waitFor()
  await page.getByRole('button', { name: 'Add a row' }).click()
  await page.getByLabel('Field').last().selectOption('level')
  await page.getByLabel('Value').last().fill('critical')
  await page.getByRole('button', { name: 'Count matching alerts' }).click()
  await page.getByText('1 open alert matches now.').waitFor()
  expect(await page.getByLabel('Value').last().inputValue()).toBe('critical')
  await page.goto(`${url}/alerts`)
  await page.locator('#account-1002 summary').click()
  await page.getByRole('link', { name: /^Acknowledge Custom properties of 1002/ }).click()
  await page.getByRole('button', { name: 'Acknowledge' }).click()
  expect(await page.textContent('dl')).toContain('admin token, ends in 7 days')
  await page.getByRole('button', { name: 'Remove acknowledgement' }).click()
  expect(await page.getByRole('status').first().textContent()).toContain('The acknowledgement is removed')
  expect(await page.textContent('dl')).not.toContain('admin token, ends')
  await page.getByRole('button', { name: 'Sign out' }).click()
  expect(new URL(page.url()).pathname).toBe('/sign-in')
})

test("another server's page on this machine can send a form, cookie and all, and changes nothing", async () => {
  const { world, pages } = await openScene()
  const { page } = await pages.visit('/deliveries')
  const [csrf = ''] = await page
    .locator('form[action="/sign-out"] input[name=csrf]')
    .evaluateAll((all) => all.map((one) => one.getAttribute('value') ?? ''))
  const attack = createServer((_request, answer) => {
    answer
      .setHeader('content-type', 'text/html')
      .end(`<!doctype html><form method="post" action="${world.server.url}/deliveries/replay">
<input name="since" value="30d"><input name="csrf" value="${csrf}"></form><script>document.forms[0].submit()</script>
<iframe src="${world.server.url}/alerts"></iframe>`)
  })
  await new Promise<void>((resolve) => attack.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void attack.close())
  // A neighbouring port is the same site: the strict cookie comes along, and even the right token is not enough.
  const [, answer] = await Promise.all([
    page.goto(`http://127.0.0.1:${(attack.address() as AddressInfo).port}/`).catch(() => null),
    page.waitForResponse((one) => one.url().endsWith('/deliveries/replay')),
  ])
  expect((await answer.request().allHeaders()).cookie).toContain('plimsoll=')
  expect(answer.status()).toBe(403)
  expect(await world.deps.deliveries.countDead()).toBe(2)
})

/** By the keyboard alone: whatever has the focus is pressed. */
async function press(page: Page, target: ReturnType<Page['locator']>): Promise<void> {
  await target.focus()
  expect(await target.evaluate((one) => one === one.ownerDocument.activeElement)).toBe(true)
  await page.keyboard.press('Enter')
}
