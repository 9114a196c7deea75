import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { createPersonReader, type TrustedHeaders } from '../../src/http/access/trusted-person.ts'
import { redisOfFile } from '../support/of-file.ts'
import { badDay } from './in-browser/scenes.ts'
import { ADMIN_TOKEN, BEARER, FORM, openServer } from './open-server.ts'

const redis = redisOfFile()

const HERE: TrustedHeaders = {
  userHeader: 'X-Forwarded-User',
  groupsHeader: undefined,
  groupsSeparator: ',',
  groups: {},
  proxies: ['127.0.0.1', '::1'],
}
const ELSEWHERE = { ...HERE, proxies: ['192.0.2.0/24'] }
const GROUPS = {
  ...HERE,
  groupsHeader: 'X-Forwarded-Groups',
  groups: { ops: ['read', 'write'], support: ['read'], billing: ['tokens'] } as const,
}
/** What `publicUrl` of the servers here has. */
const HOST = { host: '127.0.0.1' }
const ANN = { ...HOST, 'x-forwarded-user': 'ann@example.com' }

describe('who a request is of', () => {
  /** Headers as they come over the wire: names and values in turns. */
  const read = (settings: TrustedHeaders, peer: string | undefined, ...rawHeaders: string[]) =>
    createPersonReader(settings, 'http://127.0.0.1')({ peer, rawHeaders, headers: { ...HOST } })
  const named = (value: string) => read(HERE, '127.0.0.1', 'X-Forwarded-User', value)

  test.each([
    ['127.0.0.1', '127.0.0.1', true],
    ['127.0.0.1', '::ffff:127.0.0.1', true],
    ['127.0.0.1', '::FFFF:127.0.0.1', true],
    ['127.0.0.1', '127.0.0.2', false],
    ['10.0.0.0/8', '10.255.0.1', true],
    ['10.0.0.0/8', '::ffff:10.255.0.1', true],
    ['10.0.0.0/8', '11.0.0.1', false],
    ['10.1.2.3/8', '10.9.9.9', true],
    ['fd00::/8', 'fdab::1', true],
    ['fd00::/8', 'fe80::1%eth0', false],
    ['fe80::/10', 'fe80::1%eth0', true],
    ['::1', '0:0:0:0:0:0:0:1', true],
    ['::1', '127.0.0.1', false],
    ['127.0.0.1', '', false],
    ['127.0.0.1', undefined, false],
    ['127.0.0.1', '127.0.0.1, 10.0.0.1', false],
    ['127.0.0.1', '::ffff:7f00:1', true],
  ])('with %s trusted, %s may name a person: %s', (proxy, peer, may) => {
    const claim = read({ ...HERE, proxies: [proxy] }, peer, 'X-Forwarded-User', 'ann')
    expect(claim.is).toBe(may ? 'person' : 'refused')
  })

  test.each([
    ['ann', 'ann'],
    [' ann@example.com ', 'ann@example.com'],
    ['Ann Ödegård', 'Ann Ödegård'],
    ['<script>alert(1)</script>', '<script>alert(1)</script>'],
    ["=cmd|' /C calc'!A0", "=cmd|' /C calc'!A0"],
    ['x'.repeat(100), 'x'.repeat(100)],
  ])('%j is a name', (value, name) => {
    expect(named(Buffer.from(value).toString('latin1'))).toMatchObject({ is: 'person', person: { name } })
  })

  test.each([
    ['two that were joined', 'mallory, ann'],
    ['one that reorders the line', 'ann\u202e'],
    ['one with something invisible', 'an\u200bn'],
    ['a tab in it', 'a\tnn'],
    ['one that is too long', 'x'.repeat(101)],
    ['a line break', 'ann\u2028bob'],
    ['more accents than a letter has', `a${'\u0301'.repeat(9)}`],
  ])('%s is none', (_, value) => {
    expect(named(Buffer.from(value).toString('latin1'))).toEqual({
      is: 'refused',
      why: 'no name on one line without commas',
    })
  })

  test('bytes that are no UTF-8 are no name, an empty header is nobody', () => {
    expect(named('\xff\xfe').is).toBe('refused')
    expect(named('')).toEqual({ is: 'none' })
    expect(named('  ')).toEqual({ is: 'none' })
  })

  test('a header that came twice names nobody, in any spelling: its sender added to it', () => {
    for (const other of ['X-Forwarded-User', 'x-forwarded-user', 'X-FORWARDED-USER']) {
      const claim = read(HERE, '127.0.0.1', 'X-Forwarded-User', 'mallory', other, 'ann')
      expect(claim).toEqual({ is: 'refused', why: 'given more than once' })
    }
    const groups = ['X-Forwarded-Groups', 'ops', 'x-forwarded-groups', 'support']
    expect(read(GROUPS, '127.0.0.1', 'X-Forwarded-User', 'ann', ...groups).is).toBe('refused')
  })

  test.each(['X_Forwarded_User', 'X-Forwarded_User', 'X-Forwarded-Users', 'Forwarded-User', 'X-Forwarded-User-'])(
    '%s is another header, however alike it is',
    (name) => {
      expect(read(HERE, '127.0.0.1', name, 'mallory')).toEqual({ is: 'none' })
      const both = read(HERE, '127.0.0.1', name, 'mallory', 'X-Forwarded-User', 'ann')
      expect(both).toMatchObject({ person: { name: 'ann' } })
    },
  )

  test.each([
    ['ops', ['read', 'write']],
    ['support', ['read']],
    [' everyone , support ,billing', ['read', 'tokens']],
    ['Ops', []],
    ['constructor,__proto__,toString', []],
    ['', []],
  ])('members of %j may %j', (groups, scopes) => {
    const claim = read(GROUPS, '127.0.0.1', 'X-Forwarded-User', 'ann', 'X-Forwarded-Groups', groups)
    expect(claim).toEqual({ is: 'person', person: { name: 'ann', scopes, groups } })
  })

  test.each([
    ['|', 'staff|ops', ['read', 'write']],
    [';', 'support; billing', ['read', 'tokens']],
    ['|', 'support,ops', []],
  ])('groups have %s between them: %j', (groupsSeparator, groups, scopes) => {
    const headers = ['X-Forwarded-User', 'ann', 'X-Forwarded-Groups', groups]
    expect(read({ ...GROUPS, groupsSeparator }, '127.0.0.1', ...headers)).toMatchObject({ person: { scopes } })
  })

  const AWAY = 'for another host than http.publicUrl'
  const FOREIGN = 'from a page of another site'
  test.each([
    ['https://plimsoll.example.com', 'plimsoll.example.com', undefined, 'ann'],
    ['https://plimsoll.example.com', 'Plimsoll.Example.com:443', 'https://plimsoll.example.com', 'ann'],
    ['https://plimsoll.example.com:8443', 'plimsoll.example.com:8443', undefined, 'ann'],
    ['https://plimsoll.example.com', 'plimsoll.example.com:8443', undefined, AWAY],
    ['https://plimsoll.example.com', 'evil.example', 'https://evil.example', AWAY],
    ['https://plimsoll.example.com', '127.0.0.1:8088', undefined, AWAY],
    ['https://plimsoll.example.com', undefined, undefined, AWAY],
    ['https://plimsoll.example.com', '@', undefined, AWAY],
    ['https://plimsoll.example.com', 'plimsoll.example.com', 'http://plimsoll.example.com', FOREIGN],
    ['https://plimsoll.example.com', 'plimsoll.example.com', 'https://plimsoll.example.com.evil.example', FOREIGN],
    ['https://plimsoll.example.com', 'plimsoll.example.com', 'null', FOREIGN],
  ])('at %s a request for %s from a page of %s is of %s', (publicUrl, host, origin, outcome) => {
    const headers = { ...(host !== undefined && { host }), ...(origin !== undefined && { origin }) }
    const rawHeaders = ['X-Forwarded-User', 'ann']
    const claim = createPersonReader(HERE, publicUrl)({ peer: '127.0.0.1', rawHeaders, headers })
    expect(claim.is === 'refused' ? claim.why : claim.is === 'person' && claim.person.name).toBe(outcome)
  })

  test('without a group header each person reads and writes, and gets no tokens; groups without a person are nobody', () => {
    expect(named('ann')).toMatchObject({ person: { scopes: ['read', 'write', 'audit'] } })
    expect(read(GROUPS, '127.0.0.1', 'X-Forwarded-Groups', 'ops')).toEqual({ is: 'none' })
    expect(read(GROUPS, '127.0.0.1', 'X-Forwarded-User', 'ann')).toMatchObject({ person: { scopes: [] } })
  })

  test('what is not trusted is taken out of the request', () => {
    const headers = { ...ANN, 'x-forwarded-groups': 'ops', accept: '*/*' }
    const rawHeaders = ['X-Forwarded-User', 'ann', 'X-Forwarded-Groups', 'ops']
    createPersonReader(
      { ...GROUPS, proxies: ['192.0.2.1'] },
      'http://127.0.0.1',
    )({ peer: '127.0.0.1', headers, rawHeaders })
    expect(headers).toEqual({ ...HOST, accept: '*/*' })
  })
})

describe('behind a trusted proxy', () => {
  test('pages and API are open to the person, who is named on each page and has no session to end', async () => {
    const { ask } = await openServer(redis, { trusted: HERE })
    const page = await ask('GET', '/accounts', ANN)
    expect(page.status).toBe(200)
    expect(page.words).toContain('Signed in as ann@example.com')
    expect(page.text).not.toContain('Sign out')
    expect((await ask('GET', '/api/v1/status', ANN)).status).toBe(200)
    expect((await ask('GET', '/metrics', ANN)).status).toBe(200)
    expect((await ask('GET', '/accounts')).status).toBe(401)
  })

  test('what the person acknowledges and silences bears their name', async () => {
    const world = await badDay(redis, { trusted: HERE })
    const { text } = await world.ask('GET', '/alerts?level=critical', ANN)
    const [, path = ''] = /href="(\/alerts\/[0-9a-f]{16}\?account=1001)"/.exec(text) ?? []
    const [, csrf] = /name="csrf" value="([\w-]{43})"/.exec(text) ?? []
    const form = { ...ANN, ...FORM, origin: 'http://127.0.0.1' }
    const acknowledged = await world.ask(
      'POST',
      path.replace('?', '/acknowledge?'),
      form,
      `level=critical&csrf=${csrf}`,
    )
    expect(acknowledged.status).toBe(303)
    expect((await world.ask('GET', path, ANN)).words).toContain('ann@example.com')
    await world.ask('POST', '/silences/new', form, `name=account&value=1001&for=1h&comment=x&do=silence&csrf=${csrf}`)
    const endsAt = new Date(world.clock.now() + 3_600_000).toISOString()
    const silence = { matchers: [{ name: 'account', value: '1002' }], comment: 'x', endsAt }
    const json = { ...ANN, 'content-type': 'application/json' }
    expect((await world.ask('POST', '/api/v1/silences', json, JSON.stringify(silence))).status).toBe(201)
    const authors = (await world.deps.silences.active(world.clock.now())).map(({ author }) => author)
    expect(authors).toEqual(['ann@example.com', 'ann@example.com'])
  })

  test('a form needs the token of its own person and our origin; the API takes no change from a page of another site', async () => {
    const world = await badDay(redis, { trusted: HERE })
    const csrfOf = async (who: object) => {
      const { text } = await world.ask('GET', '/deliveries', { ...who })
      return /name="csrf" value="([\w-]{43})"/.exec(text)?.[1] ?? ''
    }
    const [ann, bob] = [await csrfOf(ANN), await csrfOf({ ...ANN, 'x-forwarded-user': 'bob' })]
    expect(bob).not.toBe(ann)
    const send = (csrf: string, headers: object = {}) =>
      world.ask('POST', '/deliveries/replay', { ...ANN, ...FORM, ...headers }, `since=30d&csrf=${csrf}`)
    for (const csrf of ['', 'A'.repeat(43), bob]) expect((await send(csrf)).status, csrf).toBe(403)
    for (const headers of [{ origin: 'http://evil.example' }, { 'sec-fetch-site': 'same-site' }]) {
      expect((await send(ann, headers)).status).toBe(403)
      for (const path of ['/api/v1/accounts/1001/poll', '/api/v1/accounts/1001/uninstall']) {
        expect((await world.ask('POST', path, { ...ANN, ...headers })).status, path).toBe(403)
      }
    }
    expect(await world.deps.deliveries.countDead()).toBe(2)
    expect(await world.deps.registry.get(1001)).toMatchObject({ state: 'active' })
    expect((await send(ann)).status).toBe(303)
    expect((await world.ask('POST', '/api/v1/accounts/1001/poll', ANN)).status).toBe(200)
  })

  test('groups decide what the person may do, and what is missing is named', async () => {
    const world = await badDay(redis, { trusted: GROUPS })
    const as = (groups: string) => ({ ...ANN, 'x-forwarded-groups': groups })
    expect((await world.ask('GET', '/deliveries', as('support'))).text).not.toContain('name="csrf"')
    const refused = await world.ask('GET', '/', as('guests'))
    expect([refused.status, refused.words]).toEqual([
      403,
      expect.stringContaining('the scope read, which no group of ann@example.com has'),
    ])
    expect((await world.ask('POST', '/api/v1/accounts/1001/poll', as('support'))).status).toBe(403)
    expect((await world.ask('POST', '/api/v1/accounts/1001/poll', as('support,ops'))).status).toBe(200)
    const token = '/api/v1/accounts/1001/token'
    expect((await world.ask('GET', token, as('ops'))).status).toBe(403)
    expect((await world.ask('GET', token, as('billing'))).status).toBe(200)
    expect((await world.ask('GET', token, { ...as('billing'), 'sec-fetch-site': 'cross-site' })).status).toBe(403)
  })

  test('a person without a group of the config reads which groups came and which are known, as text and not at any length', async () => {
    const { ask } = await openServer(redis, { trusted: { ...GROUPS, groupsSeparator: '|' } })
    const as = (groups: string) => ask('GET', '/', { ...ANN, 'x-forwarded-groups': groups })
    const refused = await as('staff,ops;<b>guests</b>')
    expect([refused.status, refused.text]).toEqual([
      403,
      expect.stringContaining(
        'X-Forwarded-Groups came with &quot;staff,ops;&lt;b&gt;guests&lt;/b&gt;&quot; (groups are separated by &quot;|&quot;). ' +
          'Groups with scopes: ops, support, billing.',
      ),
    ])
    const many = await as(Array.from({ length: 400 }, (_, n) => `group-${n}`).join('|'))
    expect([many.status, many.words]).toEqual([403, expect.stringContaining('group-1|group-2')])
    expect(many.words.length).toBeLessThan(1_200)
    expect((await as('')).words).toContain('X-Forwarded-Groups came without groups. Groups with scopes: ops')
  })

  test('a page of a stranger whose name leads to this server reads and changes nothing as a person', async () => {
    const world = await openServer(redis, { trusted: HERE })
    const name = 'evil.example:8088'
    const headers = {
      ...ANN,
      host: name,
      origin: `http://${name}`,
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/json',
    }
    const silence = JSON.stringify({ matchers: [{ name: 'account', value: '*' }], comment: 'x', for: '1h' })
    for (const answer of [
      await world.ask('GET', '/api/v1/accounts', headers),
      await world.ask('POST', '/api/v1/silences', headers, silence),
      await world.ask('GET', '/', { ...headers, 'content-type': '' }),
    ]) {
      expect([answer.status, answer.text]).toEqual([
        403,
        expect.stringContaining('works at http://127.0.0.1 (http.publicUrl) only'),
      ])
    }
    expect(await world.deps.silences.active(world.clock.now())).toEqual([])
    expect(world.logs.lines().filter(({ code }) => code === 'http.user-refused')).toMatchObject(
      Array.from({ length: 3 }, () => ({ reason: 'for another host than http.publicUrl' })),
    )
    expect((await world.ask('GET', '/api/v1/accounts', { ...headers, ...BEARER })).status).toBe(200)
  })

  test('an admin token counts before the person, another scheme of the proxy does not; a wrong one is refused', async () => {
    const { ask } = await openServer(redis, { trusted: GROUPS })
    const as = (authorization: string) => ({ ...ANN, 'x-forwarded-groups': 'ops', authorization })
    expect((await ask('GET', '/', as(BEARER.authorization))).words).toContain('Signed in as admin token')
    expect((await ask('GET', '/', as('Basic YW5uOnNlY3JldA=='))).words).toContain('Signed in as ann@example.com')
    expect((await ask('GET', '/api/v1/status', as('Bearer of-the-identity-provider'))).status).toBe(401)
  })

  test('who the proxy names counts, not the session that the browser has left from before', async () => {
    const { ask, signIn } = await openServer(redis, { trusted: HERE })
    const cookie = await signIn()
    expect((await ask('GET', '/', { ...cookie, ...ANN })).words).toContain('Signed in as ann@example.com')
    expect((await ask('GET', '/', cookie)).words).toContain('Signed in as admin token')
  })

  test('a name with markup is text', async () => {
    const { ask } = await openServer(redis, { trusted: HERE })
    const { text } = await ask('GET', '/', { ...ANN, 'x-forwarded-user': '<img src=x onerror=alert(1)>' })
    expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;')
    expect(text).not.toContain('<img src=x')
  })
})

describe('from any other address', () => {
  test('50 calls with a forged header are refused, whatever else they claim, and logged with their address alone', async () => {
    const world = await openServer(redis, { trusted: ELSEWHERE })
    const forged = [
      {},
      { 'x-forwarded-for': '192.0.2.1' },
      { 'x-forwarded-for': '192.0.2.1, 192.0.2.1', forwarded: 'for=192.0.2.1' },
      { 'x-real-ip': '192.0.2.1', 'x-forwarded-host': '192.0.2.1' },
      { host: '192.0.2.1', 'x-forwarded-for': '::ffff:192.0.2.1' },
    ]
    const calls = [
      ['GET', '/'],
      ['GET', '/accounts'],
      ['GET', '/alerts'],
      ['GET', '/metrics'],
      ['GET', '/api/v1/status'],
      ['GET', '/api/v1/accounts/1/token'],
      ['POST', '/api/v1/accounts/1/uninstall'],
      ['POST', '/api/v1/silences'],
      ['POST', '/deliveries/replay'],
      ['POST', '/accounts/1/uninstall'],
    ] as const
    const answers = await Promise.all(
      forged.flatMap((more) =>
        calls.map(([method, path]) => world.ask(method, path, { 'x-forwarded-user': 'mallory', ...more })),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 401))
    const lines = world.logs.lines().filter(({ code }) => code === 'http.user-refused')
    expect(lines).toHaveLength(50)
    expect(lines[0]).toMatchObject({ peer: expect.stringContaining('127.0.0.1'), reason: 'not from a trusted proxy' })
    expect(JSON.stringify(world.logs.lines())).not.toContain('mallory')
  })

  test('an admin token works as ever beside the header', async () => {
    const { ask } = await openServer(redis, { trusted: ELSEWHERE })
    expect((await ask('GET', '/', { ...BEARER, 'x-forwarded-user': 'mallory' })).words).toContain(
      'Signed in as admin token',
    )
    const signedIn = await ask('POST', '/sign-in', { ...FORM, ...ANN }, `token=${ADMIN_TOKEN}`)
    expect(signedIn.status).toBe(303)
  })

  test('without the setting the header means nothing', async () => {
    const world = await openServer(redis)
    expect((await world.ask('GET', '/', ANN)).status).toBe(401)
    expect(world.logs.lines().filter(({ code }) => code === 'http.user-refused')).toEqual([])
  })
})

test('lines that a proxy and Node may read differently end the connection, or name nobody', async () => {
  const { server } = await openServer(redis, { trusted: HERE })
  const { port } = new URL(server.url)
  const statusOf = async (lines: string) => {
    const socket = connect(Number(port), '127.0.0.1')
    socket.write(`GET /accounts HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n${lines}\r\n\r\n`)
    return Number((await text(socket)).slice(9, 12))
  }
  expect(await statusOf('X-Forwarded-User: ann')).toBe(200)
  for (const lines of [
    'X-Forwarded-User : ann',
    'X-Forwarded-User\t: ann',
    ' X-Forwarded-User: ann',
    'Y: z\r\n X-Forwarded-User: ann',
    'X_Forwarded_User: ann',
    'Y: z\nX-Forwarded-User: ann',
    'X-Forwarded-User:',
    'X-Forwarded-User: mallory\r\nX-Forwarded-User: ann',
    'X-Forwarded-User: mallory, ann',
    'X-Forwarded-User: ann\x00',
    'X-Forwarded-User: ann\x7f',
  ]) {
    expect([400, 401], lines).toContain(await statusOf(lines))
  }
})
