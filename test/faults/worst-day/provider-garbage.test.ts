import { gzipSync } from 'node:zlib'
import { expect, type TestContext, test } from 'vitest'
import type { Daemon } from '../../support/daemon.ts'
import { connectAll, eventually, hubIdsOf } from '../../support/fleet.ts'
import { lookInto } from '../../support/look-into.ts'
import { type Scene, sceneFor } from '../../support/scene.ts'
import {
  answer,
  type Fault,
  isToken,
  type RoughProvider,
  type RoughRequest,
  says,
  startRoughProvider,
} from './rough-provider.ts'

const LIFE_MS = 30_000
/** What is not late on purpose has to come within it, on a busy machine too. */
const TIMEOUT_MS = 5_000
const JSON_TYPE = 'content-type: application/json'
const WRONG_TYPES = '{"access_token":1,"expires_in":[],"overallLimit":"many"}'
const TOKENS = JSON.stringify({ token_type: 'bearer', access_token: 'a'.repeat(40), expires_in: 1_800 })

const TOO_LATE = /no complete answer within 5 s/
const CUT_OFF = /the connection was dropped/

/** What comes in place of an answer, and what is said of it. Of the token endpoint, what may hold tokens is kept, and waits for an operator. */
const KINDS: [fault: Fault, told: RegExp, of?: 'poll'][] = [
  [ok(`content-type: text/html`, '<html>maintenance</html>'), /a page of a firewall or proxy \(200\)/],
  [ok(JSON_TYPE, TOKENS.slice(0, 20)), /of 20 bytes is not valid JSON/, 'poll'],
  [ok(JSON_TYPE, WRONG_TYPES), /: expected/, 'poll'],
  [ok(JSON_TYPE, ''), /the answer is empty/],
  // Decoded, where it can be.
  [ok(`${JSON_TYPE}\ncontent-encoding: gzip`, gzipSync(TOKENS).subarray(0, 40)), /is not valid JSON/, 'poll'],
  [ok(JSON_TYPE, Buffer.alloc(3_000_000, ' ')), /larger than 2000000 bytes/],
  [drips, TOO_LATE],
  [
    says('HTTP/1.1 302 Found\nlocation: https://login.example.com/\ncontent-length: 0'),
    /a redirect by a firewall or proxy \(302\)/,
  ],
  [says('HTTP/1.1 103 Early Hints\nlink: </style.css>; rel=preload'), TOO_LATE],
  [says('HTTP/1.1 101 Switching Protocols\nupgrade: websocket\nconnection: upgrade'), CUT_OFF],
  [
    ends(`HTTP/1.1 200 OK\n${JSON_TYPE}\ncontent-length: 500`, TOKENS),
    /the answer is longer or shorter than its content-length/,
  ],
  [says(`HTTP/1.1 200 OK\n${JSON_TYPE}\ncontent-length: 10\ncontent-length: 20`, TOKENS), /the answer is not HTTP/],
  [says('SSH-2.0-OpenSSH_9.2'), /the answer is not HTTP/],
  [ok(`x-long: ${'x'.repeat(100_000)}`, TOKENS), /the headers of the answer are too long/],
  [ends(`HTTP/1.1 200 OK\n${JSON_TYPE}\ncontent-length: 80`), CUT_OFF],
  // As when it closes a connection that was idle just as the next request is sent.
  [(socket) => void socket.destroy(), CUT_OFF],
  [resets, CUT_OFF],
  // Half open: nothing comes, and the connection stays.
  [() => {}, TOO_LATE],
]

function ok(headers: string, body: string | Buffer): Fault {
  return says(`HTTP/1.1 200 OK\n${headers}\ncontent-length: ${body.length}`, body)
}

function drips(...[socket]: Parameters<Fault>): void {
  socket.write(answer(`HTTP/1.1 200 OK\n${JSON_TYPE}\ntransfer-encoding: chunked`, ''))
  const dripping = setInterval(() => socket.write('1\r\n \r\n'), 200)
  socket.on('close', () => clearInterval(dripping))
}

function ends(head: string, body = ''): Fault {
  return (socket) => void socket.end(answer(head, body))
}

function resets(...[socket]: Parameters<Fault>): void {
  socket.write(answer(`HTTP/1.1 200 OK\n${JSON_TYPE}\ncontent-length: ${TOKENS.length}`, TOKENS.slice(0, 10)))
  setImmediate(() => socket.resetAndDestroy())
}

async function fleetBehind(context: TestContext, accounts: number, settings: Record<string, object> = {}) {
  const scene: Scene = await sceneFor(context, { accounts, tokenLifetimeMs: LIFE_MS, rotateRefreshTokens: false })
  const rough: RoughProvider = await startRoughProvider(scene.sandbox.url)
  context.onTestFinished(() => rough.stop())
  const daemon = await scene.daemon({
    provider: { baseUrl: rough.url, timeout: `${TIMEOUT_MS / 1_000}s` },
    tokens: { refreshFrom: '30%', refreshBy: '50%' },
    limits: { every: '2s' },
    ...settings,
  })
  const hubIds = await hubIdsOf(scene.sandbox.url)
  await connectAll(daemon.url, hubIds)
  return { scene, rough, daemon, hubIds, ...lookInto(() => scene) }
}

/** One of each poll: where two of its calls meet a fault, it fails and is told of but once. */
const isFirstReport = ({ path }: RoughRequest) => path.includes('/custom-properties')

/** Failed calls as the log tells of them. */
function failures(daemon: Daemon, of: 'token' | 'poll'): string[] {
  const line = new RegExp(`"${of}\\.(?:transient|client)"`)
  return daemon.lines.filter((text) => line.test(text)).map((text) => (JSON.parse(text) as { msg: string }).msg)
}

test.concurrent('whatever comes in place of an answer is one failed call, told in words, and the account is well at the next', async (context) => {
  const { rough, daemon, hubIds, statesOf, refreshedSince, told } = await fleetBehind(context, 3 * KINDS.length)
  const kinds = { token: KINDS.filter(([, , of]) => of === undefined), poll: KINDS }
  const faults = { tokens: kinds.token.map(([fault]) => fault), reports: kinds.poll.map(([fault]) => fault) }
  // Each third call meets one: it comes to others each time, and what works meanwhile says that there is no outage.
  let asked = 0
  rough.fault = (request) => {
    asked++
    if (asked % 3 !== 0) return undefined
    return isToken(request) ? faults.tokens.shift() : isFirstReport(request) ? faults.reports.shift() : undefined
  }
  await eventually('all kinds', async () => faults.tokens.length + faults.reports.length === 0)
  await refreshedSince(hubIds, Date.now() + TIMEOUT_MS)
  for (const of of ['token', 'poll'] as const) {
    const said = failures(daemon, of)
    // Of those that are late a busy machine may add its own.
    const inTime = (all: readonly string[]) => all.filter((text) => !TOO_LATE.test(text))
    expect(inTime(said)).toHaveLength(kinds[of].filter(([, words]) => words !== TOO_LATE).length)
    for (const [, words] of kinds[of]) expect(said).toContainEqual(expect.stringMatching(words))
  }
  expect(await statesOf(daemon)).toEqual({ active: hubIds.length })
  expect(daemon.lines.filter((line) => line.includes('"token.expired"'))).toEqual([])
  expect(await told()).toEqual([])
})

test.concurrent.for<[what: string, fault: Fault]>([
  ['a page of HTML with status 200', ok('content-type: text/html', '<html>maintenance</html>')],
  ['a redirect to a page', says('HTTP/1.1 302 Found\nlocation: https://login.example.com/\ncontent-length: 0')],
])(
  'to every call comes %s: one alert says that the endpoint fails, nobody is blamed, and all go on after it',
  async ([, fault], context) => {
    const { rough, daemon, hubIds, statesOf, refreshedSince, told } = await fleetBehind(context, 12)
    rough.fault = () => fault
    await daemon.line(/"endpoint\.open".*"unreachable"/, 0)
    const alert = await eventually('the alert', async () => (await told())[0])
    expect(alert).toMatchObject({ kind: 'fleet', level: 'critical', status: 'firing' })
    expect(alert.message).toMatch(/HubSpot can't be reached/)
    const asked = rough.seen.filter(isToken).length
    expect(Object.keys(await statesOf(daemon)).filter((state) => !['active', 'failing'].includes(state))).toEqual([])
    rough.fault = () => undefined
    await refreshedSince(hubIds, Date.now())
    // While it was open: a probe now and then.
    expect(rough.seen.filter(isToken).length - asked).toBeLessThan(3 * hubIds.length)
    await eventually('all well', async () => (await statesOf(daemon)).active === hubIds.length)
    await eventually('its end', async () => (await told()).some(({ status }) => status === 'resolved'))
    expect((await told()).filter(({ kind }) => kind !== 'fleet')).toEqual([])
  },
)
