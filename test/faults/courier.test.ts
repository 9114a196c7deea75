import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, type TestContext, test } from 'vitest'
import { couriersIn, isAlive } from '../support/couriers.ts'
import { type Daemon, startDaemon } from '../support/daemon.ts'
import { connectAll, eventually, hubIdsOf, journalOf, send } from '../support/fleet.ts'
import { type Scene, sceneFor } from '../support/scene.ts'

/** Refresh tokens rotate: an answer that is not stored is an account that is lost. */
type Context = Pick<TestContext, 'onTestFinished'>

const KEY = Buffer.alloc(32, 7).toString('base64')

/** Ended before its scene is, however the test ends. */
async function start(
  { onTestFinished }: Context,
  scene: Scene,
  settings: Record<string, object>,
  env: Record<string, string> = {},
): Promise<Daemon> {
  const daemon = await startDaemon(await scene.configFile(settings), env)
  onTestFinished(async () => {
    if (daemon.child.exitCode === null && daemon.child.signalCode === null) await daemon.kill()
  })
  return daemon
}

/** A daemon with one account that has been refreshed, and the process id of its courier. */
async function atWork(context: Context, settings: Record<string, object> = {}, env: Record<string, string> = {}) {
  const scene = await sceneFor(context, { accounts: 1, tokenLifetimeMs: 4_000 })
  const daemon = await start(context, scene, settings, env)
  expect(couriersIn(daemon.lines)).toEqual([])
  await connectAll(daemon.url, await hubIdsOf(scene.sandbox.url))
  await daemon.line(/"courier\.started"/, 0)
  const [courier = 0] = couriersIn(daemon.lines)
  return { scene, daemon, courier }
}

/** The provider has given a new token, ended the old one, and takes its time to say so. */
async function answerOnItsWay({ sandbox }: Scene, delayMs: number): Promise<void> {
  await send(`${sandbox.url}/sandbox/faults`, 'POST', { endpoint: 'token', delayMs, after: true, times: 1 })
  const issued = sandbox.issuedTokens().length
  await eventually('a new token', async () => sandbox.issuedTokens().length > issued)
}

/** Another daemon refreshes the account twice, and no token it sends was ended before. */
async function isWell(context: Context, scene: Scene, settings: Record<string, object> = {}): Promise<void> {
  const { sandbox } = scene
  const grants = async () => (await journalOf(sandbox.url)).filter(({ endpoint }) => endpoint === 'token')
  const before = (await grants()).length
  const daemon = await start(context, scene, settings)
  await eventually('two more refreshes', async () => (await grants()).length >= before + 2)
  expect((await grants()).map(({ status }) => status)).toEqual((await grants()).map(() => 200))
  expect(daemon.lines.filter((line) => line.includes('token.interrupted'))).toEqual([])
  await daemon.stop()
}

test.concurrent.for<[string, Record<string, object>]>([
  ['on a Redis of its own', {}],
  ['on the embedded Redis, which is stopped by the one who leaves last', { redis: { url: undefined } }],
])('an answer that is on its way when the daemon is killed is stored, %s', async ([, settings], context) => {
  const { scene, daemon, courier } = await atWork(context, settings)
  await answerOnItsWay(scene, 2_000)
  await daemon.kill()
  expect(isAlive(courier)).toBe(true)
  await eventually('the courier has ended', async () => !isAlive(courier))
  expect(existsSync(join(scene.folder, 'data', 'redis', 'redis.sock'))).toBe(false)
  await isWell(context, scene, settings)
})

test.concurrent('a daemon that is told to stop waits for the answer that is on its way, and leaves nobody behind', async (context) => {
  const { scene, daemon, courier } = await atWork(context)
  await answerOnItsWay(scene, 1_500)
  expect(await daemon.stop()).toBe(0)
  expect(isAlive(courier)).toBe(false)
  expect(daemon.lines.filter((line) => /courier\.(?:late|ended)/.test(line))).toEqual([])
  await isWell(context, scene)
})

test.concurrent('a courier that is killed over an answer is told of, and another one goes on', async (context) => {
  const { scene, daemon, courier } = await atWork(context)
  await answerOnItsWay(scene, 2_000)
  const since = daemon.lines.length
  process.kill(courier, 'SIGKILL')
  await daemon.line(/"courier\.ended"/, since)
  await daemon.line(/"token\.interrupted"/, since)
  await daemon.line(/"courier\.started"/, since)
  expect(await daemon.stop()).toBe(0)
  expect(couriersIn(daemon.lines).filter(isAlive)).toEqual([])
})

test.concurrent('nothing of a courier that others can see holds a secret', async (context) => {
  const settings = { encryption: { keys: [{ id: 'k1', key: KEY }] }, log: { level: 'debug' } }
  const { scene, daemon, courier } = await atWork(context, settings, { A_SECRET_OF_THE_DAEMON: 'open-sesame' })
  const seen = ['cmdline', 'environ'].map((file) => readFileSync(`/proc/${courier}/${file}`, 'utf8'))
  expect(seen[0]).toContain('courier-process')
  expect(seen[1]).toContain('PATH=')
  const text = [...seen, ...daemon.lines].join('\n')
  const secrets = ['open-sesame', 'sandbox-client-secret', KEY, ...scene.sandbox.issuedTokens()]
  expect(secrets.filter((secret) => text.includes(secret))).toEqual([])
})
