import { once } from 'node:events'
import { request } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { areaOf } from '../../src/http/access/access.ts'
import { redisOfFile } from '../support/of-file.ts'
import { ADMIN_TOKEN, askServer, FORM, JSON_BODY, openLastingServer } from './open-server.ts'

const redis = redisOfFile()

/** The most that one request may cost, in small ones. */
const MOST = 20
/** Turns that a request gets which seems dear at first. */
const TURNS = 7

type Send = (method: string, path: string, headers?: Record<string, string>, body?: string) => Promise<unknown>

let opened: Awaited<ReturnType<typeof openLastingServer>>
let send: Send
/** CPU of a small request and its answer at the start, both sides, in µs. */
let smallAtFirst: number

beforeAll(async () => {
  opened = await openLastingServer(redis)
  // What is refused in the middle of its body may cut the connection off.
  send = (method, path, headers = {}, body) =>
    askServer(opened.server.url, method, path, headers, body).catch(() => undefined)
  await cpuOfSmall(200)
  smallAtFirst = await cpuOfSmall(100)
})
afterAll(() => opened.close())

const times = (length: number, part: (n: number) => string, between = '&') => {
  const parts: string[] = []
  for (let n = 0, left = length; left > 0; n++) {
    parts.push(part(n))
    left -= part(n).length + between.length
  }
  return parts.join(between).slice(0, length)
}

/** What is long in it, and of what: each is made in any length. */
const TEXTS: Record<string, (length: number) => string> = {
  'many fields': (length) => times(length, (n) => n.toString(36)),
  'one field many times': (length) => times(length, () => 'a='),
  'nothing but separators': (length) => '&'.repeat(length),
  escapes: (length) => `next=${times(length, () => '%2F%2e', '')}`,
  'broken escapes': (length) => `next=/${'%'.repeat(length)}`,
  'slashes and dots': (length) => `token=a&next=${times(length, () => '/..', '')}`,
  'a long value': (length) => `signature=${'A'.repeat(length)}&account=1&code=${'A'.repeat(length)}`,
}
const HEADERS: Record<string, (length: number) => Record<string, string>> = {
  'many cookies': (length) => ({ cookie: times(length, (n) => n.toString(36), ';') }),
  'cookies of one name': (length) => ({ cookie: times(length, () => 'plimsoll=a.1.b', ';') }),
  'a token of spaces': (length) => ({ authorization: `Bearer ${times(length, () => ' x', '')}` }),
  'forwarded by many': (length) => ({ 'x-forwarded-for': times(length, () => '1', ',') }),
  'a long origin': (length) => ({ origin: `http://${times(length, () => 'a.', '')}` }),
}
/** Address and headers together have at most 16 kB. */
const HEAD = 14_000
/** The largest body that any route takes, and one that none does. */
const BODIES = [4_000, 60_000]

/** Every way to make one request large. The texts are made here: what they cost is not the server's. */
function* largest(method: string, route: string): Generator<[what: string, send: () => Promise<unknown>]> {
  const path = route.replace(/:\w+/g, '1')
  const filled = route.replace(/:\w+/g, () => 'a%2F'.repeat(HEAD / 4 / (route.split(':').length - 1)))
  const way = (what: string, at: string, headers?: Record<string, string>, body?: string) =>
    [what, () => send(method, at, headers, body)] satisfies [string, () => Promise<unknown>]
  if (filled !== route) yield way('its path', filled)
  for (const [what, text] of Object.entries(TEXTS)) {
    yield way(`a query of ${what}`, `${path}?${text(HEAD).slice(0, HEAD)}`)
    if (method !== 'POST') continue
    for (const size of BODIES) yield way(`a form of ${what}, ${size}`, path, FORM, text(size))
  }
  for (const [what, headers] of Object.entries(HEADERS)) yield way(what, path, headers(HEAD))
  if (method !== 'POST') return
  for (const size of BODIES) {
    yield way(`JSON that is deep, ${size}`, path, JSON_BODY, '['.repeat(size))
    yield way(`JSON of many fields, ${size}`, path, JSON_BODY, `{${times(size, (n) => `"${n}":1`, ',')}`)
  }
}

/** Of this process, whose event loop the tokens share. */
async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return user + system
}

async function cpuOfSmall(count: number): Promise<number> {
  const all = await cpuOf(async () => {
    for (let n = 0; n < count; n++) await send('GET', '/sign-in')
  })
  return all / count
}

/**
 * In small requests. The first try pays for code that has not run yet, and any one for garbage of all that ran before: what
 * seems dear is measured in turns with small ones, which a busy machine slows down as much, and its median counts.
 */
async function costOf(ask: () => Promise<unknown>): Promise<number> {
  const first = (await cpuOf(ask)) / smallAtFirst
  if (first <= MOST / 2) return first
  const turns: number[] = []
  for (let n = 0; n < TURNS; n++) {
    const small = await cpuOfSmall(10)
    turns.push((await cpuOf(ask)) / small)
  }
  return turns.sort((a, b) => a - b)[(TURNS - 1) / 2] ?? Number.NaN
}

/** Found from the server, so that a route that is added is among them; of those that ask for a token some of each kind. */
async function routesToTry(): Promise<[method: string, route: string][]> {
  const guarded = new Set(['GET /accounts/:hubId', 'POST /accounts/:hubId/poll', 'POST /api/v1/accounts/:hubId/poll'])
  const tried: [string, string][] = []
  for (const [route, methods] of opened.server.routes) {
    for (const method of methods) {
      if (method === 'HEAD') continue
      const { status } = await askServer(opened.server.url, method, route.replace(/:\w+/g, '1'), {})
      const isOpen = status !== 401 || areaOf({ route, method, address: route }, false) === 'open'
      if (isOpen || guarded.has(`${method} ${route}`)) tried.push([method, route])
    }
  }
  return tried
}

test('no request without a token costs more than some small ones, however large it is', async () => {
  const routes = await routesToTry()
  expect(routes.map((route) => route.join(' '))).toEqual(expect.arrayContaining(KNOWN))
  const dear: string[] = []
  for (const [method, route] of routes) {
    for (const [what, ask] of largest(method, route)) {
      const cost = await costOf(ask)
      if (!(cost <= MOST)) dear.push(`${method} ${route}, ${what}: ${Math.round(cost)} small requests`)
    }
  }
  expect(dear).toEqual([])
})

const KNOWN = [
  'GET /healthz',
  'GET /install',
  'GET /oauth/callback',
  'GET /sign-in',
  'POST /sign-in',
  'GET /acknowledge',
  'POST /acknowledge',
  'POST /accounts/:hubId/poll',
]

test.each([
  ['4 kB', '/sign-in', `token=${'a'.repeat(4_096)}`],
  ['a few fields', '/sign-in', 'a&'.repeat(21)],
])('an open form takes no more than %s', async (_what, path, body) => {
  expect((await askServer(opened.server.url, 'POST', path, FORM, body)).status).toBe(413)
})

test.each([
  ['/sign-in', { origin: 'https://elsewhere.example' }],
  ['/sign-out', { origin: 'https://elsewhere.example', authorization: `Bearer ${ADMIN_TOKEN}` }],
  ['/acknowledge?account=1', {}],
])('what is wrong by its head is refused before its body comes: %s', async (path, headers) => {
  const { hostname, port } = new URL(opened.server.url)
  const announced = { ...FORM, ...headers, 'content-length': '100' }
  const asked = request({ hostname, port, method: 'POST', path, headers: announced, agent: false })
  asked.flushHeaders()
  const [{ statusCode }] = await once(asked, 'response')
  expect(statusCode).toBe(403)
  asked.on('error', () => {}).destroy()
})
