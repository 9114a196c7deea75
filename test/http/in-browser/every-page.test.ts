import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { alertId } from '../../../src/alerts/alert-state.ts'
import {
  axeFaults,
  type BrowserPages,
  LOOKS,
  type Look,
  openBrowserPages,
  screenshot,
  sidewaysScroll,
} from '../../support/browser-pages.ts'
import { redisOfFile } from '../../support/of-file.ts'
import { ADMIN_TOKEN } from '../open-server.ts'
import { HOUR_MS, openWholeFleet } from './scenes.ts'

const redis = redisOfFile()
let server: Awaited<ReturnType<typeof openWholeFleet>>
let pages: BrowserPages
let paths: Readonly<Record<string, string>>
beforeAll(async () => {
  server = await openWholeFleet(redis)
  pages = await openBrowserPages({ url: server.server.url, token: ADMIN_TOKEN })
  const who = { name: 'ann.with-a-long-name@example.com', via: 'proxy', from: '2001:db8:1:2:3:4:5:6' } as const
  const detail = 'account=1001, series=customProperties.overall until 2026-11-21T12:00:00.000Z: a planned import'
  await server.deps.audit.note({ action: 'silence.added', who, hubId: 1001, subject: 's-4k7mp', detail })
  const { page } = await pages.visit('/alerts')
  expect(await page.textContent('header')).toContain('Sign out')
  const story = await page.locator('td a[href^="/alerts/"]', { hasText: 'custom properties' }).first()
  const openAlert = { hubId: 1002, alertId: alertId(1002, 'overall', server.clock.now() - HOUR_MS) }
  const link = server.deps.ackLinks.pathTo(openAlert, server.clock.now())
  paths = {
    fleet: '/',
    accounts: '/accounts',
    'accounts nearest': '/accounts?sort=nearest&order=desc',
    'accounts none': '/accounts?q=nobody&stale=1',
    'accounts failing': '/accounts?state=failing',
    account: '/accounts/4711?range=30d',
    'account for a year': '/accounts/4711?range=1y',
    'account of a stranger': '/accounts/4712',
    'account in trouble': '/accounts/20000158',
    series: '/accounts/4711/series?id=overall&range=30d',
    'series whose limit moved': '/accounts/4711/series?id=type%2F0-2&range=30d',
    alerts: '/alerts',
    'alerts none': '/alerts?level=critical&account=nobody',
    alert: (await story.getAttribute('href')) ?? '',
    silence: '/silences/new?name=account&value=1001&name=level&value=critical',
    silences: '/silences',
    'alert log': '/alerts/log',
    upcoming: '/upcoming',
    changes: '/changes?since=7d',
    deliveries: '/deliveries',
    audit: '/audit',
    'audit of none': '/audit?since=24h&who=nobody&action=keys.rekeyed',
    'sign in': '/sign-in',
    acknowledge: link,
    'acknowledge in vain': `${link}x`,
    installed: '/oauth/callback?code=c&state=forged',
    'install refused': '/oauth/callback?error=access_denied',
    nowhere: '/nothing',
    'no such account': '/accounts/9',
  }
})
afterAll(async () => {
  await pages?.close()
  await server?.server.close(1_000)
})

/** Made of the same as the page before: axe takes a second for a long one, and would say nothing new. */
const ALIKE = new Set(['accounts nearest', 'accounts failing', 'account for a year', 'series whose limit moved'])

/** Pictures are taken in all looks; between these two every width and every colour is seen. */
const looks = process.env.PLIMSOLL_SCREENSHOTS === undefined ? [LOOKS[0], LOOKS[3]] : LOOKS

test.each(looks)('every page is sound on a $device, $colorScheme', async (look) => {
  const faults: Record<string, unknown> = {}
  for (const [name, path] of Object.entries(paths)) {
    const visited = await pages.visit(path, look)
    const found = await faultsOf(visited.page, look)
    if (!ALIKE.has(name)) found.push(...(await axeOf(visited.page, look)))
    found.push(...visited.faults)
    if (found.length > 0) faults[`${name} (${visited.status})`] = found
    await screenshot(visited.page, name, look)
  }
  expect(faults).toEqual({})
})

test('what a form complains about is read out with its field', async () => {
  for (const look of looks) {
    const { page } = await pages.visit('/silences/new?name=level&value=high', look)
    await page.getByRole('textbox', { name: 'Why' }).fill('a planned import')
    await page.getByRole('button', { name: 'Silence', exact: true }).click()
    await page.getByText('no level is "high"').waitFor()
    expect([...(await faultsOf(page, look)), ...(await axeOf(page, look))]).toEqual([])
    await screenshot(page, 'silence refused', look)
    await pages.visit('/sign-in', look)
    await page.fill('input[name=token]', 'a guess')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Wrong admin token.').waitFor()
    expect([...(await faultsOf(page, look)), ...(await axeOf(page, look))]).toEqual([])
    await screenshot(page, 'sign in refused', look)
  }
})

test('the first stop of the keyboard leads past the menu, and what needs action to where it is done', async () => {
  const { page } = await pages.visit('/')
  await page.keyboard.press('Tab')
  expect(await page.locator(':focus').textContent()).toBe('Skip to the content')
  expect((await page.locator(':focus').boundingBox())?.y).toBeGreaterThanOrEqual(0)
  await page.keyboard.press('Enter')
  for (let links = await page.locator('.headline a').count(); links > 0; links--) await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  expect(await page.locator('.needs-action a:focus').count()).toBe(1)
  const lines = page.locator('.needs-action li')
  expect((await lines.allTextContents()).join()).toContain(' and 9 more accounts: refresh token refused')
  await lines.filter({ hasText: 'critical alerts' }).locator('a').press('Enter')
  await page.waitForURL(/\/alerts\?level=critical&mark=active$/)
})

/** Of the page as it is, opened up. */
async function faultsOf(page: Page, look: Look): Promise<string[]> {
  const found = (await page.evaluate(LOOK)) as string[]
  if ((await sidewaysScroll(page)) !== 0) found.push('it scrolls sideways')
  if (look.device === 'phone') found.push(...((await page.evaluate(SMALL)) as string[]))
  if (look.device === 'desktop') {
    // As wide as it is at 200 %.
    await page.setViewportSize({ width: look.width / 2, height: look.height })
    if ((await sidewaysScroll(page)) !== 0) found.push('it scrolls sideways at 200 %')
    await page.setViewportSize({ width: look.width, height: look.height })
  }
  return found
}

/** What is the same in every colour is looked at once. */
const axeOf = (page: Page, { colorScheme }: Look) =>
  axeFaults(page, colorScheme === 'dark' ? ['color-contrast'] : undefined)

/** Runs in the page: what axe takes for a trifle, or doesn't look at. */
const LOOK = `(() => {
  const found = []
  for (const details of document.querySelectorAll('details')) details.open = true
  const levels = [...document.querySelectorAll('h1, h2, h3, h4')].map((one) => Number(one.localName[1]))
  if (levels.filter((level) => level === 1).length !== 1) found.push('not one h1')
  if (levels.some((level, n) => n > 0 && level > levels[n - 1] + 1)) found.push('headings skip a level: ' + levels.join(' '))
  for (const text of document.querySelectorAll('.plot text')) {
    const pixels = Number.parseFloat(getComputedStyle(text).fontSize) * text.getCTM().d
    if (pixels < 11.5) found.push('words of ' + pixels + ' px in a chart')
  }
  for (const table of document.querySelectorAll('table')) if (!table.ariaLabel) found.push('a table without a name')
  for (const field of document.querySelectorAll('[aria-invalid]')) {
    if (document.getElementById(field.getAttribute('aria-describedby')) === null) found.push(field.name + ' does not say why')
  }
  const inputs = document.querySelectorAll('input:not([type=hidden]), select, textarea')
  for (const input of inputs) if (input.labels.length === 0) found.push(input.name + ' has no label')
  return found
})()`

/** Runs in the page: what a finger would miss. A link within a sentence may be as high as its line. */
const SMALL = `(() => {
  const targets = 'nav a, button, summary, select, input:not([type=hidden], [type=checkbox], [type=radio]), .button, ' +
    '.chips a, label:has(> [type=checkbox], > [type=radio]), td:first-child a'
  const box = (one) => one.getBoundingClientRect()
  return [...document.querySelectorAll(targets)]
    .filter((one) => one.checkVisibility() && box(one).width > 1 && Math.min(box(one).height, box(one).width) < 43.5)
    .map((one) => 'small: ' + one.outerHTML.slice(0, 120) + ' ' + Math.round(box(one).width) + 'x' + Math.round(box(one).height))
})()`
