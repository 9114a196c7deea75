import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { DemoFactsShape } from '../../src/views/shapes/installation.ts'
import { plimsollHere } from '../support/command.ts'
import { eventually, freePort, getJson } from '../support/fleet.ts'
import { faultsOf } from '../support/json-schemas.ts'
import { MAIN } from '../support/main.ts'

const ROOT = new URL('../../', import.meta.url).pathname

test('the demo does the whole main job, says so as JSON, and leaves nothing behind', async () => {
  const before = gitStatus()
  const demo = spawn('npm', ['run', '-s', 'demo', '--', '--for', '30s', '--json'], { cwd: ROOT })
  const [out, ended] = [text(demo.stdout), once(demo, 'close')]
  let err = ''
  demo.stderr.on('data', (data) => (err += data))
  const link = await eventually(
    'a link to the status page',
    async () => /http:\S+\/sign-in\?code=\S+/.exec(err)?.[0],
    60_000,
  )
  const followed = await fetch(link, { redirect: 'manual' })
  const cookie = followed.headers.get('set-cookie')?.split(';')[0] ?? ''
  const page = await fetch(new URL('/accounts', link), { headers: { cookie } })
  expect([followed.status, page.status]).toEqual([303, 200])
  expect((await fetch(new URL('/accounts', link))).status).toBe(401)

  expect(await ended, err).toEqual([0, null])
  const facts = JSON.parse(await out) as Record<string, number>
  expect(faultsOf(DemoFactsShape, facts)).toEqual([])
  expect(facts).toMatchObject({ accounts: 25, uninstalls: 1, tokensExpired: 0 })
  for (const what of ['refreshesPerAccountAtLeast', 'pollsPerAccountAtLeast', 'emails', 'webhooks']) {
    expect(facts[what], what).toBeGreaterThan(0)
  }
  expect(gitStatus()).toBe(before)
  expect(execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })).not.toContain('plimsoll-demo-')
})

function gitStatus(): string {
  return execFileSync('git', ['status', '--porcelain'], { cwd: ROOT, encoding: 'utf8' })
}

describe('plimsoll sandbox', () => {
  test('the sandbox runs by itself until it is told to stop', async () => {
    const args = [MAIN, 'sandbox', '--port', '0', '--smtp-port', '0', '--accounts', '3', '--token-lifetime', '20s']
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
    const [url = ''] = line.match(/http:\S+/) ?? []
    expect(await getJson<unknown[]>(`${url}/sandbox/accounts`)).toHaveLength(3)
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
  })

  test('a port that somebody else has is said to be in use, with the way out', async () => {
    const [taken, free] = [createServer(), await freePort()]
    await once(taken.listen(0, '127.0.0.1'), 'listening')
    const { port } = taken.address() as AddressInfo
    const folder = tmpdir()
    for (const ports of [
      ['--port', String(port), '--smtp-port', '0'],
      ['--port', String(free), '--smtp-port', String(port)],
    ]) {
      const ran = await plimsollHere(['sandbox', ...ports], folder)
      expect(ran).toMatchObject({ code: 1, out: '' })
      expect(ran.err).toMatch(new RegExp(`^plimsoll: 127\\.0\\.0\\.1:${port} is in use, .*--smtp-port.*\\n$`))
    }
    taken.close()
  })
})
