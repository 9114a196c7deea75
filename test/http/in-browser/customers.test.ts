import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  axeFaults,
  type BrowserPages,
  LOOKS,
  openBrowserPages,
  screenshot,
  sidewaysScroll,
} from '../../support/browser-pages.ts'
import { redisOfFile } from '../../support/of-file.ts'
import { openLastingServer } from '../open-server.ts'

const redis = redisOfFile()

/** What a check of the config would refuse: here the browser has to. */
const SCRIPT = '<script>document.documentElement.setAttribute("data-ran", "1")</script>'
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="120" height="40" onload="this.setAttribute('data-ran', '1')">${SCRIPT}<rect width="120" height="40"/></svg>`

let server: Awaited<ReturnType<typeof openLastingServer>>
let pages: BrowserPages
beforeAll(async () => {
  const logo = { type: 'image/svg+xml', bytes: Buffer.from(SVG) }
  server = await openLastingServer(redis, { brand: { name: 'Acme Sync', logo, color: '#ffd400' } })
  pages = await openBrowserPages({ url: server.server.url })
})
afterAll(async () => {
  await pages?.close()
  await server?.close()
})

test.each(LOOKS)('a page for customers shows the logo and can be read on a $device, $colorScheme', async (look) => {
  const { page, faults } = await pages.visit('/oauth/callback?state=forged', look)
  expect(await page.getByRole('img', { name: 'Acme Sync' }).count()).toBe(1)
  expect(await page.evaluate('document.querySelector("img").naturalWidth')).toBe(120)
  expect(await sidewaysScroll(page)).toBe(0)
  expect([...faults, ...(await axeFaults(page))]).toEqual([])
  await screenshot(page, 'customers', look)
})

test('a logo that has a script runs none, opened as a page of its own', async () => {
  const { page, status } = await pages.visit('/assets/logo')
  expect(status).toBe(200)
  expect(await page.evaluate('document.documentElement.localName')).toBe('svg')
  expect(await page.evaluate('document.documentElement.hasAttribute("data-ran")')).toBe(false)
})
