import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { plimsollHere } from '../support/command.ts'
import { redisOfFile } from '../support/of-file.ts'
import { runs, sampled } from '../support/runs.ts'
import { alertSpoilsOf, keepAll, type Spoil, spoilsOf } from '../support/spoiled-account.ts'
import { ONE, OTHER, SPOILED, spoiledFleet } from '../support/spoiled-fleet.ts'
import { openLastingServer } from './open-server.ts'

const redis = redisOfFile()
/** Beside each route as it is. */
const QUERIES = [
  '/accounts?sort=domain',
  '/accounts?alert=open',
  `/api/v1/accounts/${SPOILED}/snapshots?resolution=hourly`,
]
/** They read nothing of an account. */
const OF_NONE = /^\/(assets|install|oauth|sign-in|acknowledge)\b/
/** They ask for more than an account, or may answer that there is no such thing. */
const ASKED: Record<string, string> = {
  '/accounts/:hubId/series': '?id=overall',
}

let open: Awaited<ReturnType<typeof openLastingServer>>
let spoils: Spoil[]
let restore: () => Promise<void>
let folder: string
/** Every page, list and route that reads anything of accounts: one that is added is among them. */
let paths: string[]

beforeAll(async () => {
  open = await openLastingServer(redis)
  const { clock, close } = await spoiledFleet(redis, open.keys)
  await close()
  open.clock.move(clock.now() - open.clock.now())
  await open.deps.audit.note({ action: 'account.contact', who: { name: 'ann', via: 'token' }, hubId: SPOILED })
  const [alert = ''] = await redis.store.hkeys(open.keys.news)
  const routes = [...open.server.routes].flatMap(([route, methods]) => (methods.has('GET') ? [route] : []))
  paths = routes
    .filter(
      (route) => !OF_NONE.test(route) && route !== '/api/v1/accounts/:hubId/token' && route !== '/api/v1/silences/:id',
    )
    .map(
      (route) =>
        route.replace(':hubId', String(SPOILED)).replace(':id', alert).replace(':name', 'ops-hook') +
        (ASKED[route] ?? ''),
    )
  paths.push(...QUERIES)
  spoils = [
    ...(await spoilsOf(redis.store, open.keys, SPOILED)),
    ...(await alertSpoilsOf(redis.store, open.keys, SPOILED)),
  ]
  restore = await keepAll(redis.store, open.keys)
  folder = mkdtempSync(join(tmpdir(), 'plimsoll-unreadable-'))
  writeFileSync(
    join(folder, 'plimsoll.yaml'),
    `provider: { clientId: a, clientSecret: b }
redis: { url: "${redis.url}", prefix: ${open.keys.prefix} }
encryption: { keys: [ { id: k1, key: "${Buffer.alloc(32, 7).toString('base64')}" } ] }
http: { publicUrl: https://plimsoll.example.com }
receivers: { ops: { type: email, smtp: "smtps://u:p@mail.example.com", from: a@example.com, to: [b@example.com] } }
routes: [ { to: [ops] } ]
`,
  )
})
afterAll(async () => {
  await open.close()
  rmSync(folder, { recursive: true, force: true })
})

/** A quarter of the pages for each corruption, another quarter for the next one; with PLIMSOLL_FULL=1 all pages for all. */
const pagesFor = (n: number) => paths.filter((_, place) => runs(4, 1) === 1 || place % 4 === n % 4)

test('whatever is spoiled of one account: no page, route or list fails, and the others are on them', async () => {
  const troubles: string[] = []
  const chosen = sampled(spoils, ({ name }) => name.split(':')[0])
  for (const [n, { name, do: spoil }] of [{ name: 'as it was', do: async () => {} }, ...chosen].entries()) {
    await restore()
    await spoil()
    const asked = await Promise.all(pagesFor(n).map(async (path) => ({ path, ...(await open.get(path)) })))
    for (const { path, status, text } of asked) {
      // Without readings there is no series, and without its state an alert is not open.
      const isSaid =
        (status === 404 && path.includes('/series') && name.startsWith('poll')) ||
        (status === 404 && /\/alerts\/\w+$/.test(path) && /^(alerts|account)\b/.test(name))
      if (status !== 200 && !isSaid) troubles.push(`${name}: ${path} is ${status}: ${text.slice(0, 200)}`)
      const shows = (hubId: number) => text.includes(String(hubId))
      if (/accounts(\?sort=domain)?$/.test(path) && !(shows(ONE) && shows(OTHER) && shows(SPOILED)))
        troubles.push(`${name}: ${path} lacks one`)
    }
  }
  expect(troubles).toEqual([])
})

test('whatever is spoiled of one account: its token is served, or the answer says why not; the others are as before', async () => {
  const troubles: string[] = []
  for (const { name, do: spoil } of spoils.filter((one) => /^(account|tokens|access|alerts)\b/.test(one.name))) {
    await restore()
    await spoil()
    const own = await open.get(`/api/v1/accounts/${SPOILED}/token`)
    if (own.status >= 500 && own.status !== 503) troubles.push(`${name}: ${own.status}: ${own.text}`)
    const other = await open.get(`/api/v1/accounts/${OTHER}/token`)
    const form = await open.get('/silences/new')
    if (other.status !== 200 || !form.text.includes(`n${OTHER}.example.com`))
      troubles.push(`${name}: others: ${other.status}, ${form.status}`)
  }
  expect(troubles).toEqual([])
})

test('what nobody here wrote, beside what was: no page, route, list or command fails, and all accounts are on them', async () => {
  await restore()
  const { keys } = open
  const { state, due, fresh, nearest, alerting, transitions } = keys
  for (const set of [state.active, due.poll, due.refresh, fresh, nearest]) {
    await redis.store.zadd(set, 1, 'garbage', 1, 'nan', 9e15, '\xff')
  }
  await redis.store.sadd(alerting, 'garbage')
  await redis.store.xadd(transitions, '*', 'a', 'b')
  await redis.store.xadd(transitions, '*', 'alert', '{"alert":{"measuredAt":"x"}}', 'name', 'x')
  await redis.store.hset(keys.daemons, {
    garbage: 'x',
    other: '{"startedAt":"x"}',
    list: '[]',
    far: '{"startedAt":1e300,"lastSeenAt":1}',
  })
  for (const path of [...paths, `/accounts?q=n${SPOILED}`, '/accounts?sort=domain&dir=desc']) {
    const { status, text } = await open.get(path)
    expect([path, status, path !== '/metrics' && text.includes('NaN')]).toEqual([path, 200, false])
    if (/accounts(\?sort=domain)?$/.test(path))
      for (const hubId of [ONE, OTHER, SPOILED]) expect(text).toContain(String(hubId))
  }
  for (const command of COMMANDS) {
    const config = join(folder, 'plimsoll.yaml')
    const { code, err } = await plimsollHere([...command.split(' '), '--config', config], folder, { clock: open.clock })
    if (command !== 'check') expect([command, code, err]).toEqual([command, 0, expect.not.stringMatching(/error|NaN/i)])
  }
})

const COMMANDS = [
  'accounts list',
  'accounts list --stale',
  'accounts history --format csv',
  'accounts list --level warning',
  'accounts export exported.jsonl --force',
  'status',
  'alerts list',
  'outbox verify',
  'check',
  'thresholds plan plimsoll.yaml',
  `accounts show ${SPOILED}`,
  'alerts log',
  `alerts explain ${SPOILED}`,
  'changes',
  'upcoming',
  'audit list',
  `accounts contact ${SPOILED}`,
]

/** Each way to spoil a key, but not each of the fields: a command takes longer than a page. */
test('whatever is spoiled of one account: no command fails', async () => {
  const troubles: string[] = []
  const ways = spoils.filter((one) =>
    /^\w+: (a hash|a string|garbage bytes|half of it)$|^account state: g/.test(one.name),
  )
  for (const [n, { name, do: spoil }] of sampled(ways, ({ name }) => name.split(':')[0]).entries()) {
    await restore()
    await spoil()
    for (const command of COMMANDS.filter((_, place) => runs(4, 1) === 1 || place % 4 === n % 4)) {
      const { code, err, out } = await plimsollHere(
        [...command.split(' '), '--config', join(folder, 'plimsoll.yaml')],
        folder,
        { clock: open.clock },
      )
      // A check says by its code how the accounts are.
      // An alert whose state is put aside is ended by a daemon.
      if (command === 'outbox verify' && name.startsWith('alerts: ')) continue
      if (command === 'check' ? !out.includes(String(SPOILED)) : code !== 0)
        troubles.push(`${name}: ${command} is ${code}: ${err}`)
    }
  }
  expect(troubles).toEqual([])
})
