import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { DemoFactsShape } from '../../src/views/shapes/installation.ts'
import { eventually } from '../support/fleet.ts'
import { faultsOf } from '../support/json-schemas.ts'

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
