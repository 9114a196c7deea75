import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { DemoFactsShape } from '../../src/views/shapes/installation.ts'
import { run } from '../support/command.ts'
import { faultsOf } from '../support/json-schemas.ts'

const ROOT = new URL('../../', import.meta.url).pathname

test('the demo does the whole main job, says so as JSON, and leaves nothing behind', async () => {
  const before = gitStatus()
  const { code, out, err } = await run('npm', ['run', '-s', 'demo', '--', '--for', '30s', '--json'], ROOT)
  expect(code, err).toBe(0)
  const facts = JSON.parse(out) as Record<string, number>
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
