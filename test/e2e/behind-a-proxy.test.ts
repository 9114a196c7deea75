import { readFileSync, statSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Daemon } from '../support/daemon.ts'
import { connectAccount } from '../support/fleet.ts'
import { openScene, type Scene } from '../support/scene.ts'

/** A daemon that was started for the first time, by a config without any token, and a proxy that says nothing of itself. */
let scene: Scene
let daemon: Daemon
let proxyUrl: string
let endProxy = () => {}
const hubId = 1_000_001

beforeAll(async () => {
  scene = await openScene({ accounts: 1 })
  daemon = await scene.daemon({ http: { adminToken: undefined } })
  await connectAccount(daemon.url, hubId)
  const proxy = createServer((incoming, outgoing) => {
    const { host: _, connection: __, ...headers } = incoming.headers
    const { hostname, port } = new URL(daemon.url)
    // HTTP/1.1, the Host of the daemon itself, no header of a proxy: what nginx does by `proxy_pass` alone from 1.29.7 on.
    const onwards = request({ hostname, port, path: incoming.url, method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    incoming.pipe(onwards)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  endProxy = () => void proxy.close()
})
afterAll(async () => {
  endProxy()
  await scene.close()
})

const ASKED = [
  ['GET', '/'],
  ['GET', '/accounts'],
  ['GET', '/no-such-page'],
  ['POST', '/deliveries/replay'],
  ['GET', '/api/v1/accounts'],
  ['GET', `/api/v1/accounts/${hubId}/token`],
  ['POST', `/api/v1/accounts/${hubId}/uninstall`],
  ['POST', `/api/v1/accounts/${hubId}/refresh`],
  ['GET', '/metrics'],
] as const

test('a first start without any token in the config answers 401 to whoever has none, through a proxy and from this machine', async () => {
  for (const url of [proxyUrl, daemon.url]) {
    for (const [method, path] of ASKED) {
      expect([method, path, (await fetch(url + path, { method, redirect: 'manual' })).status]).toEqual([
        ...[method, path, 401],
      ])
    }
    for (const path of ['/healthz', '/readyz']) expect((await fetch(url + path)).status, path).toBe(200)
    expect((await fetch(`${url}/install`, { redirect: 'manual' })).status).toBe(302)
    expect((await fetch(`${url}/oauth/callback`)).status).toBe(400)
  }
})

test('and has made a token, for this user alone, that opens them: the log says where it is, never what it is', async () => {
  const file = join(scene.folder, 'data', 'admin-token')
  const token = readFileSync(file, 'utf8').trim()
  expect(token).toMatch(/^plm_[\w-]{43}$/)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const log = daemon.lines.join('\n')
  expect(log).toContain(`${daemon.url}/sign-in`)
  expect(log).toContain(file)
  expect(log).not.toContain(token)
  const answer = await fetch(`${proxyUrl}/api/v1/accounts/${hubId}/token`, {
    headers: { authorization: `Bearer ${token}` },
  })
  expect(await answer.json()).toMatchObject({ accessToken: expect.any(String) })
})
