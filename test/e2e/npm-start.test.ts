import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterEach, expect, test } from 'vitest'
import { startDaemon } from '../support/daemon.ts'
import { ask, eventually } from '../support/fleet.ts'
import { openScene, type Scene } from '../support/scene.ts'

const ROOT = new URL('../../', import.meta.url).pathname

let scene: Scene
afterEach(() => scene.close())

test('a signal to npm start reaches the daemon, which stops in good order', async () => {
  scene = await openScene({ accounts: 1 })
  const npm = spawn('npm', ['start', '--', '--config', await scene.configFile()], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines: string[] = []
  createInterface({ input: npm.stdout }).on('line', (line) => lines.push(line))
  const started = await eventually('the start', async () => lines.find((line) => line.includes('"daemon.started"')))
  const { url } = JSON.parse(started) as { url: string }
  const closed = once(npm, 'close')
  npm.kill('SIGTERM')
  await closed
  expect(lines.join('\n')).toContain('"daemon.stopped"')
  await expect(fetch(`${url}/healthz`)).rejects.toThrow()
})

test('a daemon that is started with one role does that part only, and says so', async () => {
  scene = await openScene({ accounts: 1 })
  const daemon = await startDaemon(await scene.configFile(), {}, undefined, ['--roles', 'worker'])
  const status = async (path: string) => (await ask(`${daemon.url}${path}`)).status
  expect(await status('/healthz')).toBe(200)
  expect(await status('/metrics')).toBe(200)
  expect(await status('/')).toBe(404)
  expect(await daemon.stop()).toBe(0)
})
