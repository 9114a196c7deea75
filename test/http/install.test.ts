import { describe, expect, test } from 'vitest'
import { finishGrant } from '../../src/accounts/finish-grant.ts'
import { finishInstall, reconnectLink } from '../../src/accounts/install.ts'
import type { FailureClass } from '../../src/provider/failure.ts'
import { claimGrants } from '../../src/tokens/parked-grants.ts'
import { PendingTokens } from '../../src/tokens/pending-tokens.ts'
import { dump } from '../support/accounts.ts'
import { openEndpoint } from '../support/endpoint.ts'
import { eventually } from '../support/fleet.ts'
import { memoryFile } from '../support/memory-file.ts'
import { redisOfFile } from '../support/of-file.ts'
import { ACCESS_TOKEN, openServer, REFRESH_TOKEN } from './open-server.ts'

const redis = redisOfFile()

const CODE = 'code-that-nobody-may-see'

test('the install link leads to the provider with a fresh state each time', async () => {
  const { ask } = await openServer(redis)
  const answers = [await ask('GET', '/install'), await ask('GET', '/install')]
  const [first, second] = answers.map(({ status, headers }) => {
    expect(status).toBe(302)
    return new URL(String(headers.location)).searchParams
  })
  expect(first?.get('client_id')).toBe('the-client')
  expect(first?.get('scopes')).toBe('oauth crm.objects.contacts.read')
  expect(first?.get('state')).toMatch(/^[\w.-]{60,100}$/)
  expect(second?.get('state')).not.toBe(first?.get('state'))
})

test('a finished install stores the account, says so, and wakes the pollers', async () => {
  const { ask, beginInstall, provider, deps, woken } = await openServer(redis)
  provider.customer = { hubId: 123, hubDomain: 'acme.example.com' }
  const { status, text } = await ask('GET', `/oauth/callback?code=${CODE}&state=${await beginInstall()}`)
  expect(status).toBe(200)
  expect(text).toContain('<b>acme.example.com</b> is connected to the app.')
  expect(text).not.toContain('A permission is missing')
  expect((await deps.registry.get(123))?.state).toBe('active')
  expect(provider.codes).toEqual([CODE])
  expect(woken).toEqual(['poll-limits', 'alerts'])
})

test('an account that comes back is greeted as one', async () => {
  const { ask, beginInstall, connectAccount } = await openServer(redis)
  await connectAccount({ hubId: 123 })
  const { text } = await ask('GET', `/oauth/callback?code=${CODE}&state=${await beginInstall()}`)
  expect(text).toContain('Connected again')
  expect(text).toContain('<b>account 123</b>')
})

test.each([
  [['oauth'], true],
  [[], true],
  [['oauth', 'crm.schemas.contacts.read'], true],
  [['oauth', 'tickets'], false],
  [['e-commerce'], false],
  [['media_bridge.read'], false],
  [['crm.objects.custom.write'], false],
])('with the scopes %j the page warns that limits cannot be read: %s', async (scopes, warns) => {
  const { ask, beginInstall, provider } = await openServer(redis)
  provider.customer = { hubId: 5, scopes }
  const { status, text } = await ask('GET', `/oauth/callback?code=${CODE}&state=${await beginInstall()}`)
  expect([status, text.includes('A permission is missing')]).toEqual([200, warns])
})

test('pollers that cannot be woken do not spoil a finished install', async () => {
  const connected = () => Promise.reject(new Error('the queue is away'))
  const { ask, beginInstall } = await openServer(redis, { connected })
  const { status, text } = await ask('GET', `/oauth/callback?code=${CODE}&state=${await beginInstall()}`)
  expect([status, text.includes('the queue is away')]).toEqual([200, false])
})

test('a state works once, and none that we did not make works at all', async () => {
  const { ask, beginInstall, provider } = await openServer(redis)
  const state = await beginInstall()
  expect((await ask('GET', `/oauth/callback?code=${CODE}&state=${state}`)).status).toBe(200)
  const forged = ['A'.repeat(32), '', 'x', `${state}&state=${await beginInstall()}`, '*'.repeat(32)]
  for (const bad of forged) {
    const answer = await ask('GET', `/oauth/callback?code=${CODE}&state=${bad}`)
    expect(answer.status, bad).toBe(400)
    expect(answer.text).toContain('no longer works')
  }
  expect((await ask('GET', `/oauth/callback?code=${CODE}`)).status).toBe(400)
  expect((await ask('GET', `/oauth/callback?code=another&state=${state}`)).status).toBe(400)
  expect(provider.codes).toHaveLength(1)
})

describe('a second visit while the code is exchanged', () => {
  async function begun() {
    const opened = await openServer(redis)
    const { provider, ask, clock, beginInstall } = opened
    provider.customer = { hubId: 123, hubDomain: 'acme.example.com' }
    const answered = Promise.withResolvers<void>()
    provider.answers = answered.promise
    const path = `/oauth/callback?code=${CODE}&state=${await beginInstall()}`
    const first = ask('GET', path)
    await eventually('the exchange', async () => provider.codes.length === 1)
    return { ...opened, path, first, answer: answered.resolve, visit: () => clock.pass(ask('GET', path)) }
  }

  test('waits, and shows the success of the first', async () => {
    const { clock, ask, path, first, answer, provider, get } = await begun()
    const second = ask('GET', path)
    await clock.sleeper(200)
    answer()
    const { status, text } = await first
    expect([status, text.includes('<b>acme.example.com</b> is connected')]).toEqual([200, true])
    expect(await clock.pass(second)).toMatchObject({ status, text })
    expect(provider.codes).toEqual([CODE])
    expect((await get('/metrics')).text).toContain('plimsoll_installs_total{outcome="connected"} 1')
  })

  test('waits no longer than 15 seconds; its page asks again by itself', async () => {
    const { visit, first, answer } = await begun()
    const { status, text, headers } = await visit()
    expect([status, headers['retry-after']]).toEqual([503, '5'])
    expect(text).toContain('<meta http-equiv="refresh" content="5">')
    expect(text).not.toContain('Nothing was changed')
    answer()
    await first
    expect((await visit()).status).toBe(200)
  })

  test('of another daemon waits, too', async () => {
    const { deps, clock, path, first, answer } = await begun()
    const [, state = ''] = /state=(.*)/.exec(path) ?? []
    const elsewhere = { ...deps.connect, pending: new PendingTokens({ ...deps.connect, file: memoryFile() }) }
    const second = finishInstall(elsewhere, { code: CODE, state })
    await clock.sleeper(200)
    answer()
    await first
    expect(await clock.pass(second)).toMatchObject({ is: 'shown-again', success: { is: 'connected', hubId: 123 } })
  })

  test('with another code learns nothing', async () => {
    const { ask, path, first, answer } = await begun()
    const { status, text } = await ask('GET', path.replace(CODE, 'another'))
    expect([status, text.includes('no longer works')]).toEqual([400, true])
    answer()
    await first
  })

  test('of a daemon that died waits no more', async () => {
    const { ask, path, clock, first, answer } = await begun()
    clock.move(5 * 60_000 + 1)
    expect((await ask('GET', path)).status).toBe(400)
    answer()
    await first
  })
})

test.each(['', '&state=forged', 'good'])(
  'a refusal with the state "%s" is a page of its own without its code, and a way back',
  async (given) => {
    const { ask, beginInstall, provider, logs } = await openServer(redis)
    const state = given === 'good' ? `&state=${await beginInstall()}` : given
    const { status, text } = await ask('GET', `/oauth/callback?error=access_denied%3Cb%3E${state}`)
    expect(status).toBe(403)
    expect(text).toContain(
      '<p>The connection to the app was canceled. Nothing was changed in your HubSpot account.</p>',
    )
    expect(text).toContain('<a class="button main" href="/install">Try again</a>')
    expect([text.includes('access_denied'), provider.codes]).toEqual([false, []])
    expect(logs.lines()).toContainEqual(expect.objectContaining({ code: 'install.failed', reason: 'access_denied<b>' }))
  },
)

describe('an install from the marketplace', () => {
  const RETURN = 'https://app-eu1.hubspot.com/installed?a=1'
  const returnTo = (address: string) => `returnUrl=${encodeURIComponent(address)}`
  const open = async (marketplaceInstall: boolean) => {
    const opened = await openServer(redis, {
      install: {
        installUrl: 'https://provider.example.com/authorize',
        clientId: 'the-client',
        scopes: ['oauth'],
        redirectUri: 'https://plimsoll.example.com/oauth/callback',
        optionalScopes: [],
        marketplaceInstall,
      },
    })
    const visit = (query: string) => opened.ask('GET', `/oauth/callback?${query}`)
    return { ...opened, visit }
  }

  test('connects by a code without a state, and goes back: a second visit, too', async () => {
    const { visit, provider, deps } = await open(true)
    provider.customer = { hubId: 123 }
    for (let n = 0; n < 2; n++) {
      const { status, headers } = await visit(`code=${CODE}&${returnTo(RETURN)}`)
      expect([status, headers.location]).toEqual([302, RETURN])
    }
    expect([provider.codes, (await deps.registry.get(123))?.state]).toEqual([[CODE], 'active'])
  })

  test('with partner sign-in gets a state, and then connects by it, once', async () => {
    const { visit, provider } = await open(true)
    const begun = await visit(`step=authorize&${returnTo(RETURN)}`)
    expect(begun.status).toBe(302)
    expect(begun.headers.location).toMatch(/^https:\/\/app-eu1\.hubspot\.com\/installed\?a=1&state=[\w.-]{60,100}$/)
    const state = new URL(begun.headers.location ?? '').searchParams.get('state') ?? ''
    const finalize = (code: string) => visit(`step=finalize&code=${code}&state=${state}&${returnTo(RETURN)}`)
    const { status, headers } = await finalize(CODE)
    expect([status, headers.location]).toEqual([302, RETURN])
    expect((await finalize('another')).status).toBe(400)
    expect(provider.codes).toEqual([CODE])
  })

  test('that the provider refuses has a page, and goes nowhere', async () => {
    const { visit, provider } = await open(true)
    provider.tokenFailure = { class: 'rejected', code: 'BAD_AUTH_CODE', message: 'no', status: 400 }
    const { status, headers } = await visit(`code=${CODE}&${returnTo(RETURN)}`)
    expect([status, headers.location]).toEqual([422, undefined])
  })

  const ADDRESS = 'The link is not complete'
  const MARKETPLACE = 'The HubSpot Marketplace can&#39;t connect this app'
  test.each([
    [true, `code=${CODE}&${returnTo('https://evil.example/')}`, 400, ADDRESS],
    [true, `code=${CODE}&${returnTo(RETURN)}&${returnTo(RETURN)}`, 400, ADDRESS],
    [true, `step=authorize&${returnTo('https://app.hubspot.com.evil.example/')}`, 400, ADDRESS],
    [true, 'step=authorize', 400, ADDRESS],
    [true, `step=finalize&code=${CODE}&state=x`, 400, ADDRESS],
    [true, `step=finalize&code=${CODE}&state=forged&${returnTo(RETURN)}`, 400, 'no longer works'],
    [true, `code=${CODE}&state=x&state=y&${returnTo(RETURN)}`, 400, 'no longer works'],
    [true, `error=access_denied&${returnTo(RETURN)}`, 403, 'Not connected'],
    [false, `code=${CODE}&${returnTo(RETURN)}`, 403, MARKETPLACE],
    [false, `step=authorize&${returnTo(RETURN)}`, 403, MARKETPLACE],
    [false, `step=finalize&code=${CODE}&state=x&${returnTo(RETURN)}`, 403, MARKETPLACE],
  ])('allowed: %s, %s goes nowhere and redeems nothing', async (isAllowed, query, expected, words) => {
    const { visit, provider } = await open(isAllowed)
    const { status, headers, text } = await visit(query)
    expect([status, headers.location, text.includes(words)]).toEqual([expected, undefined, true])
    expect(provider.codes).toEqual([])
  })
})

describe('a success that is loaded again', () => {
  async function installed() {
    const opened = await openServer(redis)
    opened.provider.customer = { hubId: 123, hubDomain: 'acme.example.com' }
    const path = `/oauth/callback?code=${CODE}&state=${await opened.beginInstall()}`
    const first = await opened.ask('GET', path)
    return { ...opened, path, first, again: () => opened.ask('GET', path) }
  }

  test('is the same page, and nothing is exchanged, stored, counted or woken', async () => {
    const { again, first, provider, steps, keys, woken, get } = await installed()
    const before = await dump(steps, keys)
    for (let n = 0; n < 3; n++) {
      const { status, text } = await again()
      expect([status, text]).toEqual([200, first.text])
    }
    expect([provider.codes, woken, await dump(steps, keys)]).toEqual([[CODE], ['poll-limits', 'alerts'], before])
    expect((await get('/metrics')).text).toContain('plimsoll_installs_total{outcome="connected"} 1')
  })

  test('is over with the state, with the account, and where what was kept of it is unreadable', async () => {
    const { again, deps, clock, keys, path } = await installed()
    const { account } = keys.account(123)
    await deps.store.hset(account, 'state', 'uninstalled')
    expect((await again()).status).toBe(400)
    await deps.store.hset(account, 'state', 'active')
    expect((await again()).status).toBe(200)
    const used = keys.usedInstallState(/state=([^.]+)/.exec(path)?.[1] ?? '')
    const noted = (await deps.store.get(used)) ?? ''
    for (const unreadable of ['1', '', 'connected 123 ', noted.replace('123', '12x'), noted.slice(0, -1)]) {
      await deps.store.set(used, unreadable)
      expect((await again()).status, unreadable).toBe(400)
    }
    await deps.store.del(used)
    await deps.store.rpush(used, 'other type')
    expect((await again()).status).toBe(400)
    await deps.store.del(used)
    await deps.store.set(used, noted)
    clock.move(3_600_000)
    expect((await again()).status).toBe(400)
  })

  test('of which the provider has not said yet whose it is is that page, too', async () => {
    const { ask, beginInstall, provider } = await openServer(redis)
    provider.metadataFailure = { class: 'forbidden', code: 'x', message: 'not now', status: 403 }
    const path = `/oauth/callback?code=${CODE}&state=${await beginInstall()}`
    const answers = [await ask('GET', path), await ask('GET', path)]
    expect(answers.map(({ status }) => status)).toEqual([202, 202])
    expect(answers[1]?.text).toBe(answers[0]?.text)
  })
})

test('every page of an install names the app; the account only to the holder of a link that was signed for it', async () => {
  const { ask, connectAccount, deps, clock } = await openServer(redis, { brand: { name: 'Acme <Sync>' } })
  await connectAccount({ hubId: 123, hubDomain: 'acme.example.com' })
  const { url } = reconnectLink(deps.connect.vault, '', 123, clock.now())
  const { headers } = await ask('GET', url)
  const state = new URL(String(headers.location)).searchParams.get('state') ?? ''
  const page = async (of: string) => (await ask('GET', `/oauth/callback?error=access_denied&state=${of}`)).text
  expect(await page(state)).toContain('Try again with acme.example.com</a>')
  for (const forged of [`${state.slice(0, -1)}_`, state.replace('.123.', '.124.')]) {
    expect(await page(forged)).toContain('Acme &lt;Sync&gt;')
    expect(await page(forged)).not.toContain('acme')
  }
})

test('looking at the addresses with HEAD uses nothing up', async () => {
  const { ask, beginInstall } = await openServer(redis)
  const state = await beginInstall()
  expect((await ask('HEAD', `/oauth/callback?code=${CODE}&state=${state}`)).status).toBe(405)
  expect((await ask('HEAD', '/install')).status).toBe(405)
  expect((await ask('GET', `/oauth/callback?code=${CODE}&state=${state}`)).status).toBe(200)
})

test.each(['', '&code=', '&code=a&code=b'])('without one code (%j) it says that something is missing', async (code) => {
  const { ask, beginInstall } = await openServer(redis)
  const { status, text } = await ask('GET', `/oauth/callback?state=${await beginInstall()}${code}`)
  expect([status, text.includes('HubSpot did not finish the connection')]).toEqual([400, true])
})

test.each<[FailureClass, string, number, string]>([
  ['rejected', 'BAD_AUTH_CODE', 422, 'did not accept the approval'],
  ['client', 'BAD_CLIENT_SECRET', 502, 'HubSpot does not accept this app'],
  ['client', 'BAD_REDIRECT_URI', 502, 'contact the vendor of the app'],
  ['transient', 'intermediary', 503, 'HubSpot could not be reached'],
  ['transient', '503', 503, 'Try again in a moment'],
  ['parked', '477', 503, 'could not be reached'],
])('when the provider says %s (%s) the page says %i: %s', async (failure, code, status, words) => {
  const { ask, beginInstall, provider, woken } = await openServer(redis)
  const message = 'words of the provider that are for the log'
  provider.tokenFailure = { class: failure, code, message, status: 400, retryAfterMs: 7_200 }
  const answer = await ask('GET', `/oauth/callback?code=${CODE}&state=${await beginInstall()}`)
  expect(answer.status).toBe(status)
  expect(answer.text).toContain(words)
  expect(answer.text).not.toContain(message)
  expect(answer.headers['retry-after']).toBe(status === 503 ? '8' : undefined)
  expect(woken).toEqual([])
})

test('neither pages nor the log ever show a token, a code or a state', async () => {
  const { ask, beginInstall, provider, logs } = await openServer(redis)
  const [used, unused] = [await beginInstall(), await beginInstall()]
  const texts: string[] = []
  for (const failure of [undefined, 'rejected', 'client', 'transient'] as const) {
    provider.tokenFailure =
      failure === undefined ? undefined : { class: failure, code: 'x', message: failure, status: 400 }
    const state = failure === undefined ? used : await beginInstall()
    texts.push((await ask('GET', `/oauth/callback?code=${CODE}&state=${state}`)).text)
    texts.push((await ask('GET', `/oauth/callback?code=${CODE}&state=${state}`)).text)
  }
  texts.push((await ask('GET', `/oauth/callback?error=no&code=${CODE}&state=${unused}`)).text)
  for (const secret of [ACCESS_TOKEN, REFRESH_TOKEN, CODE, used, unused]) {
    expect(texts.join()).not.toContain(secret)
    expect(logs.text()).not.toContain(secret)
  }
  expect(logs.lines()).toContainEqual(
    expect.objectContaining({ code: 'http.request', method: 'GET', route: '/oauth/callback', status: 200 }),
  )
})

test('nothing is kept of installs that are begun, however many there are', async () => {
  const { ask, steps, keys } = await openServer(redis)
  const before = await dump(steps, keys)
  const answers = await Promise.all(Array.from({ length: 200 }, () => ask('GET', '/install')))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([302]))
  expect(await dump(steps, keys)).toEqual(before)
})

test('while the provider wants no calls the page waits, and the same address works afterwards', async () => {
  const { ask, beginInstall, provider, door, clock } = await openServer(redis)
  door.closedUntil = clock.now() + 41_500
  const path = `/oauth/callback?code=${CODE}&state=${await beginInstall()}`
  const { status, headers, text } = await ask('GET', path)
  expect([status, headers['retry-after'], provider.codes]).toEqual([503, '42', []])
  expect(text).toContain('tries again by itself in 42 seconds')
  expect(text).toContain('<meta http-equiv="refresh" content="42">')
  expect(text).not.toContain(CODE)
  door.closedUntil = undefined
  expect((await ask('GET', path)).status).toBe(200)
  expect(provider.codes).toEqual([CODE])
})

test('an install that fails is a line of the log with its address and why, and counted by outcome', async () => {
  const { ask, get, beginInstall, provider, door, clock, logs } = await openServer(redis)
  const come = async (query: string) => ask('GET', `/oauth/callback?state=${await beginInstall()}&${query}`)
  await ask('GET', `/oauth/callback?code=${CODE}&state=forged`, { 'x-forwarded-for': '203.0.113.7' })
  await come('error=access_denied')
  await come('code=')
  provider.tokenFailure = { class: 'rejected', code: 'BAD_AUTH_CODE', message: 'no such code', status: 400 }
  await come(`code=${CODE}`)
  provider.tokenFailure = { class: 'transient', code: '503', message: 'out of order', status: 503 }
  await come(`code=${CODE}`)
  door.closedUntil = clock.now() + 1_000
  await come(`code=${CODE}`)
  const failed = logs.lines().filter(({ code }) => code === 'install.failed')
  expect(failed.map(({ outcome, address, reason }) => [outcome, address, reason])).toEqual([
    ['bad-state', '203.0.113.7', undefined],
    ['refused', '127.0.0.1', 'access_denied'],
    ['no-code', '127.0.0.1', undefined],
    ['rejected', '127.0.0.1', 'no such code'],
    ['failed', '127.0.0.1', 'out of order'],
    ['waits', '127.0.0.1', undefined],
  ])
  const { text } = await get('/metrics')
  for (const { outcome } of failed) expect(text).toContain(`plimsoll_installs_total{outcome="${outcome}"} 1`)
  expect(text).toContain('plimsoll_installs_total{outcome="connected"} 0')
})

test('a flood of forged callbacks writes so many lines a minute and no more; the next line says how many are missing', async () => {
  const { ask, clock, logs } = await openServer(redis)
  const forged = () => ask('GET', `/oauth/callback?code=${CODE}&state=forged`)
  const failed = () => logs.lines().filter(({ code }) => code === 'install.failed')
  for (let n = 0; n < 100; n++) await forged()
  expect(failed()).toHaveLength(60)
  clock.move(60_000)
  await forged()
  expect(failed().at(-1)).toMatchObject({ unlogged: 40 })
})

describe('a link that reconnects one account', () => {
  async function open() {
    const opened = await openServer(redis)
    await opened.connectAccount({ hubId: 123, hubDomain: 'acme.example.com' })
    const { url, expiresAt } = reconnectLink(opened.deps.connect.vault, 'https://x.test', 123, opened.clock.now())
    const link = url.replace('https://x.test', '')
    const begin = async (path: string) => {
      const { status, headers } = await opened.ask('GET', path)
      expect(status).toBe(302)
      return new URL(String(headers.location)).searchParams.get('state') ?? ''
    }
    return { ...opened, link, expiresAt, begin }
  }

  test('leads to the provider and connects the account, any number of times', async () => {
    const { ask, link, begin } = await open()
    for (let n = 0; n < 2; n++) {
      const { status, text } = await ask('GET', `/oauth/callback?code=${CODE}&state=${await begin(link)}`)
      expect([status, text.includes('acme.example.com')]).toEqual([200, true])
    }
  })

  test.each([
    ['the token answer', { hubId: 7, scopes: ['oauth'] }],
    ['the metadata alone', undefined],
  ])('refuses another account with its own page, and stores nothing: known from %s', async (_, owner) => {
    const { ask, link, begin, provider, deps, steps, keys, woken, get } = await open()
    provider.customer = { hubId: 7, hubDomain: 'other<b>.example.com' }
    provider.owner = owner
    const state = await begin(link)
    const before = await dump(steps, keys)
    const { status, text } = await ask('GET', `/oauth/callback?code=${CODE}&state=${state}`)
    expect(status).toBe(409)
    expect(text).toContain('<b>acme.example.com</b> still needs reconnecting')
    if (owner === undefined) expect(text).toContain('You chose <b>other&lt;b&gt;.example.com</b>')
    // Its state is used up, and a number was taken for its grant.
    const usedUp = keys.usedInstallState(state.split('.')[0] ?? '')
    const { [usedUp]: used, [keys.fleet]: intents, ...after } = await dump(steps, keys)
    expect([used, { ...after, [keys.fleet]: intents }]).toEqual([
      expect.any(String),
      { ...before, [keys.fleet]: expect.any(String) },
    ])
    expect([await deps.registry.get(7), woken]).toEqual([undefined, []])
    expect((await get('/metrics')).text).toContain('plimsoll_installs_total{outcome="other-account"} 1')
  })

  test.each([
    ['the token answer', { hubId: 7, scopes: ['oauth'] }],
    ['the metadata alone', undefined],
  ])(
    'keeps the new refresh token of another account that is kept here, and says so: known from %s',
    async (_, owner) => {
      const { ask, link, begin, provider, deps, keys, woken, connectAccount, clock } = await open()
      await connectAccount({ hubId: 7, hubDomain: 'other.example.com' })
      clock.move(600_000)
      provider.customer = { hubId: 7, hubDomain: 'other.example.com' }
      provider.owner = owner
      const { status, text } = await ask('GET', `/oauth/callback?code=${CODE}&state=${await begin(link)}`)
      expect(status).toBe(409)
      expect(text).toContain('You chose <b>other.example.com</b>, which is connected again.')
      expect(text).not.toContain('Nothing was changed')
      const { refresh } = await deps.store.hgetallBuffer(keys.account(7).tokens)
      expect(deps.connect.vault.open(refresh ?? Buffer.alloc(0), 7, 'refresh').reveal()).toBe(REFRESH_TOKEN)
      expect([(await deps.registry.get(7))?.connectedAt, woken]).toEqual([clock.now(), ['poll-limits', 'alerts']])
      expect((await deps.registry.get(123))?.connectedAt).toBe(clock.now() - 600_000)
    },
  )

  test.each([
    ['connects an account that must be connected again', 'reauthorize', 'connected', 'active'],
    ['leaves it to the uninstall of an account that was uninstalled', 'uninstalled', 'gone', 'uninstalling'],
    ['refuses an account that is not kept here', undefined, 'gone', undefined],
  ] as const)('of which the provider says only later whose the grant is %s', async (_, before, finished, after) => {
    const { ask, link, begin, provider, deps, clock, keys, connectAccount } = await open()
    if (before !== undefined) {
      await connectAccount({ hubId: 7 })
      await deps.store.hset(keys.account(7).account, { state: before })
    }
    clock.move(600_000)
    provider.customer = { hubId: 7 }
    provider.metadataFailure = { class: 'forbidden', code: 'x', message: 'not now', status: 403 }
    expect((await ask('GET', `/oauth/callback?code=${CODE}&state=${await begin(link)}`)).status).toBe(202)
    provider.metadataFailure = undefined
    clock.move(61_000)
    const finish = { ...deps.connect, endpoint: openEndpoint(deps.store, deps.keys, clock) }
    const { ids, age } = await claimGrants(deps.connect)
    const [id = '', ...others] = ids
    expect([await finishGrant(finish, id, age), others]).toEqual([finished, []])
    expect((await deps.registry.get(7))?.state).toBe(after)
  })

  test('that came to nothing leads back to itself, not to the install page, which connects any account', async () => {
    const { ask, link, begin, beginInstall, clock, provider } = await open()
    const page = async (query: string) => (await ask('GET', `/oauth/callback?${query}`)).text
    const forLink = await begin(link)
    const used = await begin(link)
    await page(`code=${CODE}&state=${used}`)
    const pages = [
      await page(`error=access_denied&state=${forLink}`),
      await page(`state=${forLink}`),
      await page(`code=another&state=${used}`),
    ]
    provider.tokenFailure = { class: 'rejected', code: 'x', message: 'no such code', status: 400 }
    pages.push(await page(`code=${CODE}&state=${forLink}`))
    const stateAgain = (text: string) => {
      const [, again = ''] = /href="([^"]+)">Try again with acme.example.com/.exec(text) ?? []
      return new URL(again.replaceAll('&amp;', '&')).searchParams.get('state') ?? ''
    }
    clock.move(3_599_000)
    // Each leads on to that account, and ends with the first.
    const renewed = await Promise.all(
      pages.map(async (text) => stateAgain(await page(`error=access_denied&state=${stateAgain(text)}`))),
    )
    for (const text of pages) expect(text).not.toContain('href="/install"')
    clock.move(1_000)
    for (const state of [forLink, ...renewed, forLink.slice(0, -9), `${await begin(link)}x`]) {
      const text = await page(`code=${CODE}&state=${state}`)
      expect(text).toContain('To try again, open the link that was sent to you.')
      expect(text).not.toContain('href="/install"')
    }
    for (const state of [await beginInstall(), 'forged'])
      expect(await page(`error=access_denied&state=${state}`)).toContain(
        '<a class="button main" href="/install">Try again</a>',
      )
  })

  test('is of no use once it has expired, was changed or is not whole', async () => {
    const { ask, link, expiresAt, clock } = await open()
    for (const bad of [
      link.replace('account=123', 'account=124'),
      link.replace(/until=\d/, 'until=9'),
      link.replace(/&signature.*/, ''),
      link.replace('account=123&', ''),
      `${link}&account=124`,
      link.slice(0, -1),
    ]) {
      const { status, text } = await ask('GET', bad)
      expect([bad, status, text.includes('This link is not complete')]).toEqual([bad, 403, true])
    }
    clock.move(expiresAt - clock.now() - 1)
    expect((await ask('GET', link)).status).toBe(302)
    clock.move(1)
    expect((await ask('GET', link)).status).toBe(410)
  })

  test('is no link that acknowledges, and a link that acknowledges is none of them', async () => {
    const { ask, link, deps, clock } = await open()
    const ack = deps.ackLinks.pathTo({ hubId: 123, alertId: '0123456789abcdef' }, clock.now())
    expect((await ask('GET', ack.replace('/acknowledge', '/install'))).status).toBe(403)
    expect((await ask('GET', link.replace('/install', '/acknowledge'))).status).toBe(403)
  })
})
