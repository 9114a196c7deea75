import { describe, expect, test } from 'vitest'
import { alertId, encodeState } from '../../src/alerts/alert-state.ts'
import { NO_ACCOUNT } from '../../src/redis/steps.ts'
import { createVault } from '../../src/tokens/vault.ts'
import { vaultKey } from '../support/accounts.ts'
import { redisOfFile } from '../support/of-file.ts'
import { stateIn } from '../support/state-in.ts'
import { BEARER, FORM, JSON_BODY, openServer, openState, readings } from './open-server.ts'

const redis = redisOfFile()

const DAY = 86_400_000

async function withAlert(level: 'warning' | 'critical' = 'warning') {
  const server = await openServer(redis)
  await server.connectAccount({ hubId: 1, hubDomain: 'one.example.com' })
  const since = server.clock.now()
  await server.poll(1, readings(since, 850), { overall: openState(level, 'the rule', since) })
  const { alerts } = server.keys.account(1)
  const id = alertId(1, 'overall', since)
  const state = async () => stateIn((await server.steps.hget(alerts, 'overall')) ?? '')
  return {
    ...server,
    id,
    state,
    put: (change: Partial<ReturnType<typeof openState>>) =>
      state().then((now) => server.steps.hset(alerts, 'overall', encodeState({ ...now, ...change }))),
    close: () => server.steps.hdel(alerts, 'overall'),
    link: server.deps.ackLinks.pathTo({ hubId: 1, alertId: id }, since),
  }
}

describe('a link to acknowledge', () => {
  test('leads to a page that says what the alert is and has one button, and keeps nothing of who looks', async () => {
    const { ask, link } = await withAlert()
    const { status, headers, text } = await ask('GET', link)
    expect(status).toBe(200)
    for (const said of ['one.example.com (1)', 'warning', 'Custom properties', '850 of 1,000', 'the rule']) {
      expect(text).toContain(said)
    }
    expect(text.match(/<button/g)).toHaveLength(1)
    expect(text).toContain('<meta name="robots" content="noindex, nofollow">')
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex, nofollow, noarchive',
      'content-security-policy': expect.stringContaining("form-action 'self'"),
    })
    expect(headers['content-security-policy']).toContain("default-src 'none'")
    expect(headers).not.toHaveProperty('set-cookie')
    expect(text).not.toContain('<script')
  })

  test('is confirmed by a POST: who, why and until when stand in the state, and the reading that was seen', async () => {
    const { ask, link, state, clock } = await withAlert()
    const answer = await ask('POST', link, FORM, 'by=Ann&comment=asked+them&level=warning')
    expect(answer.status).toBe(200)
    expect(answer.text).toContain('<h1>Acknowledged</h1>')
    const now = clock.now()
    expect((await state()).acknowledged).toEqual({
      at: now,
      until: now + 7 * DAY,
      by: 'Ann, by link',
      comment: 'asked them',
      usage: 850,
      percent: 85,
      remaining: 150,
    })
  })

  test('acknowledges once: again, from the page or by a second click, it says who did', async () => {
    const { ask, link, state } = await withAlert()
    await ask('POST', link, FORM, 'by=Ann')
    const before = await state()
    for (const answer of [await ask('POST', link, FORM, 'by=Bob'), await ask('GET', link)]) {
      expect(answer.status).toBe(200)
      expect(answer.text).toContain('<h1>Already acknowledged</h1>')
      expect(answer.text).toContain('Acknowledged by Ann, by link ')
      expect(answer.text).not.toContain('<button')
    }
    expect(await state()).toEqual(before)
  })

  test('works for two at once: one acknowledges, the other is told so', async () => {
    const { ask, link } = await withAlert()
    const answers = await Promise.all(['Ann', 'Bob'].map((name) => ask('POST', link, FORM, `by=${name}`)))
    const titles = answers.map(({ text }) => /<h1>(.*?)<\/h1>/.exec(text)?.[1])
    expect(titles.sort()).toEqual(['Acknowledged', 'Already acknowledged'])
  })

  test('needs no name, and takes JSON or nothing for a body', async () => {
    const one = await withAlert()
    expect((await one.ask('POST', one.link)).status).toBe(200)
    expect((await one.state()).acknowledged?.by).toBe('the holder of the link')
    const other = await withAlert()
    await other.ask('POST', other.link, JSON_BODY, '{"by":"a script"}')
    expect((await other.state()).acknowledged?.by).toBe('a script, by link')
  })

  test('an acknowledgement that ran out is made anew', async () => {
    const { ask, deps, id, clock, state } = await withAlert()
    const later = () => deps.ackLinks.pathTo({ hubId: 1, alertId: id }, clock.now())
    await ask('POST', later(), FORM, 'by=Ann')
    clock.move(7 * DAY)
    expect((await ask('GET', later())).text).toContain('<button')
    await ask('POST', later(), FORM, 'by=Bob')
    expect((await state()).acknowledged).toMatchObject({ by: 'Bob, by link', at: clock.now() })
  })

  test('says that the alert is not open any more, also where another one has opened since', async () => {
    const one = await withAlert()
    await one.put({ since: one.clock.now() + 5 })
    for (const method of ['GET', 'POST']) {
      const answer = await one.ask(method, one.link)
      expect(answer.status).toBe(404)
      expect(answer.text).toContain('<h1>This alert is not open any more</h1>')
    }
    expect(await one.state()).not.toHaveProperty('acknowledged')
    const other = await withAlert()
    await other.close()
    expect((await other.ask('POST', other.link)).status).toBe(404)
  })

  test('does not acknowledge what got worse since the page was shown; what got better it does', async () => {
    const worse = await withAlert()
    await worse.put({ level: 'critical', transitions: 2 })
    const answer = await worse.ask('POST', worse.link, FORM, 'by=Ann&level=warning')
    expect(answer.status).toBe(409)
    expect(answer.text).toContain('<h1>This alert got worse meanwhile</h1>')
    expect(await worse.state()).not.toHaveProperty('acknowledged')
    expect((await worse.ask('POST', worse.link, FORM, 'by=Ann&level=critical')).status).toBe(200)

    const better = await withAlert('critical')
    await better.put({ level: 'warning', transitions: 2 })
    expect((await better.ask('POST', better.link, FORM, 'level=critical')).status).toBe(200)
    expect(await better.state()).toHaveProperty('acknowledged')
  })

  test('expires', async () => {
    const { ask, link, clock, state } = await withAlert()
    clock.move(7 * DAY - 1_000)
    expect((await ask('GET', link)).status).toBe(200)
    clock.move(1_000)
    for (const method of ['GET', 'POST']) {
      const answer = await ask(method, link)
      expect(answer.status).toBe(410)
      expect(answer.text).toContain('<h1>This link has expired</h1>')
    }
    expect(await state()).not.toHaveProperty('acknowledged')
  })

  test.each<[string, (query: URLSearchParams) => void]>([
    ['another account', (query) => query.set('account', '2')],
    ['another alert', (query) => query.set('alert', '0123456789abcdef')],
    ['a later end', (query) => query.set('until', String(Number(query.get('until')) + 1))],
    ['another signature', (query) => query.set('signature', 'A'.repeat(43))],
    ['no signature', (query) => query.delete('signature')],
    ['an empty signature', (query) => query.set('signature', '')],
    ['two alerts', (query) => query.append('alert', String(query.get('alert')))],
    ['no number', (query) => query.set('until', '1e99')],
    [
      'nothing at all',
      (query) => {
        for (const name of [...query.keys()]) query.delete(name)
      },
    ],
  ])('that was changed (%s) is refused', async (_what, change) => {
    const { ask, link, state } = await withAlert()
    const query = new URLSearchParams(link.split('?')[1])
    change(query)
    for (const method of ['GET', 'POST']) {
      const answer = await ask(method, `/acknowledge?${query}`)
      expect(answer.status).toBe(403)
      expect(answer.text).toContain('<h1>This link is not valid</h1>')
    }
    expect(await state()).not.toHaveProperty('acknowledged')
  })

  test('is good under each of the encryption keys, the first one signs, and under no other', async () => {
    const { ask, deps, link } = await withAlert()
    const [k1, k2] = [vaultKey, { id: 'k2', key: Buffer.alloc(32, 2) }]
    deps.connect.vault.replace([k2, k1])
    expect((await ask('GET', link)).status).toBe(200)
    expect(deps.connect.vault.deriveEach('acknowledge')).toEqual([
      createVault([k2]).derive('acknowledge'),
      createVault([k1]).derive('acknowledge'),
    ])
    deps.connect.vault.replace([k2])
    expect((await ask('GET', link)).status).toBe(403)
  })

  test('takes along nothing that somebody added to it', async () => {
    const { ask, link } = await withAlert()
    const { text } = await ask('GET', `${link}&next=%22%3E%3Cscript%3E&x=1`)
    expect(text).not.toContain('script')
    expect(text).toContain(`action="?${link.split('?')[1]?.replaceAll('&', '&amp;')}"`)
  })

  test('works where a proxy has the server under a path: the button leads back to where the page is', async () => {
    const { ask, link, state } = await withAlert()
    const under = new URL(`https://ops.example.com/plimsoll${link}`)
    const { text } = await ask('GET', link)
    const action = (/action="([^"]*)"/.exec(text)?.[1] ?? '').replaceAll('&amp;', '&')
    const target = new URL(action, under)
    expect(target.href).toBe(under.href)
    await ask('POST', target.href.slice('https://ops.example.com/plimsoll'.length), FORM, 'by=Ann')
    expect(await state()).toHaveProperty('acknowledged')
  })

  test('of an account with the longest of ids works', async () => {
    const server = await openServer(redis)
    const hubId = Number.MAX_SAFE_INTEGER
    const link = server.deps.ackLinks.pathTo({ hubId, alertId: '0123456789abcdef' }, server.clock.now())
    expect((await server.ask('GET', link)).text).toContain('not open any more')
  })

  test('takes a name and a comment as one line that can be read, and nothing for what cannot', async () => {
    const { ask, link, state } = await withAlert()
    const comment = '\u202e<i>\u001b[31mred\r\nby: the boss'
    await ask('POST', link, FORM, String(new URLSearchParams({ by: '\u200b\u2060', comment })))
    expect((await state()).acknowledged).toMatchObject({
      by: 'the holder of the link',
      comment: '<i> [31mred by: the boss',
    })
  })

  test.each([
    ['a name of a megabyte', FORM, `by=${'a'.repeat(1_000_000)}`, 413],
    ['a name that is too long', FORM, `by=${'a'.repeat(101)}`, 400],
    ['a comment that is too long', FORM, `comment=${'a'.repeat(501)}`, 400],
    ['thousands of fields', FORM, 'by=&'.repeat(20_000), 413],
    ['a level that there is none of', FORM, 'level=ok', 400],
    ['broken JSON', JSON_BODY, '{"by":', 400],
    ['a list of names', JSON_BODY, '{"by":["a","b"]}', 400],
    ['a prototype', JSON_BODY, '{"__proto__":{"by":"x"}}', 400],
    ['a file', { 'content-type': 'multipart/form-data; boundary=x' }, '--x--', 415],
    ['plain text', { 'content-type': 'text/plain' }, 'by=Ann', 415],
  ])('refuses %s, and changes nothing', async (_what, headers, body, status) => {
    const { ask, link, state } = await withAlert()
    const before = await state()
    expect((await ask('POST', link, headers, body)).status).toBe(status)
    expect(await state()).toEqual(before)
  })

  test('that was forged tells no account, whether there is one or not', async () => {
    const { ask, link } = await withAlert()
    const query = new URLSearchParams(link.split('?')[1])
    query.set('signature', 'A'.repeat(43))
    const there = await ask('GET', `/acknowledge?${query}`)
    query.set('account', '404')
    const nowhere = await ask('GET', `/acknowledge?${query}`)
    expect(there.text).toBe(nowhere.text)
    expect(there.text).not.toContain('example.com')
  })

  test('of an alert about the whole fleet works as well', async () => {
    const server = await openServer(redis)
    const since = server.clock.now()
    await server.fleetAlerts({ coverage: openState('critical', 'fleet', since) })
    const link = server.deps.ackLinks.pathTo(
      { hubId: NO_ACCOUNT, alertId: alertId(NO_ACCOUNT, 'coverage', since) },
      since,
    )
    expect((await server.ask('GET', link)).text).toContain('All accounts')
    expect((await server.ask('POST', link, FORM, 'by=Ann')).status).toBe(200)
    const stored = await server.steps.hget(server.keys.account(NO_ACCOUNT).alerts, 'coverage')
    expect(stateIn(stored ?? '').acknowledged).toMatchObject({ by: 'Ann, by link' })
  })

  test('says what a stranger called an account, and does no harm with it', async () => {
    const server = await openServer(redis)
    const hubDomain = '<img src=x>"\u202eevil.example.com'
    await server.connectAccount({ hubId: 1, hubDomain })
    const since = server.clock.now()
    await server.poll(1, readings(since, 850), { overall: openState('warning', '<b>rule', since) })
    const link = server.deps.ackLinks.pathTo({ hubId: 1, alertId: alertId(1, 'overall', since) }, since)
    for (const { text } of [await server.ask('GET', link), await server.ask('POST', link, FORM, 'by=%3Cb%3Eme')]) {
      expect(text).not.toMatch(/<img src=x|<b>rule|<b>me|\u202e/)
    }
    expect((await server.ask('GET', link)).text).toContain('&lt;b&gt;me')
  })
})

/** What mail gateways, link previews and browsers send to see what is behind a link, before anybody clicks. */
const SCANNERS: [string, string, Record<string, string>][] = [
  ['a gateway', 'GET', { 'user-agent': 'Mozilla/5.0 (compatible; Barracuda Sentinel)' }],
  ['a gateway that only asks', 'HEAD', { 'user-agent': 'BingPreview/1.0b' }],
  ['a browser that prefetches', 'GET', { 'sec-purpose': 'prefetch', 'sec-fetch-mode': 'no-cors' }],
  ['one that prerenders', 'GET', { 'sec-purpose': 'prefetch;prerender', purpose: 'prefetch' }],
  ['an old one', 'GET', { 'x-moz': 'prefetch' }],
  ['one that overrides the method', 'GET', { 'x-http-method-override': 'POST', 'x-http-method': 'POST' }],
  ['one with a form’s headers', 'GET', { ...FORM, origin: 'http://127.0.0.1', 'sec-fetch-user': '?1' }],
  ['a cross-site navigation', 'GET', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }],
  ['a CORS preflight', 'OPTIONS', { origin: 'https://mail.example.com', 'access-control-request-method': 'POST' }],
  ['an odd method', 'PUT', {}],
]

test.each(SCANNERS)('%s (%s) acknowledges nothing', async (_who, method, headers) => {
  const { ask, link, state } = await withAlert()
  const before = await state()
  for (const address of [link, `${link}&_method=POST`, `${link}&by=Ann&level=warning`]) {
    const answer = await ask(method, address, headers)
    expect(answer.status).toBe(method === 'GET' || method === 'HEAD' ? 200 : 405)
    expect(answer.headers).not.toHaveProperty('set-cookie')
  }
  expect(await state()).toEqual(before)
})

describe('over the API an alert is acknowledged', () => {
  const post = (path: string, body?: object) =>
    ['POST', path, { ...BEARER, ...JSON_BODY }, body === undefined ? undefined : JSON.stringify(body)] as const

  test('by its id, with or without the number of a transition, or by how it begins', async () => {
    for (const written of [(id: string) => id, (id: string) => `${id}-3`, (id: string) => id.slice(0, 6)]) {
      const { ask, id, get, clock } = await withAlert()
      const answer = await ask(...post(`/api/v1/alerts/${written(id)}/acknowledge`, { comment: 'on it' }))
      const at = new Date(clock.now()).toISOString()
      const acknowledged = { at, by: 'config', comment: 'on it', until: new Date(clock.now() + 7 * DAY).toISOString() }
      expect(answer).toMatchObject({ status: 200, json: { id, hubId: 1, outcome: 'acknowledged', acknowledged } })
      expect((await get('/api/v1/alerts')).json.items).toMatchObject([{ acknowledged }])
    }
  })

  test('once; unknown ones and those that got closed are 404, as problem details', async () => {
    const { ask, id, close } = await withAlert()
    await ask(...post(`/api/v1/alerts/${id}/acknowledge`, { by: 'ann' }))
    expect((await ask(...post(`/api/v1/alerts/${id}/acknowledge`))).json).toMatchObject({
      outcome: 'already',
      acknowledged: { by: 'ann' },
    })
    await close()
    for (const unknown of [id, id.slice(0, 5), 'zzzzzz', '%2e%2e']) {
      const answer = await ask(...post(`/api/v1/alerts/${unknown}/acknowledge`))
      expect(answer.status, unknown).toBe(404)
      expect(answer.headers['content-type']).toContain('application/problem+json')
    }
  })

  test('and take that back: then the alert repeats as if nobody had acknowledged it', async () => {
    const { ask, id, state } = await withAlert()
    const before = await state()
    await ask(...post(`/api/v1/alerts/${id}/acknowledge`))
    const path = `/api/v1/alerts/${id}/unacknowledge`
    expect((await ask(...post(path))).json).toEqual({ id, hubId: 1, outcome: 'withdrawn' })
    expect(await state()).toEqual(before)
    expect((await ask(...post(path))).json).toMatchObject({ outcome: 'not-acknowledged' })
  })
})
