import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BrowserPages, openBrowserPages } from '../support/browser-pages.ts'
import { type CrawledPage, crawl } from '../support/crawl.ts'
import { ADMIN_TOKEN, type HostileFleet, markOf, openHostileFleet, SOURCES } from './hostile-fleet.ts'

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

/** The pages; mails and commands: delivery/email/in-browser/rendered-mails.test.ts and cli/hostile-words.test.ts. */
let fleet: HostileFleet
let pages: BrowserPages
let crawled: CrawledPage[]

beforeAll(async () => {
  fleet = await openHostileFleet()
  pages = await openBrowserPages({ url: fleet.daemon.url, token: ADMIN_TOKEN })
  // The provider's page, and what ends in a file.
  crawled = await crawl(pages, ['/', ...ADDRESSES], { skip: /^\/install|\.csv\b|^\/api\// })
})
afterAll(async () => {
  await pages?.close()
  await fleet?.close()
})

test('no page runs, loads or attempts what a stranger wrote, nor shows what hides or reorders words', () => {
  expect(crawled.filter(({ faults }) => faults.length > 0).map(({ path, faults }) => ({ path, faults }))).toEqual([])
  expect(crawled.length).toBeGreaterThan(40)
  for (const path of ['/', '/accounts', '/upcoming', '/alerts', '/changes', '/deliveries', '/accounts/500']) {
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
