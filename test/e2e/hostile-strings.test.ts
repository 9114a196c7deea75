import { writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BrowserPages, openBrowserPages } from '../support/browser-pages.ts'
import { type CrawledPage, crawl } from '../support/crawl.ts'
import { ADMIN_TOKEN, type HostileFleet, markOf, openHostileFleet, readMails, SOURCES } from './hostile-fleet.ts'

/** Nothing is given up by an address either. */
const IN_ADDRESSES = `"><script>window.ran=1</script><img src=x onerror=window.ran=1>'`
const ADDRESSES = [
  `/accounts/${encodeURIComponent(IN_ADDRESSES)}`,
  `/accounts?q=${encodeURIComponent(IN_ADDRESSES)}`,
  `/accounts?state=${encodeURIComponent(IN_ADDRESSES)}`,
  `/accounts/500/series?id=${encodeURIComponent(IN_ADDRESSES)}`,
  `/accounts/500?range=${encodeURIComponent(IN_ADDRESSES)}`,
  `/alerts?level=${encodeURIComponent(IN_ADDRESSES)}`,
  `/nothing/${encodeURIComponent(IN_ADDRESSES)}`,
  `/acknowledge?account=1&alert=${encodeURIComponent(IN_ADDRESSES)}&until=1&signature=x`,
  `/oauth/callback?error=${encodeURIComponent(IN_ADDRESSES)}&error_description=${encodeURIComponent(IN_ADDRESSES)}`,
  `/oauth/callback?code=${encodeURIComponent(IN_ADDRESSES)}&state=${encodeURIComponent(IN_ADDRESSES)}`,
  `/sign-in?next=${encodeURIComponent(`javascript:window.ran=1//${IN_ADDRESSES}`)}`,
]

let fleet: HostileFleet
let pages: BrowserPages
let crawled: CrawledPage[]

beforeAll(async () => {
  fleet = await openHostileFleet()
  pages = await openBrowserPages({ url: fleet.daemon.url, token: ADMIN_TOKEN })
  // The provider's page, and what ends in a file.
  crawled = await crawl(pages, ['/', ...ADDRESSES], { skip: /^\/install|\.csv\b|^\/api\// })
}, 200_000)
afterAll(async () => {
  await pages?.close()
  await fleet?.close()
})

test('no page runs, loads or attempts what a stranger wrote, nor shows what hides or reorders words', () => {
  expect(crawled.filter(({ faults }) => faults.length > 0).map(({ path, faults }) => ({ path, faults }))).toEqual([])
  expect(crawled.length).toBeGreaterThan(40)
  for (const path of ['/', '/accounts', '/alerts', '/deliveries', '/accounts/500']) {
    expect(crawled.map((one) => one.path)).toContain(path)
  }
})

test('the words of every stranger are there, as text', () => {
  const all = crawled.map(({ text }) => text).join('\n')
  expect(SOURCES.filter((source) => !all.includes(markOf(source)))).toEqual([])
  for (const text of ['<script>', '"><', 'onerror=', 'javascript:window.ran', '{{constructor', '</title>']) {
    expect(all).toContain(text)
  }
})

test('no mail runs or asks for anything', async () => {
  const mails = await readMails(fleet.scene.sandbox.url)
  expect(mails.length).toBeGreaterThanOrEqual(8)
  const page = await pages.browser.newPage()
  const events: string[] = []
  page.on('request', (request) => events.push(`asked for ${request.url()}`))
  page.on('dialog', (dialog) => events.push(`said ${dialog.message()}`))
  page.on('pageerror', (error) => events.push(`failed with ${error.message}`))
  let shown = ''
  for (const { html } of mails) {
    await page.setContent(html, { waitUntil: 'load' })
    shown += (await page.evaluate(
      '(window.ran === undefined && document.title !== "ran" ? "" : "A SCRIPT RAN ") + document.body.innerText',
    )) as string
  }
  await page.close()
  expect(events).toEqual([])
  expect(shown).not.toContain('A SCRIPT RAN')
  for (const source of ['domain', 'label'] as const) expect(shown).toContain(markOf(source))
  expect(shown).toContain('<script>')
})

test('nothing that a command writes moves a cursor, colours a terminal or makes a line of its own', async () => {
  const lines = [
    ...['accounts list', 'alerts list', 'alerts log --since 7d', 'alerts silences', 'status', 'outbox verify'],
    ...['accounts show 500', 'alerts explain 500 --all', 'alerts explain 504', 'check --max 100'],
  ]
  const file = join(fleet.scene.folder, 'hostile.csv')
  writeFileSync(file, `hubId,refreshToken\n${IN_ADDRESSES}\u001b[31m,x\n7,\u0007\u202e${IN_ADDRESSES}\n`)
  let said = await fleet.command('accounts', 'import', file)
  expect(said).toContain('line 2')
  for (const line of lines) said += await fleet.command(...line.split(' '))
  expect(said).not.toMatch(/(?!\n)\p{Cc}|[\u2028\u2029\u202a-\u202e\u2066-\u2069\u200b]/u)
  for (const source of ['domain', 'label', 'silence', 'tokenError'] as const) expect(said).toContain(markOf(source))
})

test('the crawl sees what a page that trusts strangers lets through', async () => {
  const trusting: Server = createServer((_request, answer) => {
    answer.setHeader('content-type', 'text/html; charset=utf-8')
    answer.end(`<!doctype html><title>x</title><p>a\u202eb</p><a href="javascript:1">x</a><a href="/next">next</a>
      <b onclick="1">b</b><img src="/x.png" alt=""><script>window.ran = 1</script>`)
  })
  await new Promise<void>((resolve) => trusting.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(trusting.address() as AddressInfo).port}`
  const others = await openBrowserPages({ url, within: pages.browser })
  const [first, ...more] = await crawl(others, ['/'], { skip: /^$/ })
  await others.close()
  trusting.close()
  for (const expected of [
    'a has href=javascript:1',
    'b has onclick=1',
    'a img',
    'a script of its own',
    'a script ran',
  ]) {
    expect(first?.faults).toContain(expected)
  }
  expect(first?.faults).toContain('the character 202e')
  expect(more.map(({ path }) => path)).toEqual(['/next'])
})
