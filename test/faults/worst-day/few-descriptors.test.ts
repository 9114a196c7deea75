import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { expect, test } from 'vitest'
import type { Daemon } from '../../support/daemon.ts'
import { connectAll, eventually, hubIdsOf } from '../../support/fleet.ts'
import { lookInto } from '../../support/look-into.ts'
import { sceneFor } from '../../support/scene.ts'
import { startRoughProvider } from './rough-provider.ts'

const openFiles = ({ child }: Daemon) => readdirSync(`/proc/${child.pid}/fd`).length

/** How many files the daemon may have open from now on; what is open stays open. */
function allow({ child }: Daemon, files: number): void {
  execFileSync('prlimit', ['--pid', String(child.pid), `--nofile=${files}:`])
}

/** Over a connection of its own, as a probe comes. */
function probe({ url }: Daemon): Promise<number | string | undefined> {
  return new Promise((resolve) => {
    const request = get(`${url}/healthz`, { agent: new Agent({ keepAlive: false }), timeout: 5_000 }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    request.on('timeout', () => request.destroy(new Error('timeout')))
    request.on('error', (error: NodeJS.ErrnoException) => resolve(error.code))
  })
}

test('a daemon that may open no more files lives, says so, keeps the config it has, blames no account, and makes up for it once it may', async (context) => {
  const scene = await sceneFor(context, { accounts: 10, tokenLifetimeMs: 24_000, rotateRefreshTokens: false })
  const rough = await startRoughProvider(scene.sandbox.url)
  context.onTestFinished(() => rough.stop())
  const daemon = await scene.daemon({
    provider: { baseUrl: rough.url },
    tokens: { refreshFrom: '30%', refreshBy: '50%' },
    limits: { every: '2s' },
  })
  const { statesOf, refreshedSince } = lookInto(() => scene)
  const hubIds = await hubIdsOf(scene.sandbox.url)
  await connectAll(daemon.url, hubIds)
  await refreshedSince(hubIds, 0)

  allow(daemon, 20)
  const since = daemon.lines.length
  const said = (pattern: RegExp) => daemon.line(pattern, since)
  // What is connected goes on; it is the next connection that fails.
  rough.hangUp()
  await said(/"files\.full".*EMFILE/)
  await said(/"(?:poll|token)\.transient".*may open no more files/)
  expect(await probe(daemon)).not.toBe(200)
  daemon.child.kill('SIGHUP')
  await said(/"config\.refused"/)
  expect(openFiles(daemon)).toBeGreaterThan(20)

  allow(daemon, 4_096)
  await said(/"files\.room"/)
  const room = Date.now()
  expect(await probe(daemon)).toBe(200)
  await refreshedSince(hubIds, room)
  await eventually('all well', async () => (await statesOf(daemon)).active === hubIds.length)
  daemon.child.kill('SIGHUP')
  await said(/"config\.reloaded"/)
  expect(daemon.lines.filter((line) => /"token\.(?:reauthorize|expired)"/.test(line))).toEqual([])
})
