import { createHmac } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { plimsollHere } from '../support/command.ts'
import { type Daemon, startDaemon } from '../support/daemon.ts'
import { connectAccount } from '../support/fleet.ts'
import { openScene, type Scene } from '../support/scene.ts'

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>'

let scene: Scene
let daemon: Daemon
let file: string
beforeAll(async () => {
  scene = await openScene({ accounts: 2 })
  writeFileSync(join(scene.folder, 'logo.svg'), SVG)
  const brand = { name: 'Example App', logo: 'logo.svg', color: '#0b6e4f' }
  file = await scene.configFile({ http: { brand, afterInstall: 'https://app.example.com/connected' } })
  daemon = await startDaemon(file)
})
afterAll(async () => {
  await daemon.stop()
  await scene.close()
})

const page = async (path: string) => (await fetch(`${daemon.url}${path}`)).text()

test('a daemon shows the brand of its config to customers, and sends them on, signed by the client secret', async () => {
  expect(await page('/oauth/callback?state=forged')).toContain(
    '<img class="logo" src="/assets/logo" alt="Example App">',
  )
  expect(await page('/assets/logo')).toBe(SVG)
  expect(await page('/assets/brand.css')).toContain('border-top: 0.4rem solid #0b6e4f')

  const { status, headers } = await connectAccount(daemon.url, 1_000_001)
  expect(status).toBe(302)
  const to = new URL(headers.get('location') ?? '')
  expect(to.origin + to.pathname).toBe('https://app.example.com/connected')
  const { hubId, outcome, until, signature } = Object.fromEntries(to.searchParams)
  const text = `after-install:${hubId}:${outcome}:${until}`
  expect(text).toMatch(/^after-install:1000001:connected:\d{10}$/)
  expect(signature).toBe(createHmac('sha256', 'sandbox-client-secret').update(text).digest('base64url'))
})

test('a reload refuses a logo that is gone, and goes on showing the one that was read at the start', async () => {
  rmSync(join(scene.folder, 'logo.svg'))
  daemon.child.kill('SIGHUP')
  expect(JSON.parse(await daemon.line(/"config\.refused"/))).toMatchObject({ code: 'config.refused' })
  expect(await page('/assets/logo')).toBe(SVG)
  writeFileSync(join(scene.folder, 'logo.svg'), SVG)
  daemon.child.kill('SIGHUP')
  await daemon.line(/"config\.reloaded"/)
  expect(await page('/assets/logo')).toBe(SVG)
})

test('the config in force has the path of the logo, and no secret', async () => {
  const { code, out } = await plimsollHere(['config', 'print', '--config', file], scene.folder)
  expect(code).toBe(0)
  expect(parse(out).http).toMatchObject({
    brand: { name: 'Example App', logo: join(scene.folder, 'logo.svg'), color: '#0b6e4f' },
    afterInstall: 'https://app.example.com/connected',
  })
})
