import { describe, expect, test } from 'vitest'
import { isFromOurPage } from '../../src/http/access/forms.ts'
import { createSessions } from '../../src/http/access/session.ts'
import { isSameText } from '../../src/runtime/secret.ts'
import { createVault } from '../../src/tokens/vault.ts'
import { redisOfFile } from '../support/of-file.ts'
import { takeDue } from '../support/take-due.ts'
import { badDay } from './in-browser/scenes.ts'
import { ADMIN_TOKEN, FORM, openServer } from './open-server.ts'

const redis = redisOfFile()

type World = Awaited<ReturnType<typeof openServer>>

/** Everything that the forms of the pages can do, one of each. */
const ACTIONS = [
  ['/alerts/0123456789abcdef/acknowledge', 'level=critical'],
  ['/alerts/0123456789abcdef/unacknowledge', ''],
  ['/alerts/selected', 'do=silence&account=1001&shown=1001/0123456789abcdef/critical'],
  ['/silences/new', 'name=account&value=1001&for=1h&comment=x&do=silence'],
  ['/silences/end', 'id=s-23456'],
  ['/deliveries/replay', 'since=30d'],
  ['/deliveries/replay', 'since=30d&receiver=ops-hook'],
  ['/deliveries/test', 'name=ops-hook'],
  ['/accounts/1001/poll', ''],
  ['/accounts/1001/refresh', ''],
  ['/accounts/1001/contact', 'contact=eve@evil.example'],
  ['/accounts/1001/reconnect-link', ''],
  ['/accounts/1001/uninstall', 'reason=x'],
] as const

async function expectNothingDone({ deps, clock }: World): Promise<void> {
  expect(await deps.deliveries.countDead()).toBe(2)
  expect(await deps.silences.active(clock.now())).toEqual([])
  expect(await deps.registry.get(1001)).toMatchObject({ state: 'active', contact: null })
}

/** The page of the open alert of acme. */
async function pathOfAlert({ get }: World): Promise<string> {
  const { text } = await get('/alerts?level=critical')
  return /href="(\/alerts\/[0-9a-f]{16}\?account=1001)"/.exec(text)?.[1] ?? ''
}

describe('a form of a page', () => {
  test('is refused without its token, with a made-up one, and with that of another session', async () => {
    const world = await badDay(redis)
    const { cookie, csrf: own } = await world.signedIn()
    world.clock.move(1_000)
    const { csrf: later } = await world.signedIn()
    expect(own).toMatch(/^[\w-]{43}$/)
    expect(later).not.toBe(own)
    for (const [path, body] of ACTIONS) {
      for (const csrf of ['', 'csrf=', `csrf=${'A'.repeat(43)}`, `csrf=${later}`, `csrf=${later}&csrf=${own}x`]) {
        const answer = await world.ask('POST', path, { ...cookie, ...FORM }, `${body}&${csrf}`)
        expect(answer.status, `${path} ${csrf}`).toBe(403)
        expect(answer.headers['content-type']).toContain('text/html')
      }
    }
    await expectNothingDone(world)
  })

  test.each([
    ['sec-fetch-site', 'cross-site'],
    ['sec-fetch-site', 'same-site'],
    ['sec-fetch-site', 'none'],
    ['origin', 'http://evil.example'],
    ['origin', 'http://127.0.0.1:1'],
    ['origin', 'null'],
  ])('is refused from elsewhere even with the right token: %s: %s', async (name, value) => {
    const world = await badDay(redis)
    const { send } = await world.signedIn()
    for (const [path, body] of ACTIONS) expect((await send(path, body, { [name]: value })).status, path).toBe(403)
    await expectNothingDone(world)
  })

  test('leads to the sign-in page once the session is over, or its admin token was removed', async () => {
    const world = await badDay(redis)
    const { send } = await world.signedIn(await world.addToken('ann', 'read', 'write'))
    await world.steps.hdel(world.keys.adminTokens, 'ann')
    world.clock.move(1_000)
    expect((await send('/deliveries/replay', 'since=30d')).status).toBe(401)
    await expectNothingDone(world)
  })

  test('takes a token with the scope write: others see no button, and get a plain page that says so', async () => {
    const world = await badDay(redis)
    const { see, send } = await world.signedIn(await world.addToken('reader', 'read'))
    for (const path of ['/alerts', '/silences', '/deliveries', '/', '/accounts/1001']) {
      expect((await see(path)).text).not.toMatch(
        /Acknowledge<|>Silence<|Replay|Retry|End now|Send a test|Poll now|Uninstall|signature=/,
      )
    }
    for (const path of ['/silences/new', '/accounts/1001/uninstall']) expect((await see(path)).status).toBe(403)
    for (const [path, body] of ACTIONS) {
      const answer = await send(path, body)
      expect(answer.status, path).toBe(403)
      expect(answer.text).toContain('scope write')
      expect(answer.headers['content-type']).toContain('text/html')
    }
    await expectNothingDone(world)
  })

  test('names who acknowledged, and of an alert that got worse meanwhile says so', async () => {
    const world = await badDay(redis)
    const { see, send } = await world.signedIn()
    const path = await pathOfAlert(world)
    const acknowledge = (level: string) => send(path.replace('?', '/acknowledge?'), `level=${level}&comment=`)
    expect((await acknowledge('warning')).status).toBe(409)
    expect((await see(path)).text).not.toContain('Remove acknowledgement')
    expect(await acknowledge('critical')).toMatchObject({
      status: 303,
      headers: { location: `${path}&done=acknowledged` },
    })
    expect((await acknowledge('critical')).headers.location).toBe(`${path}&done=already`)
    expect((await see('/alerts?mark=acknowledged')).text).toContain('admin token, ends')
    expect((await see('/alerts?mark=active')).text).not.toContain('acme.example.com')
  })

  test('stands before the facts of its alert, and each alert of an account about a limit leads to it and to a silence', async () => {
    const world = await badDay(redis)
    const { see } = await world.signedIn()
    const path = await pathOfAlert(world)
    const { text } = await see(path)
    expect(text.indexOf('id="acknowledge"')).toBeLessThan(text.indexOf('class="facts"'))
    const account = (await see('/accounts/1001')).text
    expect(account).toContain(`href="${path}#acknowledge">Acknowledge<`)
    expect(account).toMatch(
      /href="\/silences\/new\?name=account&amp;value=1001&amp;name=series&amp;value=customProperties\.overall&amp;[^"]*">Silence</,
    )
  })

  test('sets the contact of an account, and an empty one takes it away', async () => {
    const world = await badDay(redis)
    const { see, send } = await world.signedIn()
    const save = async (contact: string) =>
      await send('/accounts/1001/contact', `contact=${encodeURIComponent(contact)}`)
    expect((await save(' ada@acme.example.com ')).headers.location).toBe('/accounts/1001?done=contact-set')
    expect((await see('/accounts/1001')).text).toContain('value="ada@acme.example.com"')
    for (const bad of ['ada', 'a@b, c@d', 'Ada <ada@acme.example.com>', 'a@b\nBcc: c@d']) {
      expect((await save(bad)).status, bad).toBe(400)
    }
    expect((await world.deps.registry.get(1001))?.contact).toBe('ada@acme.example.com')
    expect((await save('')).headers.location).toBe('/accounts/1001?done=contact-removed')
    expect((await world.deps.registry.get(1001))?.contact).toBeNull()
  })

  test('removes an acknowledgement; a second click changes nothing more', async () => {
    const world = await badDay(redis)
    const { see, send } = await world.signedIn()
    const path = await pathOfAlert(world)
    await send(path.replace('?', '/acknowledge?'), 'level=critical')
    expect((await see(path)).text).toContain('<button class="second">Remove acknowledgement</button>')
    const remove = async () => (await send(path.replace('?', '/unacknowledge?'))).headers.location
    expect([await remove(), await remove()]).toEqual([`${path}&done=withdrawn`, `${path}&done=not-acknowledged`])
    const { text } = await see(`${path}&done=not-acknowledged`)
    expect(text).toContain('It was not acknowledged, or the acknowledgement has ended.')
    expect(text).toContain('Acknowledge</button>')
  })

  test('is shown again with what was typed and the words of the operation, and what its address says is never believed', async () => {
    const { see, send } = await (await badDay(redis)).signedIn()
    const answer = await send(
      '/silences/new',
      'name=account&value=a+b&startsAt=now&for=until&endsAt=soon&comment=%3Cb%3E&do=silence',
    )
    expect(answer.status).toBe(400)
    for (const text of ['must be a time like', 'value="a b"', 'value="&lt;b&gt;"']) {
      expect(answer.text).toContain(text)
    }
    expect(answer.text.match(/must be a time like/g)).toHaveLength(2)
    expect((await send('/silences/new', 'name=account&value=a+b&for=1h&comment=x&do=silence')).text).toContain(
      'account must be a hub id',
    )
    const known = await see('/silences/new?name=account&value=1001')
    expect(known.text).toContain('1 open alert matches now.')
    expect(known.text).toMatch(/Why \(required\) <input name="comment" required /)
    // Counting needs no reason.
    expect(known.text).toMatch(/value="check"[^>]* formnovalidate/)
    expect((await send('/silences/new', 'for=1h&comment=x&do=silence')).text).toContain('at least one is needed')
    const noReason = await send('/silences/new', 'name=kind&value=*&for=1h&comment=&do=silence')
    expect(noReason.text).toContain('must not be empty: give the reason')
    const { text } = await see('/alerts?done=%3Cb%3Ehacked&count=9')
    expect(text).not.toMatch(/hacked|role="status"><b>/)
  })
})

test.each([
  ['level has no value', 'name=account&value=1001&name=level&value='],
  ['series has no value', 'name=account&value=1001&name=series'],
  ['&quot;&quot; is not a matcher name', 'name=account&value=1001&value=critical'],
  ['startsAt: must be one text of at most 2,000 characters', `name=account&value=1001&startsAt=${'1'.repeat(2_001)}`],
  ['value.1: must be one text', `name=account&value=1001&name=rule&value=${'x'.repeat(2_001)}`],
  ['startsAt: must be one text', 'name=account&value=1001&startsAt=2100-01-01&startsAt='],
])('a silence that would cover more than was filled in is refused: %s', async (fault, fields) => {
  const world = await badDay(redis)
  const { send } = await world.signedIn()
  const answer = await send('/silences/new', `${fields}&for=1h&comment=x&do=silence`)
  expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(fault)])
  expect(await world.deps.silences.active(world.clock.now())).toEqual([])
})

test('only the button Silence makes a silence', async () => {
  const world = await badDay(redis)
  const { send } = await world.signedIn()
  for (const what of ['', '&do=', '&do=check', '&do=add', '&do=remove-x', '&do=silence&do=check']) {
    const answer = await send('/silences/new', `name=account&value=1001&for=1h&comment=x${what}`)
    expect([what, answer.headers.location]).toEqual([what, undefined])
  }
  expect(await world.deps.silences.active(world.clock.now())).toEqual([])
})

describe('the buttons of an account', () => {
  async function openPage(options: Parameters<typeof openServer>[1] = {}) {
    const world = await openServer(redis, options)
    await world.connectAccount({ hubId: 7, hubDomain: 'acme.example.com' })
    const { see, send } = await world.signedIn()
    return {
      ...world,
      send: (what: string, body = '') => send(`/accounts/7/${what}`, body),
      page: async (path = '/accounts/7') => (await see(path)).text,
    }
  }

  test('poll and refresh now, and lead back to its page', async () => {
    const { send, page } = await openPage()
    expect(await send('poll')).toMatchObject({ status: 303, headers: { location: '/accounts/7?done=polled' } })
    expect(await page('/accounts/7?done=polled')).toContain('Polled: its limits were read.')
    // A reload asks for the same address, as does a link that a stranger made up.
    expect(await page('/accounts/7?done=polled')).not.toContain('Polled: its limits were read.')
    await send('poll')
    expect(await page('/accounts/7?done=uninstalling')).not.toContain('role="status"')
    expect((await send('refresh')).headers.location).toBe('/accounts/7?done=refreshed')
  })

  test('say why nothing was polled or refreshed, in words made harmless, and lead back', async () => {
    const { send } = await openPage({
      actions: {
        poll: async () => ({ account: undefined, reason: 'the answer was <b>503' }),
        refresh: async () => ({ is: 'held', why: 'no <i>route' }),
      },
    })
    const polled = await send('poll')
    expect([polled.status, polled.text]).toEqual([502, expect.stringContaining('answer was &lt;b&gt;503')])
    expect(polled.text).toContain('<a href="/accounts/7">Back</a>')
    const refreshed = await send('refresh')
    expect(refreshed.status).toBe(409)
    expect(refreshed.text).toContain('Account 7 was not refreshed: no &lt;i&gt;route.')
    expect((await send('uninstall', `reason=${'x'.repeat(201)}`)).status).toBe(400)
  })

  test('uninstall it after a page that explains what that does, with the reason', async () => {
    const { send, page, deps } = await openPage()
    expect(await page()).toContain('<a class="button grave" href="/accounts/7/uninstall">')
    const asked = await page('/accounts/7/uninstall')
    expect(asked).toContain('Uninstall acme.example.com?')
    expect(asked).toContain('We revoke the token now and delete all data in 30 days.')
    expect((await send('uninstall', 'reason=left+us')).headers.location).toBe('/accounts/7?done=uninstalling')
    expect(await deps.registry.get(7)).toMatchObject({ state: 'uninstalling', uninstall: { reason: 'left us' } })
    expect(await page()).not.toMatch(/Poll now|href="\/accounts\/7\/uninstall"/)
  })

  test('lead to the provider, where the app is installed from there, and copy a link that reconnects it', async () => {
    const installUrl = 'https://app-eu1.hubspot.com/oauth/authorize'
    const install = {
      clientId: 'c',
      redirectUri: 'https://x.example.com/oauth/callback',
      scopes: [],
      optionalScopes: [],
      marketplaceInstall: false,
    }
    const { page, ask, steps, keys } = await openPage({ install: { ...install, installUrl } })
    const text = await page()
    expect(text).toContain('<a class="button" href="https://app-eu1.hubspot.com/contacts/7" rel="noreferrer">')
    const [, link = ''] = /id="reconnect" value="http:\/\/127\.0\.0\.1([^"]+)"/.exec(text) ?? []
    expect((await ask('GET', link.replaceAll('&amp;', '&'))).status).toBe(302)
    await steps.hset(keys.account(7).account, 'hublet', 'na2')
    expect(await page()).toContain('<a class="button" href="https://app-na2.hubspot.com/contacts/7" rel="noreferrer">')
    expect(await (await openPage()).page()).not.toContain('Open in CRM')
  })
})

test('alerts are found by account, kind and state, and paged without gaps', async () => {
  const world = await badDay(redis)
  const { get } = world
  const accounts = async (query: string) =>
    [...(await get(`/alerts${query}`)).text.matchAll(/href="\/accounts\/(\d+)"/g)].map(([, hubId]) => Number(hubId))
  expect(await accounts('')).toEqual([1001, 1002, 1003])
  expect(await accounts('?account=GLOBEX')).toEqual([1002])
  expect(await accounts('?account=1003')).toEqual([1003])
  expect(await accounts('?kind=fleet')).toEqual([])
  expect((await get('/alerts?kind=fleet')).text).toContain('Redis lost Plimsoll&#39;s data')
  expect(await accounts('?level=warning&kind=limit&account=example')).toEqual([1002, 1003])
  for (const wrong of ['?after=x', '?kind=none', '?mark=x']) expect((await get(`/alerts${wrong}`)).status).toBe(400)
  for (let hubId = 2_000; hubId < 2_120; hubId++) {
    await world.steps.hset(
      world.keys.account(hubId).alerts,
      'overall',
      JSON.stringify({
        level: 'warning',
        rule: 'r',
        since: 1,
        transitions: 1,
        sentAt: 1,
        lastSent: null,
        pending: null,
      }),
    )
    await world.steps.sadd(world.keys.alerting, hubId)
  }
  for (const query of ['', '?sort=account', '?sort=limit', '?sort=age&order=desc']) {
    const seen: string[] = []
    for (let next = `/alerts${query}`; next !== ''; ) {
      const { text } = await get(next)
      seen.push(...[...text.matchAll(/href="\/alerts\/([0-9a-f]{16})[^"#]*">/g)].map(([, id = '']) => id))
      next = /href="(\/alerts\?[^"]*)" rel="next"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? ''
    }
    expect([query, new Set(seen).size, seen.length]).toEqual([query, 124, 124])
  }
})

test('alerts are ordered by the account, the level, the fullness and the age of the worst alert, either way', async () => {
  const world = await badDay(redis)
  const { get } = world
  const [since, now] = [world.clock.now() - 86_400_000, world.clock.now()]
  for (const [hubId, percent, at] of [
    [1001, 96, now],
    [1002, 81, since],
    [1003, 99, now - 1],
  ] as const) {
    const said = { level: 'warning', usage: percent * 10, limit: 1_000, at }
    const level = hubId === 1001 ? 'critical' : 'warning'
    await world.steps.del(world.keys.account(hubId).alerts)
    await world.steps.hset(
      world.keys.account(hubId).alerts,
      'customProperties.overall',
      JSON.stringify({
        level,
        rule: 'r',
        since: at,
        transitions: 1,
        sentAt: at,
        lastSent: { ...said, level },
        pending: null,
      }),
    )
  }
  const order = async (query: string) => {
    const { text } = await get(`/alerts?${query}`)
    return [...text.matchAll(/id="account-(\d+)"/g)].map(([, hubId]) => Number(hubId)).filter((hubId) => hubId > 0)
  }
  expect(await order('sort=account')).toEqual([1001, 1002, 1003])
  expect(await order('sort=account&order=desc')).toEqual([1003, 1002, 1001])
  expect(await order('sort=limit')).toEqual([1003, 1001, 1002])
  expect(await order('sort=age')).toEqual([1002, 1003, 1001])
  expect(await order('order=desc')).toEqual([1002, 1003, 1001])
  expect(await order('sort=age&level=warning')).toEqual([1002, 1003])
  const { text } = await get('/alerts?sort=age&level=warning')
  for (const link of [
    'href="/alerts?level=warning&amp;sort=age&amp;order=desc" aria-current="true">Age ',
    'href="/alerts?level=warning">Level<',
    'href="/alerts?sort=age">all ',
    '<input type="hidden" name="sort" value="age">',
  ])
    expect(text).toContain(link)
  expect((await get('/alerts?sort=x')).status).toBe(400)
})

test('attempts to deliver are narrowed by receiver and outcome, and each names its alert; a receiver is tried again alone', async () => {
  const world = await badDay(redis)
  const { get, deps } = world
  const { text } = await get('/deliveries')
  expect(text).toMatch(/1 message waits, 2 given up/)
  const counts = [...text.matchAll(/data-label="(?:Waiting|Given up)"[^>]*><div><span class="whole">(\d)/g)]
  expect(counts.map(([, count]) => count)).toEqual(['0', '1', '1', '1'])
  expect(text).toContain('data-label="Message"')
  const messages = async (query: string) =>
    [...(await get(`/deliveries${query}`)).text.matchAll(/data-label="Message"><div>(.*?)<\/div>/g)].map(
      ([, one]) => one,
    )
  const [message, ...others] = await messages('?receiver=ops-hook')
  expect([message, others]).toEqual([
    expect.stringContaining('<a href="/accounts/1001">acme.example.com: critical'),
    [],
  ])
  expect(await messages('?receiver=ops-mail')).toHaveLength(2)
  expect(await messages('?outcome=retry&receiver=')).toHaveLength(1)
  expect((await get('/deliveries?outcome=delivered')).text).toContain('No messages.')
  expect((await get('/deliveries?outcome=lost')).status).toBe(400)
  const { send } = await world.signedIn()
  const retry = async (receiver: string) =>
    (await send('/deliveries/replay', `since=30d&receiver=${receiver}`)).headers.location
  expect(await retry('ops-hook')).toBe('/deliveries?done=replayed')
  expect(await deps.deliveries.countDead()).toBe(1)
  // One was given up, the other waits for its next attempt.
  expect(await retry('ops-mail')).toBe('/deliveries?done=replayed')
  expect(await takeDue(deps)).toHaveLength(3)
  expect((await send('/deliveries/replay', 'since=soon')).text).toContain('since: must be a time like')
})

test('the token of a form is good for one session and one key', () => {
  const sessions = (key: number) => createSessions(createVault([{ id: 'k', key: Buffer.alloc(32, key) }]), 'http://x')
  const own = sessions(1).formTokenOf('ann.1.x')
  expect(isSameText(own, sessions(1).formTokenOf('ann.1.x'))).toBe(true)
  for (const other of [
    sessions(1).formTokenOf('ann.2.x'),
    sessions(3).formTokenOf('ann.1.x'),
    `${own}x`,
    own.slice(1),
    '',
    undefined,
    ['x'],
  ]) {
    expect(isSameText(other, own)).toBe(false)
  }
  expect(isSameText('', '')).toBe(false)
})

test.each([
  ['same-origin', undefined, true],
  ['same-origin', 'null', true],
  ['same-site', 'https://plimsoll.example.com', false],
  ['cross-site', undefined, false],
  ['none', undefined, false],
  [undefined, undefined, true],
  [undefined, 'https://plimsoll.example.com', true],
  [undefined, 'http://internal:8088', true],
  [undefined, 'https://plimsoll.example.com.evil.example', false],
  [undefined, 'null', false],
  [undefined, '', false],
])('a form with Sec-Fetch-Site %s and Origin %s is from a page of ours: %s', (site, origin, ours) => {
  const publicUrl = 'https://plimsoll.example.com/'
  expect(isFromOurPage({ site, origin, host: 'internal:8088', publicUrl })).toBe(ours)
})

test('signing in from a form elsewhere is refused, and so is signing out', async () => {
  const { ask, signIn } = await openServer(redis)
  const elsewhere = { ...FORM, 'sec-fetch-site': 'cross-site' }
  expect((await ask('POST', '/sign-in', elsewhere, `token=${ADMIN_TOKEN}`)).status).toBe(403)
  expect((await ask('POST', '/sign-out', { ...elsewhere, ...(await signIn()) })).status).toBe(403)
})
