import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { plimsollHere, run } from '../support/command.ts'
import { refreshTokenFor, send } from '../support/fleet.ts'
import { MAIN } from '../support/main.ts'
import { openScene, type Scene } from '../support/scene.ts'

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
    expect(csv.out).toMatch(/^hubId,hubDomain,state,user,connectedAt,sealedRefreshToken\n1234567,[^\n]*\n$/)
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
      err: 'plimsoll: standard input has 1 bad line; the others are in\n',
    })
    expect((await feed('')).err).toBe("plimsoll: standard input can't be imported: it is empty\n")
  })

  test('config check reads a file that is piped in', async () => {
    const check = (text: string) => plimsollHere(['config', 'check', '-'], scene.folder, { stdin: () => pipe(text) })
    expect(await check('treshold: 3\n')).toMatchObject({
      code: 1,
      out: expect.stringContaining('standard input:1:1 treshold: unknown'),
    })
    const piped = await run('sh', ['-c', `'${process.execPath}' '${MAIN}' config check - < '${config}'`], scene.folder)
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
    err: 'plimsoll: 1 of 1 account could not be read, or not all of it\n',
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
