import { expect, test } from 'vitest'
import { reconnectLink } from '../../src/accounts/install.ts'
import type { Brand } from '../../src/http/brand.ts'
import { redisOfFile } from '../support/of-file.ts'
import { askServer, openServer } from './open-server.ts'

const redis = redisOfFile()

const SVG = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')
const BRAND: Brand = {
  name: 'Acme <Sync>',
  logo: { type: 'image/svg+xml', bytes: SVG },
  color: '#ffd400',
  support: 'help@acme.example.com',
}
const OWN = ['/assets/logo', '/assets/brand.css', 'Acme &lt;Sync&gt;', 'mailto:help@acme.example.com']

test('every page that a customer sees has the logo, the color and the name of the app, and nothing of Plimsoll', async () => {
  const { ask, beginInstall, deps, clock, provider } = await openServer(redis, { brand: BRAND })
  const bad = new URL(`http://x${reconnectLink(deps.connect.vault, '', 123, clock.now()).url}x`)
  const answers = [
    await ask('GET', `/oauth/callback?code=c&state=${await beginInstall()}`),
    await ask('GET', '/oauth/callback?error=access_denied&state=forged'),
    await ask('GET', bad.pathname + bad.search),
    await ask('POST', '/install'),
  ]
  provider.tokenFailure = { class: 'client', code: 'x', message: 'x', status: 400 }
  answers.push(await ask('GET', `/oauth/callback?code=c&state=${await beginInstall()}`))
  expect(answers.map(({ status }) => status)).toEqual([200, 403, 403, 405, 502])
  for (const { text } of answers) {
    expect(OWN.filter((part) => !text.includes(part))).toEqual([])
    expect(text.replace('/assets/plimsoll.css', '')).not.toMatch(/plimsoll|Status page/i)
    expect(text).toContain('<link rel="icon" href="/assets/logo" type="image/svg+xml">')
  }
})

test('while Redis is away customers get a page of the app that tries again, and no word of Redis', async () => {
  const { ask, deps } = await openServer(redis, { brand: BRAND })
  deps.store.disconnect()
  const { status, text } = await ask('GET', '/install')
  expect(status).toBe(503)
  expect(text).toContain('it tries again by itself in 10 seconds')
  expect(text).toContain('<meta http-equiv="refresh" content="10">')
  expect(text).not.toMatch(/Redis|Status page/)
  expect(OWN.filter((part) => !text.includes(part))).toEqual([])
})

test('pages of operators stay as they are', async () => {
  const { ask, signIn } = await openServer(redis, { brand: BRAND })
  const cookie = await signIn()
  for (const path of ['/sign-in', '/', '/accounts', '/nothing', '/acknowledge?account=1', '/guide']) {
    const { text } = await ask('GET', path, cookie)
    expect(OWN.filter((part) => text.includes(part))).toEqual([])
    expect(text).toContain(' · Plimsoll</title>')
    expect(text).toContain('/assets/mark.svg')
  }
})

test('without a logo the name is the head of the page; without a color the style sheet is not asked for', async () => {
  const { ask } = await openServer(redis, { brand: { name: 'Acme <Sync>' } })
  const { text } = await ask('GET', '/oauth/callback?state=forged')
  expect(text).toContain('<p><b>Acme &lt;Sync&gt;</b></p>')
  expect(text).not.toMatch(/assets\/(logo|brand)/)
  for (const path of OWN.slice(0, 2)) expect((await ask('GET', path)).status).toBe(401)
})

test('the logo is a picture and nothing else, wherever it is opened', async () => {
  const { server } = await openServer(redis, { brand: BRAND })
  const { status, headers, text } = await askServer(server.url, 'GET', '/assets/logo', {})
  expect([status, text]).toEqual([200, SVG.toString()])
  expect(headers).toMatchObject({
    'content-type': 'image/svg+xml',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; img-src data:; style-src 'unsafe-inline'; sandbox",
    'cross-origin-resource-policy': 'same-origin',
    'cache-control': 'public, max-age=300',
  })
})

test('bytes of a picture come as they are', async () => {
  const bytes = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0xff, 0xfe, 0x00])
  const { server } = await openServer(redis, { brand: { name: 'a', logo: { type: 'image/png', bytes } } })
  const answer = await fetch(`${server.url}/assets/logo`)
  expect(answer.headers.get('content-type')).toBe('image/png')
  expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true)
})

test('the edge of the page has the color, text keeps its own', async () => {
  const { ask } = await openServer(redis, { brand: BRAND })
  const { headers, text } = await ask('GET', '/assets/brand.css')
  expect(headers['content-type']).toBe('text/css; charset=utf-8')
  expect(text).toContain('border-top: 0.4rem solid #ffd400')
  expect(text).not.toContain('--accent')
})
