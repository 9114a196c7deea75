import { describe, expect, test } from 'vitest'
import { AUDIT_ACTIONS } from '../../src/audit/audited.ts'
import { redisOfFile } from '../support/of-file.ts'
import { ADMIN_TOKEN, BEARER, FORM, openServer } from './open-server.ts'

const redis = redisOfFile()
const ANN = { name: 'ann@example.com', via: 'proxy', from: '192.0.2.1' } as const
const HOSTILE = '"><img src=x onerror=alert(1)>'

type World = Awaited<ReturnType<typeof openServer>>

async function openWith(entries: number, options: Parameters<typeof openServer>[1] = {}): Promise<World> {
  const world = await openServer(redis, options)
  for (let n = 0; n < entries; n++) {
    await world.deps.audit.note({ action: 'account.polled', who: ANN, hubId: n + 1 })
  }
  return world
}

const actionsOf = async ({ get }: World, query = ''): Promise<string[]> => {
  const { json } = await get(`/api/v1/audit${query}`)
  return json.items.map(({ action }: { action: string }) => action)
}

describe('reading it', () => {
  test('takes the scope audit, on the page and over the API; the menu leads there for who has it', async () => {
    const world = await openWith(1)
    const { ask, get, addToken, signedIn } = world
    const reader = await addToken('reader', 'read', 'write', 'tokens')
    const auditor = await addToken('auditor', 'read', 'audit')
    for (const path of ['/audit', '/api/v1/audit']) {
      expect((await ask('GET', path)).status, path).toBe(401)
      const refused = await get(path, { authorization: `Bearer ${reader}` })
      expect([refused.status, refused.text], path).toEqual([403, expect.stringContaining('scope audit')])
      expect((await get(path, { authorization: `Bearer ${auditor}` })).status, path).toBe(200)
      expect((await get(path)).status, path).toBe(200)
    }
    for (const path of ['/audit/', '/%61udit?x=1', '/api/v1/audit/', '/api/v1/%61udit', '//127.0.0.1/audit']) {
      expect((await get(path, { authorization: `Bearer ${reader}` })).status, path).not.toBe(200)
      expect((await ask('HEAD', path)).status, path).toBe(401)
    }
    for (const [token, status] of [
      [reader, 403],
      [auditor, 200],
    ] as const) {
      const { see, cookie } = await signedIn(token)
      expect((await see('/audit')).status).toBe(status)
      expect((await ask('GET', '/api/v1/audit', cookie)).status).toBe(status)
      expect((await see('/')).text.includes('href="/audit"')).toBe(status === 200)
    }
  })

  test('shows when, who and how, what, and from where', async () => {
    const world = await openWith(0)
    const deed = {
      action: 'silence.added',
      who: ANN,
      hubId: 7,
      subject: 's-4k7mp',
      detail: 'account=7: a migration',
    } as const
    await world.deps.audit.note(deed)
    const { words, text } = await world.get('/audit')
    expect(words).toMatch(
      /\d\d:\d\d UTC ann@example.com \(proxy\) silenced alerts 7 s-4k7mp account=7: a migration 192\.0\.2\.1/,
    )
    expect(text).toContain('<a href="/accounts/7">')
    const { json } = await world.get('/api/v1/audit')
    expect(json).toEqual({
      items: [
        {
          id: expect.any(String),
          at: expect.stringMatching(/Z$/),
          action: 'silence.added',
          who: 'ann@example.com',
          via: 'proxy',
          from: '192.0.2.1',
          hubId: 7,
          subject: 's-4k7mp',
          detail: 'account=7: a migration',
        },
      ],
    })
  })

  test('by pages of the list, each entry once; the page leads to older ones and keeps what was asked for', async () => {
    const world = await openWith(120)
    const seen: number[] = []
    for (let after = ''; ; ) {
      const { json } = await world.get(`/api/v1/audit?limit=50&since=7d${after}`)
      seen.push(...json.items.map(({ hubId }: { hubId: number }) => hubId))
      if (json.next === undefined) break
      after = `&after=${json.next}`
    }
    expect(seen).toEqual(Array.from({ length: 120 }, (_, n) => 120 - n))
    const first = await world.get('/audit?since=24h&who=ANN')
    const [, next = ''] = /<a rel="next" href="([^"]+)">Next page/.exec(first.text) ?? []
    expect(next).toMatch(/^\/audit\?since=24h&amp;who=ANN&amp;after=/)
    const second = await world.get(next.replaceAll('&amp;', '&'))
    expect(second.text.match(/<tr>/g)).toHaveLength(51)
  })

  test('narrowed by who, account and action; what is none of them is refused by name', async () => {
    const world = await openWith(2)
    await world.deps.audit.note({ action: 'alert.acknowledged', who: { name: 'bob', via: 'session' }, hubId: 2 })
    expect(await actionsOf(world, '?who=BOB')).toEqual(['alert.acknowledged'])
    expect(await actionsOf(world, '?hubId=2')).toEqual(expect.arrayContaining(['alert.acknowledged', 'account.polled']))
    expect(await actionsOf(world, '?action=account.polled')).toHaveLength(2)
    expect((await world.get('/audit?action=alert.acknowledged&who=&account=')).words).toContain(
      'bob acknowledged an alert',
    )
    for (const query of ['who=a&who=b', 'action=none', 'after=1', 'after=1-1.x%0a', 'since=soon', 'limit=0', 'x=1']) {
      expect((await world.get(`/api/v1/audit?${query}`)).status, query).toBe(400)
    }
    for (const query of ['who=a&who=b', 'since=1d&since=2d', 'action=none', 'after=x', `who=${'x'.repeat(101)}`]) {
      expect((await world.get(`/audit?${query}`)).status, query).toBe(400)
    }
    const most = '999999999999999-9999999999999999999'
    for (const [after, status] of [
      [most, 200],
      ['1-0', 200],
      ['0-0', 400],
      [`${most}9`, 400],
      ['1-1.other', 400],
      ['1-1 ', 400],
    ] as const) {
      expect((await world.get(`/audit?after=${encodeURIComponent(after)}`)).status, after).toBe(status)
    }
  })

  test('names, subjects and details are text, whatever is in them', async () => {
    const world = await openWith(0)
    await world.deps.audit.note({
      action: 'account.uninstalled',
      who: { name: HOSTILE, via: 'proxy', from: HOSTILE },
      hubId: 7,
      subject: HOSTILE,
      detail: `=cmd|' /C calc'!A0 ${HOSTILE}`,
    })
    for (const path of ['/audit', `/audit?who=${encodeURIComponent(HOSTILE)}`]) {
      const { text } = await world.get(path)
      expect(text).not.toContain('<img')
      expect(text).toContain('&lt;img')
    }
  })
})

describe('signing in', () => {
  test('and out, a wrong token by form or header, and a forged person are in it, and none of what was sent', async () => {
    const proxies = { proxies: ['192.0.2.0/24'], groupsHeader: undefined, groupsSeparator: ',', groups: {} }
    const world = await openWith(0, { trusted: { userHeader: 'X-Forwarded-User', ...proxies } })
    const { ask, signedIn } = world
    const from = { 'x-forwarded-for': '203.0.113.9' }
    await ask('POST', '/sign-in', { ...FORM, ...from }, 'token=a-guess-of-somebody')
    await ask('GET', '/api/v1/status', { ...from, authorization: 'Bearer a-guess-of-somebody' })
    await ask('GET', '/', { ...from, 'x-forwarded-user': 'a-guess-of-somebody' })
    const { send } = await signedIn()
    await send('/sign-out')
    const { json, text } = await world.get('/api/v1/audit')
    const entries = json.items.map(({ action, who, via, from, detail }: Record<string, string>) =>
      [action, who, via, from, detail].join(' '),
    )
    expect(entries.toSorted()).toEqual([
      'sign-in.done config session 127.0.0.1 ',
      'sign-in.ended config session 127.0.0.1 ',
      'sign-in.refused  proxy 203.0.113.9 via 127.0.0.1 header of a person: not from a trusted proxy',
      'sign-in.refused  session 203.0.113.9 via 127.0.0.1 wrong admin token',
      'sign-in.refused  token 203.0.113.9 via 127.0.0.1 wrong admin token',
    ])
    expect(text).not.toContain('a-guess')
    expect(text).not.toContain(ADMIN_TOKEN)
  })

  test('a person of a trusted proxy signs in once a day, as far as it is seen here', async () => {
    const proxies = { proxies: ['127.0.0.1'], groupsHeader: undefined, groupsSeparator: ',', groups: {} }
    const world = await openWith(0, { trusted: { userHeader: 'X-Forwarded-User', ...proxies } })
    const ann = { host: '127.0.0.1', 'x-forwarded-user': 'ann', 'x-forwarded-for': '203.0.113.9' }
    for (let n = 0; n < 5; n++) await world.ask('GET', '/accounts', ann)
    const { json } = await world.get('/api/v1/audit')
    expect(json.items).toMatchObject([
      { action: 'sign-in.done', who: 'ann', via: 'proxy', from: '203.0.113.9 via 127.0.0.1' },
    ])
  })

  test('a flood of guesses from one address is one entry a day: it pushes out nothing that people did', async () => {
    const world = await openWith(0)
    for (let n = 0; n < 90; n++) await world.ask('GET', '/metrics', { authorization: 'Bearer x' })
    world.clock.move(60_000)
    await world.ask('GET', '/metrics', { authorization: 'Bearer x' })
    const { json } = await world.get('/api/v1/audit?limit=500')
    expect(json.items).toMatchObject([{ action: 'sign-in.refused', detail: 'wrong admin token' }])
  })

  test('a stranger who forwards for ever new addresses is one entry a day', async () => {
    const world = await openWith(0)
    for (let n = 0; n < 50; n++)
      await world.ask('GET', '/metrics', { authorization: 'Bearer x', 'x-forwarded-for': `203.0.113.${n}` })
    expect(await actionsOf(world, '?limit=500')).toEqual(['sign-in.refused'])
  })

  test('a program that signs in and out again and again is one entry a day of each', async () => {
    const world = await openWith(0)
    for (let n = 0; n < 5; n++) await (await world.signedIn()).send('/sign-out')
    expect((await actionsOf(world)).toSorted()).toEqual(['sign-in.done', 'sign-in.ended'])
  })
})

describe('what a request is asked to do', () => {
  test('is done in the name of who asked, by every form and route: none leaves out who it is', async () => {
    const asked: [string, unknown][] = []
    const spies = [
      'uninstall',
      'setContact',
      'poll',
      'refresh',
      'accessToken',
      'silence',
      'unsilence',
      'replay',
      'testReceiver',
    ]
    const actions = Object.fromEntries(
      spies.map((name) => [
        name,
        async (...args: unknown[]) => {
          asked.push([name, args.at(-1)])
          throw new Error('asked')
        },
      ]),
    )
    const world = await openServer(redis, { actions })
    await world.connectAccount({ hubId: 7 })
    const { send } = await world.signedIn()
    const json = { ...BEARER, 'content-type': 'application/json' }
    const endsAt = new Date(world.clock.now() + 60_000).toISOString()
    const silence = { matchers: [{ name: 'account', value: '7' }], comment: 'x', endsAt, author: 'somebody else' }
    const bodies: Record<string, object> = {
      'PUT /accounts/7/contact': { contact: 'ada@acme.example.com' },
      'POST /silences': silence,
      'POST /deliveries/replay': { since: '30d' },
    }
    for (const route of [
      'POST /accounts/7/poll',
      'POST /accounts/7/refresh',
      'POST /accounts/7/uninstall',
      'DELETE /accounts/7',
      'PUT /accounts/7/contact',
      'DELETE /accounts/7/contact',
      'POST /silences',
      'DELETE /silences/s-1',
      'POST /deliveries/replay',
      'POST /receivers/ops-hook/test',
      'GET /accounts/7/token',
    ]) {
      const [method = '', path] = route.split(' ')
      const body = bodies[route]
      await world.ask(method, `/api/v1${path}`, body ? json : BEARER, body && JSON.stringify(body))
    }
    const byRoute = asked.splice(0)
    expect(byRoute).toHaveLength(11)
    for (const [name, who] of byRoute)
      expect(who, name).toMatchObject({ name: 'config', via: 'token', from: expect.stringContaining('127.0.0.1') })
    for (const [path, body] of [
      ['/accounts/7/poll', ''],
      ['/accounts/7/refresh', ''],
      ['/accounts/7/contact', 'contact=eve@acme.example.com'],
      ['/accounts/7/uninstall', ''],
      ['/silences/new', 'name=account&value=7&for=1h&comment=x&do=silence'],
      ['/silences/end', 'id=s-1'],
      ['/deliveries/replay', 'since=30d'],
      ['/deliveries/test', 'name=ops-hook'],
    ] as const) {
      await send(path, body)
    }
    expect(asked).toHaveLength(8)
    for (const [name, who] of asked) expect(who, name).toMatchObject({ name: 'config', via: 'session' })
  })
})

test('every action has words of its own', async () => {
  const { text } = await (await openWith(0)).get('/audit')
  expect(text.match(/<option value="[a-z.-]+">/g)).toHaveLength(AUDIT_ACTIONS.length)
})
