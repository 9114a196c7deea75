import { expect, test } from 'vitest'
import { startProcess } from './process.ts'
import { tlsEnvironment } from './tls-of-far-sides.ts'

test.concurrent.each([
  ['TLS', 'https', tlsEnvironment()],
  ['nothing around it', 'http', {}],
])('with %s a far side serves, and counts what came by itself', async (_, scheme, env) => {
  const provider = await startProcess('token-server.ts', [], env)
  const sizes = { BENCH_WARM_UP: '60', BENCH_ACCOUNTS: '100' }
  const loop = await startProcess('bare-loop.ts', [provider.firstLine], { ...env, ...sizes })
  await loop.stop()
  expect(Number(loop.firstLine)).toBeGreaterThan(0)
  expect(provider.firstLine).toMatch(new RegExp(`^${scheme}://`))
  expect(JSON.parse(await provider.ask())).toEqual({ refreshes: 160, polls: 0 })
  await provider.stop('at once')
})

test('the far side of a cycle speaks TLS, too', async () => {
  const provider = await startProcess('provider-server.ts', [], tlsEnvironment())
  expect(provider.firstLine).toMatch(/^https:/)
  expect(JSON.parse(await provider.ask())).toEqual({ refreshes: 0, polls: 0 })
  await provider.stop('at once')
})
