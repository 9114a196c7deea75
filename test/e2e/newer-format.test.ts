import { afterAll, beforeAll, expect, test } from 'vitest'
import { FORMAT } from '../../src/redis/installation.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { plimsoll } from '../support/command.ts'
import { spawnDaemon } from '../support/daemon.ts'
import { eventually } from '../support/fleet.ts'
import { openScene, type Scene } from '../support/scene.ts'

/** Data of a version that is newer than this one. */
const KEY = createKeys('plimsoll').format
let scene: Scene
beforeAll(async () => {
  scene = await openScene({ accounts: 0 })
  await scene.redis.connect().set(KEY, FORMAT + 1)
})
afterAll(() => scene.close())

const stored = () => scene.redis.connect().keys('*')

test('a daemon says so and stops, having written nothing', async () => {
  const daemon = spawnDaemon(await scene.configFile())
  await daemon.line(/^plimsoll: Redis holds data of a newer Plimsoll/, 0)
  await eventually('its end', async () => daemon.child.exitCode !== null)
  expect(daemon.child.exitCode).toBe(1)
  expect(await stored()).toEqual([KEY])
})

test.each(['accounts list', 'status', 'doctor', 'keys rekey'])(
  '%s says so, having written nothing',
  async (command) => {
    const args = [...command.split(' '), '--config', await scene.configFile()]
    const { code, out, err } = await plimsoll(args, scene.folder)
    expect(code).toBe(1)
    expect(out + err).toContain('Redis holds data of a newer Plimsoll')
    expect(await stored()).toEqual([KEY])
  },
)
