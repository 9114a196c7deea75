import { expect, onTestFinished, test } from 'vitest'
import { plimsoll } from '../support/command.ts'
import { startDaemon } from '../support/daemon.ts'
import { connectAll, eventually, hooksOf, hubIdsOf } from '../support/fleet.ts'
import { BEYOND, startForwardProxy } from '../support/forward-proxy.ts'
import { sceneFor } from '../support/scene.ts'

test('behind a proxy with a login the whole job is done through it; doctor names it, and no output has the login', async (context) => {
  const scene = await sceneFor(context, { accounts: 2, scenario: 'climbing' })
  const proxy = await startForwardProxy('us3r:s3cret')
  const env = {
    HTTP_PROXY: `http://us3r:s3cret@127.0.0.1:${proxy.port}`,
    // The environment of who runs the tests counts no more.
    http_proxy: '',
    https_proxy: '',
    no_proxy: '',
    NO_PROXY: '127.0.0.1',
  }
  const beyond = scene.sandbox.url.replace('127.0.0.1', BEYOND)
  const secrets = [Buffer.alloc(32, 1).toString('base64')]
  const config = await scene.configFile({
    provider: { baseUrl: beyond, insecure: true },
    heartbeat: { url: `${beyond}/ping`, every: '30s', insecure: true },
    receivers: {
      'ops-mail': { type: 'email', smtp: scene.sandbox.smtpUrl, from: 'a@b.example', to: ['ops@b.example'] },
      'ops-hook': { type: 'webhook', url: `${beyond}/sandbox/hooks`, secrets, insecure: true },
    },
  })
  const daemon = await startDaemon(config, env)
  onTestFinished(async () => void (await daemon.stop()))
  await connectAll(daemon.url, await hubIdsOf(scene.sandbox.url))
  await eventually('a webhook', async () => (await hooksOf(scene.sandbox.url)).length > 0)
  const passed = (pattern: RegExp) => proxy.seen.filter((one) => pattern.test(one)).length
  await eventually('refreshes', async () => passed(/^POST .*\/token$/) >= 4)
  expect(passed(/^GET .*\/limits\//)).toBeGreaterThan(0)
  expect(passed(/^POST .*\/sandbox\/hooks$/)).toBeGreaterThan(0)
  await eventually('a heartbeat', async () => passed(/^POST .*\/ping/) > 0)

  const doctor = await plimsoll(['doctor', '--config', config], scene.folder, env)
  const name = `http://127.0.0.1:${proxy.port} (HTTP_PROXY, with a login)`
  expect(doctor.out).toContain(`calls to ${new URL(beyond).host} go through ${name}`)
  expect(doctor.out).toMatch(/^ok +receiver\.ops-hook +.*the proxy http/m)
  const tested = await plimsoll(['alerts', 'test', 'ops-hook', '--config', config], scene.folder, env)
  expect(tested.out).toContain('ops-hook: delivered')
  expect([...daemon.lines, doctor.out, doctor.err].join('\n')).not.toContain('s3cret')

  // Where a daemon runs it would send the test, by its own environment.
  await daemon.stop()
  const without = { ...env, HTTP_PROXY: `http://127.0.0.1:${proxy.port}` }
  const refused = await plimsoll(['alerts', 'test', 'ops-hook', '--config', config], scene.folder, without)
  expect(refused.err).toContain('ops-hook: the proxy wants a login (407): put user and password into HTTP_PROXY')
})
