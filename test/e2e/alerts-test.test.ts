import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { plimsollHere } from '../support/command.ts'
import { eventually, getJson, hooksOf, mailsOf, send } from '../support/fleet.ts'
import { openScene, type Scene } from '../support/scene.ts'

let scene: Scene
let config: string
let url: string

beforeAll(async () => {
  scene = await openScene({ accounts: 0 })
  url = (await scene.daemon()).url
  config = await scene.configFile()
})
afterEach(() => faults('DELETE'))
afterAll(() => scene.close())

const testOf = (...args: string[]) => plimsollHere(['alerts', 'test', ...args, '--config', config], scene.folder)
const faults = (method: 'POST' | 'DELETE', body?: object) => send(`${scene.sandbox.url}/sandbox/faults`, method, body)

interface Deliveries {
  receivers: { receiver: string; state: string }[]
  items: { receiver: string; type: string; outcome: string; answer: number | null; ms: number | null }[]
}
const deliveries = () => getJson<Deliveries>(`${url}/api/v1/deliveries`)

test('a test goes out at once, to a webhook and by mail, and is in the log of deliveries', async () => {
  expect(await testOf('ops-hook')).toMatchObject({
    code: 0,
    err: '',
    out: expect.stringMatching(/^ops-hook: delivered in /),
  })
  expect(await testOf('ops-mail')).toMatchObject({ code: 0, err: '', out: expect.stringContaining('answered 250') })
  const [hook] = await hooksOf(scene.sandbox.url)
  expect(hook?.body.type).toBe('alert.test')
  const [mail] = await mailsOf(scene.sandbox.url)
  expect(mail?.subject).toMatch(/^\[TEST\]/)
  expect((await deliveries()).items.slice(0, 2)).toMatchObject([
    { receiver: 'ops-mail', type: 'alert.test', outcome: 'delivered', answer: 250, ms: expect.any(Number) },
    { receiver: 'ops-hook', type: 'alert.test', outcome: 'delivered', ms: expect.any(Number) },
  ])
})

test('one that fails says why and what to do, and so does its JSON', async () => {
  await faults('POST', { endpoint: 'hooks', status: 401 })
  expect(await testOf('ops-hook')).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringMatching(/^plimsoll: ops-hook: answered 401: Unauthorized; check receivers\.ops-hook\.secrets/),
  })
  const { code, out } = await testOf('ops-hook', '--json')
  expect(code).toBe(1)
  expect(JSON.parse(out)).toMatchObject({ receiver: 'ops-hook', outcome: 'failed', answer: 401, noted: true })
  await eventually('the daemon lists it as failing', async () =>
    (await deliveries()).receivers.some(({ receiver, state }) => receiver === 'ops-hook' && state === 'failing'),
  )
})

test('one that arrives enables a receiver that was switched off', async () => {
  const store = scene.redis.connect()
  await store.hset('plimsoll:{delivery}:disabled', 'ops-hook', 'answered 410')
  expect(await testOf('ops-hook')).toMatchObject({ code: 0, out: expect.stringContaining('gets messages again') })
  await eventually('it delivers again', async () =>
    (await deliveries()).receivers.some(({ receiver, state }) => receiver === 'ops-hook' && state === 'delivers'),
  )
})

test('a name that no receiver has gets the one that was meant', async () => {
  expect(await testOf('ops-hok')).toMatchObject({
    code: 1,
    err: 'plimsoll: ops-hok: no receiver has this name, did you mean "ops-hook"?\n',
  })
})

test('without a Redis it goes out as well, and says that it was not noted', async () => {
  await scene.redis.end('SIGKILL')
  const { code, out } = await testOf('ops-hook')
  expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/delivered.*Redis does not answer\n$/) })
  await scene.redis.again()
})
