import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { axeFaults, type BrowserPages, LOOKS, openBrowserPages, sidewaysScroll } from '../../support/browser-pages.ts'

/** A page with every fault that the harness has to see, under the policy of our own pages. */
const FAULTY = `<!doctype html><title>Faulty</title><link rel="stylesheet" href="/missing.css">
<h1 style="color: red">Faulty</h1><img src="/there.png"><img src="http://127.0.0.1:9/elsewhere.png" alt="">
<p onclick="x()">A handler</p><div class="wide"></div>
<script>inline = 1</script><script src="/faulty.js"></script>`
const SCRIPT = `console.error('said by the script'); alert('a dialog'); document.querySelector('.wide').style.width = '3000px'
document.querySelector('.wide').style.height = '1px'; throw new Error('thrown by the script')`
const POLICY = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'"

let faulty: Server
let pages: BrowserPages
beforeAll(async () => {
  faulty = createServer(({ url }, answer) => {
    if (url === '/missing.css' || url === '/there.png') answer.writeHead(404).end()
    else if (url === '/faulty.js') answer.setHeader('content-type', 'text/javascript').end(SCRIPT)
    else answer.setHeader('content-type', 'text/html').setHeader('content-security-policy', POLICY).end(FAULTY)
  })
  await new Promise<void>((resolve) => faulty.listen(0, '127.0.0.1', resolve))
  pages = await openBrowserPages({ url: `http://127.0.0.1:${(faulty.address() as AddressInfo).port}` })
})
afterAll(async () => {
  await pages.close()
  faulty.close()
})

test('a browser sees every fault of a page: scripts, requests, policy, accessibility, width', async () => {
  const { page, faults, status } = await pages.visit('/', LOOKS[0])
  expect(status).toBe(200)
  for (const expected of [
    /^console: said by the script/,
    /^script: thrown by the script/,
    /^dialog: a dialog/,
    /^failed: .*missing\.css 404/,
    /^CSP: script-src-elem inline/,
    /^CSP: script-src-attr inline/,
    /^CSP: style-src-attr inline/,
    /^CSP: img-src http:\/\/127\.0\.0\.1:9/,
  ]) {
    expect(faults).toContainEqual(expect.stringMatching(expected))
  }
  const axe = await axeFaults(page)
  expect(axe).toContainEqual(expect.stringContaining('image-alt'))
  expect(axe).toContainEqual(expect.stringContaining('html-has-lang'))
  expect(await sidewaysScroll(page)).toBeGreaterThan(2_000)
})
