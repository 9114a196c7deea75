import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { type Daemon, startDaemon } from '../support/daemon.ts'
import { connectAll, hubIdsOf } from '../support/fleet.ts'
import { expectNoDebugger } from '../support/no-debugger.ts'
import { openScene, type Scene } from '../support/scene.ts'

const ROOT = new URL('../../', import.meta.url).pathname
const SETUP = [join(ROOT, 'config/setup.mjs'), 'dist/src/main.js']
/** For set-up: a Node too old, beside which it starts the one of the packages. */
const OLD_NODE = "data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.0.0'})"

let scene: Scene
let daemon: Daemon | undefined
afterEach(async () => {
  await daemon?.stop()
  await scene.close()
})

test('SIGUSR1 opens no debugger in a daemon, however Node was started', async () => {
  scene = await openScene({ accounts: 1, tokenLifetimeMs: 4_000 })
  daemon = await startDaemon(await scene.configFile())
  await connectAll(daemon.url, await hubIdsOf(scene.sandbox.url))
  await expectNoDebugger(daemon, [daemon.child.pid ?? 0])
})

test.each([
  { by: 'this Node', old: [] },
  { by: 'the Node of the packages', old: ['--import', OLD_NODE] },
])('nor in one that npm start runs on $by', async ({ old }) => {
  scene = await openScene({ accounts: 0 })
  const file = await scene.configFile()
  daemon = await startDaemon(file, {}, [...old, ...SETUP])
  const { pid } = JSON.parse(await daemon.line(/"daemon\.started"/, 0)) as { pid: number }
  const pids = [...new Set([daemon.child.pid ?? 0, pid])]
  expect(pids).toHaveLength(old.length === 0 ? 1 : 2)
  await expectNoDebugger(daemon, pids)
})
