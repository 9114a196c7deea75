import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { TABLE_TYPE } from '../../src/text/table-answer.ts'
import { plimsollHere, type Ran } from '../support/command.ts'
import type { Daemon } from '../support/daemon.ts'
import { ADMIN_TOKEN, eventually } from '../support/fleet.ts'
import { openScene, type Scene } from '../support/scene.ts'

/** What a command says where the API does not answer it: one line, and never a token. */

let scene: Scene
let daemon: Daemon
let folder: string
let readToken: string
const servers: Server[] = []

beforeAll(async () => {
  scene = await openScene({ accounts: 0 })
  daemon = await scene.daemon()
  folder = join(scene.folder, 'elsewhere')
  mkdirSync(folder)
  writeFileSync(join(folder, 'fleet.csv'), 'hubId,refreshToken\n7,na1-seven\n')
  const made = await ask(['admin-tokens', 'add', 'ann', '--scopes', 'read'], daemon.url, ADMIN_TOKEN)
  readToken = made.out.trim()
  await eventually('a token that is known', async () => (await ask(['status'], daemon.url, readToken)).code === 0)
})
afterAll(async () => {
  for (const server of servers) server.close()
  await scene.close()
})

const ask = (args: readonly string[], url: string, token: string) =>
  plimsollHere([...args, '--url', url, '--token', token], folder)

async function serving(answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A list, a file that comes, one that goes, an answer with progress: each is read in its own way. */
const COMMANDS = [
  ['accounts', 'list'],
  ['accounts', 'list', '--json'],
  ['accounts', 'export', 'out.csv'],
  ['accounts', 'import', 'fleet.csv'],
  ['accounts', 'history', '7', '--format', 'csv'],
  ['accounts', 'poll', '7'],
  ['check'],
]

function expectOneLine(args: readonly string[], token: string, { code, out, err }: Ran, why: RegExp): void {
  const isCheck = args[0] === 'check'
  expect({ args, code }).toEqual({ args, code: isCheck ? 3 : 1 })
  expect(err).toMatch(/^plimsoll: [^\n]+\n$/)
  expect(err).toMatch(why)
  // Monitoring reads it there.
  expect(out).toMatch(isCheck ? /^PLIMSOLL UNKNOWN - [^\n]+\n$/ : /^$/)
  expect(out + err).not.toContain(token)
  expect(existsSync(join(folder, 'out.csv'))).toBe(false)
}

async function expectRefused(url: string, token: string, why: RegExp, commands = COMMANDS): Promise<void> {
  for (const args of commands) expectOneLine(args, token, await ask(args, url, token), why)
}

test('a token that may read is enough to read, and named in the environment too', async () => {
  const env = { PLIMSOLL_URL: daemon.url, PLIMSOLL_TOKEN: readToken }
  for (const words of ['accounts list', 'alerts list', 'changes', 'upcoming', 'status', 'outbox verify'])
    expect({ words, ...(await plimsollHere(words.split(' '), folder, { env })) }).toMatchObject({ code: 0, err: '' })
})

test('a scope that it lacks is named', async () => {
  const writes = [
    ['accounts', 'import', 'fleet.csv'],
    ['accounts', 'poll', '7'],
    ['alerts', 'ack', '72254a98b7594a1f'],
  ]
  await expectRefused(daemon.url, readToken, /scope write, which ann does not have/, writes)
  await expectRefused(daemon.url, readToken, /scope tokens/, [['accounts', 'export', 'out.csv']])
  await expectRefused(daemon.url, readToken, /scope audit/, [['audit', 'list']])
})

test('a token that nobody made, and one that no header can have', async () => {
  await expectRefused(daemon.url, 'plm_nobody_made_this', /does not take this token/)
  await expectRefused(daemon.url, 'plm_of_two\nlines', /authorization/, [['accounts', 'list']])
})

test('an address without a token asks for one, and what is no address is none', async () => {
  expectOneLine(['status'], ADMIN_TOKEN, await plimsollHere(['status', '--url', daemon.url], folder), /--token/)
  await expectRefused('plimsoll.example.com', 'plm_secret', /is no address/)
})

test('where nobody answers', async () => {
  await expectRefused('http://127.0.0.1:1', 'plm_secret', /can't be reached \(ECONNREFUSED\)/)
  await expectRefused('https://127.0.0.1:1', 'plm_secret', /can't be reached \(ECONNREFUSED\)/)
})

test('no token crosses a network in plain text: the connection is not even begun', async () => {
  const connect = vi.spyOn(Socket.prototype, 'connect')
  try {
    await expectRefused('http://192.0.2.1', 'plm_secret', /no token is sent to 192\.0\.2\.1 over plain http/)
    expect(connect).not.toHaveBeenCalled()
  } finally {
    connect.mockRestore()
  }
})

describe('an address with something else', () => {
  const IS_STRANGE = /not this version of Plimsoll/

  test.each([200, 301, 401, 404, 503])('a page with status %d', async (status) => {
    const url = await serving((request, response) => {
      request.resume()
      response.writeHead(status, { 'content-type': 'text/html', location: 'https://elsewhere.example.com/' })
      response.end('<h1>Welcome</h1>')
    })
    await expectRefused(url, 'plm_secret', IS_STRANGE)
  })

  test('a daemon of another version', async () => {
    const url = await serving((request, response) => {
      request.resume()
      response.writeHead(200, { 'content-type': TABLE_TYPE })
      response.end(JSON.stringify({ version: 99, shown: ['accounts'], notes: [] }))
    })
    const isOther = /has another version than this command|not this version of Plimsoll/
    await expectRefused(url, 'plm_secret', isOther)
  })

  test('one that ends in the middle of its answer', async () => {
    const url = await serving((request, response) => {
      request.resume()
      response.writeHead(200, { 'content-type': TABLE_TYPE, 'content-length': '1000' })
      response.write('{"version":')
      setImmediate(() => request.socket.destroy())
    })
    await expectRefused(url, 'plm_secret', /ended before its answer was whole|not this version|can't be reached/)
  })
})

test('check without daemon, and without data or Redis, knows nothing: exit code 3 and one line', async () => {
  const redisAway = await scene.configFile({
    dataDir: join(scene.folder, 'away'),
    redis: { url: 'redis://127.0.0.1:1' },
  })
  await daemon.stop()
  const noData = join(folder, 'none.yaml')
  writeFileSync(
    noData,
    [
      'provider: { clientId: a, clientSecret: b }',
      'http: { publicUrl: "https://plimsoll.example.com" }',
      'receivers: { hook: { type: slack, url: "https://hooks.slack.com/services/T/B/x" } }',
      'routes: [{ to: [hook] }]',
    ].join('\n'),
  )
  for (const [file, why] of [
    [redisAway, /Redis does not answer/],
    [noData, /no Plimsoll data at/],
  ] as const) {
    const ran = await plimsollHere(['check', '--config', file], folder)
    expectOneLine(['check'], ADMIN_TOKEN, ran, why)
    expect(ran.out).toMatch(why)
  }
})
