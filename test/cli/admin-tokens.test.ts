import { afterAll, beforeAll, expect, test } from 'vitest'
import { createKeys } from '../../src/redis/keys.ts'
import { plimsollHere } from '../support/command.ts'
import { openScene, type Scene } from '../support/scene.ts'

/** Of an installation whose daemons stand still, under one encryption key after the other. */
let scene: Scene
let configs: { old: string; both: string; new: string }

beforeAll(async () => {
  scene = await openScene({ accounts: 1 })
  const [k1, k2] = [1, 2].map((n) => ({ id: `k${n}`, key: Buffer.alloc(32, n).toString('base64') }))
  const configFor = (...keys: unknown[]) => scene.configFile({ encryption: { keys } })
  configs = { old: await configFor(k1), both: await configFor(k2, k1), new: await configFor(k2) }
})
afterAll(() => scene.close())

const plimsoll = (config: string, ...args: string[]) => plimsollHere([...args, '--config', config], scene.folder)

test('tokens go on under another encryption key once it was taken over, and no record but ours is taken for a token', async () => {
  expect(await plimsoll(configs.old, 'admin-tokens', 'add', 'ann', '--scopes', 'read')).toMatchObject({ code: 0 })
  expect(await plimsoll(configs.both, 'keys', 'rekey')).toMatchObject({ code: 0 })
  const names = createKeys('plimsoll').adminTokens
  await scene.redis.connect().hset(names, 'eve', (await scene.redis.connect().hget(names, 'ann')) ?? '')

  const listed = await plimsoll(configs.new, 'admin-tokens', 'list', '--json')
  expect(JSON.parse(listed.out)).toMatchObject([
    { name: 'ann', ignored: false },
    { name: 'eve', ignored: true },
  ])
  const table = await plimsoll(configs.new, 'admin-tokens', 'list')
  expect(table.out).toMatch(/^eve +none: ignored/m)
  expect(table.out).toContain('was not sealed with a key of this installation')
  const { out } = await plimsoll(configs.new, 'doctor', '--json')
  expect(JSON.parse(out)).toContainEqual(
    expect.objectContaining({ name: 'admin-tokens', level: 'warn', detail: expect.stringContaining('1 of 2') }),
  )
  expect((await plimsoll(configs.new, 'admin-tokens', 'remove', 'eve')).out).toContain('eve is removed')
})
