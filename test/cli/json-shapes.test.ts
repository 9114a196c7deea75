import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import * as z from 'zod'
import { ProblemShape } from '../../src/http/problem-shape.ts'
import { OPERATIONS } from '../../src/operations/all-operations.ts'
import { describeCommands } from '../../src/operations/describe-commands.ts'
import { AnyObjectShape, DemoFactsShape } from '../../src/views/shapes/installation.ts'
import { listOf, type Shape } from '../../src/views/shapes/words.ts'
import { helpTexts, plimsollHere, type Ran } from '../support/command.ts'
import { customProperties, refreshTokenFor, send } from '../support/fleet.ts'
import { faultsOf } from '../support/json-schemas.ts'
import { openScene, type Scene } from '../support/scene.ts'

/** No daemon is at work here: accounts are connected and polled by commands alone. */
const [ACME, GLOBEX, INITECH] = ['1', '2', '3'] as const

let scene: Scene
let config: string
let worse: string
let broken: string

beforeAll(async () => {
  scene = await openScene({ accounts: 0, tokenLifetimeMs: 600_000 })
  const settings = {
    provider: { accountRate: { requests: 1_000, per: '10s' } },
    limits: { every: '15m', associations: [{ from: '0-1', to: '0-2' }] },
  }
  const rules = (percent: number) => [{ on: 'customProperties.*', warning: { percent }, critical: { percent: 95 } }]
  worse = await scene.configFile({ ...settings, thresholds: rules(5) })
  config = await scene.configFile({ ...settings, thresholds: rules(80) })
  broken = join(scene.folder, 'broken.yaml')
  writeFileSync(broken, 'provider: { clientId: 7, treshold: 1 }\n')
  for (const hubId of [ACME, GLOBEX, INITECH]) {
    await send(`${scene.sandbox.url}/sandbox/accounts`, 'POST', {
      hubId: Number(hubId),
      hubDomain: `d${hubId}.example.com`,
    })
  }
  await send(`${scene.sandbox.url}/sandbox/accounts/1/custom-properties`, 'PUT', customProperties(960))
})
afterAll(() => scene.close())

const plimsoll = (...args: string[]) => plimsollHere([...args, '--config', config], scene.folder)

const FINDING = z.object({
  name: z.string(),
  level: z.enum(['ok', 'warn', 'fail']),
  detail: z.string(),
  fix: z.string().exactOptional(),
})
const PROBLEMS = z.array(
  z.object({
    path: z.string(),
    message: z.string(),
    line: z.int().exactOptional(),
    column: z.int().exactOptional(),
  }),
)
const CHECKED_CONFIG = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), notices: PROBLEMS }),
  z.object({ ok: z.literal(false), problems: PROBLEMS }),
])

/** Shapes of commands of this machine, and of what is printed in another shape than the API's. */
const OWN_SHAPES: Readonly<Record<string, Shape>> = {
  demo: DemoFactsShape,
  doctor: listOf(FINDING),
  'config check': CHECKED_CONFIG,
  'config schema': AnyObjectShape,
  'config print': AnyObjectShape,
  'accounts export': z.object({ exported: z.int().min(0), file: z.string() }),
}
const COMMANDS = describeCommands(OPERATIONS)
/** Commands that print JSON. */
const JSON_COMMANDS = [...new Set([...Object.keys(OWN_SHAPES), ...COMMANDS.map(({ name }) => name)])]

/** A whole list is an array. */
function faultsIn(command: string, json: unknown): string[] {
  const own = OWN_SHAPES[command]
  if (own !== undefined) return faultsOf(own, json)
  const operation = OPERATIONS.find((one) => one.command?.name === command)
  if (operation === undefined) throw new Error(`${command} has no shape`)
  const isList = COMMANDS.some(({ name, isList }) => name === command && isList)
  return faultsOf(operation.output, isList ? { items: json } : json)
}

/** What was validated, for the test at the end. */
const validated = new Set<string>()

/** Runs it, and holds what it printed to its schema. */
async function told(command: string, args: readonly string[] = [], code = 0, ran?: Ran) {
  const { out, err, code: ended } = ran ?? (await plimsoll(...command.split(' '), ...args, '--json'))
  // Work of over two seconds, as on a busy machine, shows its progress.
  const said = err.replaceAll(/^.* (so far|a second|left)\n|^plimsoll: (Keep it|it connects).*\n/gm, '')
  expect({ command, args, code: ended, err: code === 0 ? said : '' }).toEqual({ command, args, code, err: '' })
  const json = JSON.parse(out)
  const faults = json.type?.startsWith?.('urn:') ? faultsOf(ProblemShape, json) : faultsIn(command, json)
  expect(faults, `${command} ${args.join(' ')}: ${out.slice(0, 2_000)}`).toEqual([])
  validated.add(command)
  return json
}

const tokenFile = async (hubId: string) => {
  const file = join(scene.folder, `token-${hubId}.txt`)
  writeFileSync(file, await refreshTokenFor(scene.sandbox.url, Number(hubId)))
  return file
}

test('accounts: connected, imported, polled, refreshed, shown, exported, uninstalled', async () => {
  expect(await told('accounts connect', ['--refresh-token-file', await tokenFile(ACME)])).toMatchObject({
    hubId: 1,
    hubDomain: 'd1.example.com',
    state: 'active',
    outcome: 'connected',
  })
  const fleet = join(scene.folder, 'fleet.csv')
  const token = await refreshTokenFor(scene.sandbox.url, Number(GLOBEX))
  writeFileSync(fleet, `hubId,refreshToken\n${GLOBEX},${token}\nnonsense,\n`)
  expect(await told('accounts import', [fleet], 1)).toMatchObject({ imported: 1, bad: 1, badLines: [{ line: 3 }] })
  expect(await told('accounts poll', [ACME])).toMatchObject([{ hubId: 1, state: 'active', outcome: 'read' }])
  expect(await told('accounts poll', [ACME, '42'], 1)).toMatchObject([
    { outcome: 'read' },
    { hubId: 42, state: null, outcome: 'failed' },
  ])
  expect((await plimsoll('accounts', 'poll', '42')).err).toContain('there is no account 42')
  expect(await told('accounts reconnect-link', ['d1.example.com'])).toMatchObject({ hubId: 1 })
  expect(await told('accounts contact', ['d1.example.com', 'ada@d1.example.com'])).toEqual({
    hubId: 1,
    contact: 'ada@d1.example.com',
  })
  expect(await told('accounts contact', [ACME])).toEqual({ hubId: 1, contact: 'ada@d1.example.com' })
  expect(await told('accounts contact', [ACME, '--remove'])).toEqual({ hubId: 1, contact: null })
  expect(await told('accounts refresh', [ACME])).toMatchObject({ hubId: 1, state: 'active', outcome: 'refreshed' })
  for (const account of await told('accounts list')) {
    expect(account).toMatchObject({
      hubId: expect.any(Number),
      hubDomain: expect.any(String),
      state: expect.any(String),
    })
  }
  expect((await told('accounts show', [ACME])).series).toHaveLength(5)
  expect((await told('accounts history'))[0].items).toHaveLength(1)
  expect(await told('accounts export', ['out.csv'])).toMatchObject({ exported: 2 })
  await told('accounts connect', ['--refresh-token-file', await tokenFile(INITECH)])
  expect(await told('accounts uninstall', [INITECH])).toEqual({ hubId: 3, state: 'uninstalling', outcome: 'begun' })
  expect(await told('accounts uninstall', [INITECH])).toMatchObject({ hubId: 3, outcome: 'already' })
  await told('accounts show', [INITECH])
})

test('alerts: open, logged, explained, acknowledged, silenced, tested', async () => {
  const [{ id }] = await told('alerts list')
  expect(await told('alerts log')).toMatchObject([{ alert: { level: 'critical' }, fate: 'pending' }])
  const { counts, items } = await told('changes', ['--since', '1h'])
  expect(counts).toMatchObject({ entered: 1, connected: 2, uninstalled: 1, lost: 0 })
  expect(await told('upcoming')).toMatchObject({ accounts: 0, items: [], forecasts: false })
  expect(items.find(({ change }: { change: string }) => change === 'entered')).toMatchObject({
    change: 'entered',
    from: 'ok',
    to: 'critical',
    account: { hubId: 1 },
  })
  expect((await told('alerts explain', [ACME])).series[0]).toMatchObject({ id: 'overall', because: { is: 'holds' } })
  const silence = await told('alerts silence', ['--match', 'account=1', '--for', '2h', '--comment', 'x'])
  expect(await told('alerts silences')).toEqual([silence])
  expect((await told('alerts list'))[0]).toMatchObject({ silencedBy: silence.id })
  await told('alerts explain', [ACME])
  expect(await told('alerts unsilence', [silence.id])).toMatchObject({ outcome: 'ended' })
  expect(await told('alerts unsilence', [silence.id])).toMatchObject({ outcome: 'over' })
  expect(await told('alerts silences', ['--all'])).toMatchObject([{ active: false }])
  expect(await told('alerts ack', [id, '--comment', 'on it'])).toMatchObject({ hubId: 1, outcome: 'acknowledged' })
  expect(await told('alerts ack', [id])).toMatchObject({ outcome: 'already' })
  expect(await told('alerts unack', [id])).toMatchObject({ hubId: 1, outcome: 'withdrawn' })
  expect(await told('alerts unack', [id])).toMatchObject({ outcome: 'not-acknowledged' })
  expect((await told('alerts list'))[0]).not.toHaveProperty('acknowledged')
  expect(await told('alerts ack', [id, '--comment', 'on it'])).toMatchObject({ outcome: 'acknowledged' })
  expect((await told('alerts explain', [ACME])).series[0].acknowledged).toMatchObject({ comment: 'on it' })
  expect(await told('alerts test', ['ops-hook'])).toMatchObject({ outcome: 'delivered', noted: true })
})

test('what the fleet is like: status, check, outbox, plan, doctor', async () => {
  expect((await told('status')).alerts).toMatchObject({ critical: 0, handled: 1, worst: [] })
  const [{ id }] = await told('alerts list')
  await told('alerts unack', [id])
  expect((await told('status')).alerts).toMatchObject({ critical: 1, handled: 0, worst: [{ id }] })
  expect(await told('check', [], 2)).toMatchObject({ status: 'critical', exitCode: 2 })
  expect((await told('check', ['--all', ACME, '77'], 2)).accounts).toHaveLength(2)
  expect(await told('outbox verify')).toMatchObject({ balanced: true, inOutbox: 1 })
  expect(await told('outbox replay', ['--since', '2h'])).toEqual({ replayed: 0, disabled: [] })
  const plan = await told('thresholds plan', [worse])
  expect(plan).toMatchObject({ accounts: [{ hubId: 1, changes: [{ move: 'warning' }] }] })
  expect(await told('thresholds plan', [broken], 1)).toMatchObject({ status: 400 })
  expect((await told('doctor')).length).toBeGreaterThan(5)
  const ran = await plimsollHere(['doctor', '--json', '--config', broken], scene.folder)
  expect((await told('doctor', [], 1, ran))[0]).toMatchObject({ level: 'fail', fix: expect.any(String) })
})

test('a check that can not be done says why in the same shape', async () => {
  const away = join(scene.folder, 'away.yaml')
  writeFileSync(away, readFileSync(config, 'utf8').replace(scene.redis.url, 'redis://127.0.0.1:1'))
  const ran = await plimsollHere(['check', '--json', '--config', away], scene.folder)
  expect(await told('check', [], 3, ran)).toMatchObject({ status: 'unknown', error: expect.any(String) })
})

test('the config, keys and admin tokens', async () => {
  expect(await told('config check')).toMatchObject({ ok: true })
  expect(await told('config check', [broken], 1)).toMatchObject({ ok: false })
  expect(await told('config print')).toMatchObject({ provider: expect.any(Object) })
  const schema = await plimsollHere(['config', 'schema', '--json'], scene.folder)
  expect(await told('config schema', [], 0, schema)).toMatchObject({ type: 'object' })
  expect(await told('admin-tokens add', ['ann', '--scopes', 'read,write'])).toMatchObject({ scopes: ['read', 'write'] })
  expect(await told('admin-tokens list')).toMatchObject([{ name: 'ann', lastUsedAt: null }])
  expect(await told('admin-tokens remove', ['ann'])).toEqual({ name: 'ann', outcome: 'removed' })
  expect(await told('keys rekey')).toMatchObject({ outcome: 'clean' })
  const audit = await told('audit list', ['--since', '1h'])
  // All that the commands of this file did, the newest first; those of one millisecond in any order.
  const did = ['keys.rekeyed', 'admin-token.removed', 'admin-token.added', 'receiver.tested', 'alert.unacknowledged']
  const more = ['silence.added', 'silence.ended', 'account.uninstalled', 'account.connected', 'accounts.exported']
  const first = ['account.refreshed', 'account.contact', 'reconnect-link.made', 'account.polled', 'accounts.imported']
  const actions = audit.map(({ action }: { action: string }) => action)
  expect(new Set(actions)).toEqual(new Set([...did, ...more, ...first, 'alert.acknowledged']))
  expect(audit[0]).toMatchObject({ action: 'keys.rekeyed', via: 'command', who: expect.stringMatching(/./) })
  expect(JSON.stringify(audit)).not.toMatch(/ada@|plm_|refresh-token/)
})

/** Operations: test/operations/; `demo` starts a daemon: test/e2e/demo.test.ts holds what it prints to its schema. */
const ELSEWHERE: readonly string[] = ['demo']

test('every command with --json has a schema, and what it printed was held to it', async () => {
  const withJson = (await helpTexts()).filter(({ text }) => /^ +--json /m.test(text)).map(({ path }) => path.join(' '))
  expect(withJson.toSorted()).toEqual([...JSON_COMMANDS].toSorted())
  expect([...new Set([...validated, ...ELSEWHERE])].toSorted()).toEqual([...JSON_COMMANDS].toSorted())
})
