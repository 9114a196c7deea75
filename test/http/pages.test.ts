import { expect, test } from 'vitest'
import { alertId } from '../../src/alerts/alert-state.ts'
import { openAlertMessages, readAlertedAccounts } from '../../src/alerts/open-alert-message.ts'
import { describeAlert } from '../../src/delivery/describe/describe-alert.ts'
import { DaemonStore, ROLES } from '../../src/heartbeat/daemons.ts'
import { storeForecasts } from '../../src/limits/forecast/stored-forecasts.ts'
import { html } from '../../src/text/html.ts'
import { changeWatch } from '../support/changed-watch.ts'
import { foresee } from '../support/forecasts.ts'
import { redisOfFile } from '../support/of-file.ts'
import { EXPLAIN } from './in-browser/scenes.ts'
import { openServer, openState, readings, wordsOf } from './open-server.ts'

const redis = redisOfFile()

/** A server with the account 4. */
async function openAccount() {
  const server = await openServer(redis)
  await server.connectAccount({ hubId: 4, hubDomain: 'acme.example.com' })
  return server
}

const HOSTILE = `<img src=x onerror="alert(1)">'&`

test('a template escapes what it is given, and not what it made itself', () => {
  expect(String(html`<b title="${HOSTILE}">${html`<i>${1}</i>`}${[html`<u>`, html`</u>`]}${undefined}</b>`)).toBe(
    '<b title="&lt;img src=x onerror=&quot;alert(1)&quot;&gt;&#39;&amp;"><i>1</i><u></u></b>',
  )
})

test('the status page shows the fleet at a glance', async () => {
  const { get, connectAccount, poll, clock } = await openServer(redis)
  await connectAccount({ hubId: 1, hubDomain: 'calm.example.com' })
  await connectAccount({ hubId: 2, hubDomain: 'acme.example.com' })
  await poll(2, readings(clock.now(), 960), { overall: openState('critical', 'a rule', clock.now()) })
  const { status, text } = await get('/')
  expect(status).toBe(200)
  expect(text).toContain('worst: acme.example.com, Custom properties, 960 of 1,000')
  expect(text).toContain('<h1>1 of 2 accounts fine</h1>')
  expect(text).toContain('1 critical</a>')
  // The same is not said twice.
  expect(text).not.toContain('class="health')
  expect(text.split('Custom properties, 960 of 1,000')).toHaveLength(2)
  expect(text).toContain('All accounts')
  expect(text).toContain('http-equiv="refresh" content="10"')
})

test('what an operator has acknowledged is in no count and no worst, and shown beside', async () => {
  const { get, connectAccount, poll, clock } = await openServer(redis)
  const since = clock.now()
  const acknowledged = { by: 'ann', at: since, until: since + 3_600_000, level: 'critical' as const }
  for (const [hubId, more] of [
    [1, {}],
    [2, { acknowledged }],
  ] as const) {
    await connectAccount({ hubId, hubDomain: `${hubId}.example.com` })
    await poll(hubId, readings(since, 960), { overall: { ...openState('critical', 'a rule', since), ...more } })
  }
  const { text } = await get('/')
  expect(text).toContain(
    '<a href="/alerts?level=critical&amp;mark=active">1 critical alert</a> <span>worst: 1.example.com, Custom properties, 960 of 1,000</span>',
  )
  expect(text).toContain('<a href="/alerts?mark=handled">1 acknowledged or silenced</a>')
  expect(text).not.toContain('2.example.com')
  const alerts = (await get('/alerts')).text
  expect(alerts).toContain('Critical: 1 critical alert; worst: 1.example.com, Custom properties, 960 of 1,000</a>')
  expect(alerts).toMatch(
    />1\.example\.com<\/a>\n<details><summary><span>1 critical<.*>2\.example\.com<\/a>\n<details><summary><span>1 alert<.*; acknowledged by ann<\/span>/s,
  )
  expect(alerts).toContain('>critical 1</a>')
  const handled = (await get('/alerts?mark=handled')).text
  expect(handled).toContain('>2.example.com</a>\n<details><summary><span>1 critical<')
  expect(handled).not.toContain('>1.example.com</a>')
})

test('the page of an alert shows when it repeats; of tokens, that it is sent once', async () => {
  const { get, poll, clock } = await openAccount()
  const since = clock.now()
  await poll(4, readings(since, 960), {
    overall: openState('critical', 'a rule', since),
    token: openState('warning', 'token', since),
  })
  clock.move(3_600_000)
  const repeats = async (field: string) =>
    /<dt>Sent again<\/dt><dd>(.*?)<\/dd>/
      .exec((await get(`/alerts/${alertId(4, field, since)}?account=4`)).text)?.[1]
      ?.replace(/<[^>]+>/g, '')
  expect(await repeats('overall')).toBe('in 23 h, if it is still open')
  expect(await repeats('token')).toBe('when it gets worse, and when it is resolved')
})

/** The page of an alert of account 4, as `who` sees it. */
async function alertPage(get: (path: string) => Promise<{ text: string }>, field: string, since: number) {
  const { text } = await get(`/alerts/${alertId(4, field, since)}?account=4`)
  return text.slice(text.indexOf('<h1>'), text.indexOf('<h2>Notifications'))
}

test('the page of an alert begins with what happened and what to do, then has the rows of its mail, of the last reading', async () => {
  const { get, poll, clock, deps } = await openAccount()
  const since = clock.now()
  await poll(4, readings(since, 960), { overall: openState('critical', 'full', since) })
  clock.move(7_200_000)
  await poll(4, readings(clock.now(), 970))
  const text = await alertPage(get, 'overall', since)
  const row = (name: string) =>
    new RegExp(`<dt>${name}</dt><dd>(.*?)</dd>`).exec(text)?.[1]?.replace(/<\/?time[^>]*>/g, '')
  expect(wordsOf(text)).toMatch(
    /^ Custom properties, 970 of 1,000, acme.example.com critical acme.example.com 4 , open since 2026-11-21 10:00 UTC \( ?2 h ago ?\) Still critical. What to do: Delete custom properties that are not in use \(in HubSpot: Settings &gt; Properties\), or have the limit raised. Comment Acknowledge Silence /,
  )
  expect(row('Usage')).toBe('970 of 1,000 (97 %), 30 left')
  expect(row('Measured')).toMatch(/\(now\)$/)
  expect(text).not.toContain('Reconnect')
  const [account] = await readAlertedAccounts(deps.store, deps.keys, [4])
  const settings = { rules: deps.explain.rules, pageOf: () => 'https://x.test/accounts/4', page: 'https://x.test/' }
  const [inMail] = account === undefined ? [] : openAlertMessages(settings, account, clock.now())
  const { facts = [] } = inMail === undefined ? {} : describeAlert(inMail, clock.now())
  for (const { name, value } of facts.filter((one) => !['Since', 'To do', 'Reason', 'Rule'].includes(one.name)))
    expect([name, row(name)]).toEqual([name, value])
})

test('the page of an alert about an imported token of another account names that cause', async () => {
  const { get, poll, clock } = await openAccount()
  const since = clock.now()
  await poll(4, readings(since, 10), { token: { ...openState('critical', 'token', since), cause: 'foreign' } })
  const text = await alertPage(get, 'token', since)
  expect(text).toContain('The imported token belongs to another account')
})

test('the page of a token alert has the link for the customer, for a reader who may send it', async () => {
  const { get, ask, poll, clock, addToken } = await openAccount()
  const since = clock.now()
  await poll(4, readings(since, 10), { token: openState('critical', 'token', since) })
  const text = await alertPage(get, 'token', since)
  const [, link = ''] = /id="reconnect" value="http:\/\/127\.0\.0\.1([^"]+)"/.exec(text) ?? []
  expect((await ask('GET', link.replaceAll('&amp;', '&'))).status).toBe(302)
  // The command for the same is in mails.
  expect(text).not.toContain('accounts reconnect-link')
  const reader = { authorization: `Bearer ${await addToken('reader', 'read')}` }
  const seen = await alertPage((path) => get(path, reader), 'token', since)
  expect(seen).not.toMatch(/signature|\/silences\/new/)
})

test('the limits that are reached next are on the status page, and on their own', async () => {
  const { get, connectAccount, poll, clock, steps, keys } = await openAccount()
  const none = 'No forecasts yet: they start after 7 days of data.'
  for (const path of ['/', '/upcoming']) expect((await get(path)).text).toContain(none)
  await poll(4, readings(clock.now(), 700))
  clock.move(900_000)
  await poll(4, readings(clock.now(), 860), { overall: openState('warning', 'full', clock.now()) })
  const rising = { overall: { perDay: 10, perDayLow: 5, perDayHigh: 20, leap: 0, bend: 0 } }
  await foresee(steps, keys, 4, { at: clock.now(), rising })
  await connectAccount({ hubId: 5, hubDomain: 'full.example.com' })
  await poll(5, readings(clock.now(), 1_000))
  await foresee(steps, keys, 5, { at: clock.now() })
  const { text, words } = await get('/')
  expect(words).toContain('86 % 860 of 1,000 14 days (7 to 28)')
  expect(text).not.toContain('has reached a limit already')
  expect(words).toContain('full.example.com Custom properties 100 % 1,000 of 1,000 limit reached')

  const page = await get('/upcoming')
  expect(page.words).toContain('1 account reaches a limit in the next 30 days at this pace.')
  expect(page.words).toContain('acme.example.com Custom properties 86 14 days (7 to 28) 2026-12-05')
  expect(page.words).toContain('1 account has reached a limit already')
  expect(page.text).toContain('<a href="/upcoming" aria-current="page">Upcoming</a>')
  // One account whose history is damaged does not take the page away.
  await steps.del(keys.account(4).history)
  await steps.rpush(keys.account(4).history, 'not a record')
  expect((await get('/')).text).toContain('acme.example.com')
})

test.each(['7', '7~x', '~', 'x'])('there are no later limits behind %s', async (after) => {
  const { get } = await openServer(redis)
  for (const path of ['/upcoming', '/api/v1/upcoming']) {
    expect(await get(`${path}?after=${after}`)).toMatchObject({ status: 400 })
  }
  expect((await get('/upcoming?after=7~29.9')).text).toContain('First page')
})

/** Of the account 4: how grave it is, and its words. */
async function verdictOn(get: Awaited<ReturnType<typeof openServer>>['get']) {
  const { text } = await get('/accounts/4')
  const [, look, words = ''] = /<div class="verdict (\w+)">(.*?)<\/ul>/s.exec(text) ?? []
  return [look, wordsOf(words).trim()]
}

test('an account is called well only where its tokens, its last poll and its alerts are', async () => {
  const { get, connectAccount, poll, clock, steps, keys } = await openServer(redis)
  const verdict = () => verdictOn(get)
  await connectAccount({ hubId: 4 })
  expect(await verdict()).toEqual([
    'off',
    'Unknown active Limits have not been read yet; next poll due now. Tokens were refreshed just now; next refresh in 16 min. Its access token expires in 30 min.',
  ])
  await poll(4, readings(clock.now(), 10))
  clock.move(60_000)
  expect(await verdict()).toEqual([
    'good',
    'All is well active Tokens were refreshed 1 min ago; next refresh in 15 min. Its access token expires in 29 min. Limits were read 1 min ago; next poll in 14 min. No alert is open.',
  ])
  const failing = { count: 3, reason: 'HTTP 500', at: clock.now(), since: clock.now() - 30_000 }
  await changeWatch(steps, keys, 4, { failing })
  expect(await verdict()).toEqual([
    'good',
    expect.stringMatching(/Limits can&#39;t be read \(HTTP 500 since \d\d:\d\d\)\. Limits were read 1 min ago\./),
  ])
  // Nothing runs: nothing fails either.
  await changeWatch(steps, keys, 4, { failing: undefined })
  clock.move(20 * 60_000)
  expect(await verdict()).toEqual([
    'warning',
    'Warning active Its refresh is overdue by 5 min. Its access token expires in 9 min. Limits were read 21 min ago; the next poll is overdue by 6 min.',
  ])
  clock.move(10 * 60_000)
  expect(await verdict()).toEqual([
    'critical',
    expect.stringContaining('Its access token expired 1 min ago, and no daemon has refreshed it.'),
  ])
})

test('an account is not called well with readings of days ago, or without a planned poll', async () => {
  const { get, connectAccount, poll, clock, steps, keys } = await openServer(redis)
  const verdict = () => verdictOn(get)
  const { due } = keys
  await connectAccount({ hubId: 4 })
  await poll(4, readings(clock.now(), 10))
  expect((await verdict())[0]).toBe('good')
  await changeWatch(steps, keys, 4, { polledAt: clock.now() - 3 * 86_400_000 })
  await steps.zadd(keys.fresh, clock.now() - 3 * 86_400_000, 4)
  expect(await verdict()).toEqual([
    'off',
    expect.stringContaining('Limits were read 3 days ago, older than limits.freshness (26 h).'),
  ])
  await changeWatch(steps, keys, 4, { polledAt: clock.now() })
  await steps.zrem(due.poll, 4)
  expect(await verdict()).toEqual(['off', expect.stringMatching(/Limits were read [^.]*; no poll is planned\./)])
  await steps.zadd(due.poll, clock.now() + 900_000, 4)
  expect((await verdict())[0]).toBe('good')
})

test("the provider's own words are whole sentences in the verdict: a capital letter, one full stop", async () => {
  const { get, clock, steps, keys } = await openAccount()
  await steps.hset(keys.account(4).account, {
    state: 'parked',
    parkedUntil: String(clock.now() + 60_000),
    failures: '1',
    failureReason: 'the provider answered 477: it moves.',
    failureAt: String(clock.now()),
  })
  const failing = { count: 1, reason: 'the provider answered 401: it expired.', at: clock.now(), since: clock.now() }
  await changeWatch(steps, keys, 4, { failing })
  const { text } = await get('/accounts/4')
  expect(text).toContain(' HubSpot answered 477: it moves.<')
  expect(text).toContain(' (HubSpot has answered 401: it expired, since 10:00). ')
  expect(text).not.toContain('..')
})

test('an empty installation shows what is left to be done, not lists of nothing', async () => {
  const { get, deps } = await openServer(redis)
  const { text } = await get('/')
  expect(text).not.toContain('All is well.')
  expect(text).not.toContain('class="health')
  expect(text).not.toContain('class="nothing">No alert')
  const steps = () => get('/').then(({ words }) => words.slice(words.indexOf('First steps')))
  expect(await steps()).toMatch(
    /^First steps to do Connect an account .* to do Send a test to a receiver 0 of 2 receivers delivered done Set thresholds 1 rule in the config Running daemons /,
  )
  const tested = { id: 'msg_1', receiver: 'ops-mail', ms: 1, now: deps.clock.now() }
  await deps.receiverStore.see(deps.receivers, deps.clock.now())
  await deps.receiverStore.recordTest(tested, { outcome: 'delivered', answer: 250 })
  expect(await steps()).toContain('done Send a test to a receiver 1 of 2 receivers delivered')
})

test('the status page says so when nothing moves', async () => {
  const { get, steps, keys, clock } = await openServer(redis)
  await new DaemonStore(steps, keys).report({
    name: 'a pid 1',
    version: '1',
    config: 'c',
    roles: ROLES,
    startedAt: clock.now(),
    lastSeenAt: clock.now(),
    ill: [{ name: 'sweep:poll-limits', says: 'none finished yet' }],
  })
  const { text } = await get('/')
  expect(text).toContain('<b>Fix the daemon</b> <span>sweep:poll-limits: none finished yet</span>')
  // Also where the page itself is of something else.
  expect((await get('/deliveries')).text).toContain('Critical: sweep:poll-limits: none finished yet')
})

test("a stranger's words never become markup, wherever they are shown", async () => {
  const { get, connectAccount, poll, clock, steps, keys, deps } = await openServer(redis)
  await connectAccount({ hubId: 66, hubDomain: HOSTILE, user: HOSTILE, scopes: [HOSTILE] })
  const label = { label: HOSTILE }
  const states = {
    overall: openState('critical', HOSTILE, clock.now()),
    'type/0-1': openState('warning', 'r', clock.now()),
  }
  await poll(66, readings(clock.now(), 900, label), states)
  clock.move(1_000)
  await poll(66, readings(clock.now(), 910, label))
  const failures = { failureAt: '1', failureReason: HOSTILE, pollFailureAt: '1', pollFailureReason: HOSTILE }
  await steps.hset(keys.account(66).account, failures)
  const attempt = ['receiver', 'reason', 'type', 'outcome', 'id'].flatMap((name) => [name, HOSTILE])
  await steps.xadd(keys.delivery.log, '*', ...attempt)
  await steps.hset(keys.delivery.disabled, HOSTILE, HOSTILE)
  await deps.receiverStore.see([HOSTILE], 1)
  const query = encodeURIComponent(HOSTILE.slice(0, -1))
  for (const path of ['/', '/accounts', `/accounts?q=${query}`, '/accounts/66', '/alerts', '/changes', '/deliveries']) {
    const { status, text } = await get(path)
    expect(status, path).toBe(200)
    expect(text, path).not.toContain('<img')
    expect(text, path).not.toContain('onerror="')
    expect(text, path).toContain('&lt;img')
  }
  for (const path of [`/accounts/${query}`, `/${query}`, `/alerts?level=${query}`]) {
    expect((await get(path)).text, path).not.toContain('<img')
  }
  await deps.actions.uninstall(66, HOSTILE, { name: 'ann', via: 'session' })
  expect((await get('/accounts/66')).text).not.toContain('<img')
})

test('an account page says why an alert stands where it stands, and by which line of the config', async () => {
  const { get, connectAccount, poll, clock } = await openServer(redis, { explain: EXPLAIN })
  await connectAccount({ hubId: 8 })
  await poll(8, readings(clock.now(), 930, { pair: { atLimit: 3 } }), {
    overall: openState('critical', 'full', clock.now()),
    'at/0-1/0-2': openState('warning', 'full', clock.now()),
    token: openState('critical', 'token', clock.now()),
  })
  const { text } = await get('/accounts/8')
  const rowOf = (name: string) =>
    new RegExp(`${name}</a>.*?</tr>`, 's').exec(text.split('id="alerts"')[1] ?? '')?.[0].replace(/<[^>]+>/g, ' ') ?? ''
  expect(rowOf('Custom properties')).toMatch(/critical +now/)
  expect(rowOf('Contacts with the maximum of companies')).toMatch(/warning +now/)
  expect(text).toContain('Open alerts: 2 critical, 1 warning; worst: Customer must reconnect, opened now.')
  const { json } = await get('/api/v1/accounts/8/explanation')
  const [overall] = json.series.filter(({ id }: { id: string }) => id === 'overall')
  expect(overall).toMatchObject({ rule: { at: 'thresholds[0]', line: 31, name: 'sum' } })
  const { text: series } = await get('/accounts/8/series?id=overall')
  expect(series).toContain('critical stays until below 92 %: recoverBelow 3')
  expect(wordsOf(series)).toMatch(/Rule sum thresholds line 31 :/)
})

test('an account page shows how many days are left to the limits that have a forecast', async () => {
  const { get, connectAccount, poll, clock, steps, keys } = await openServer(redis)
  await connectAccount({ hubId: 67 })
  await poll(67, readings(clock.now(), 963))
  const pace = { perDay: 3, perDayLow: 2, perDayHigh: 4, leap: 0, bend: 0 }
  await storeForecasts(steps, keys, 67, { at: clock.now(), rising: { overall: pace }, tooFew: {} })
  const { text } = await get('/accounts/67')
  expect(text).toContain('12 days left (9 to 19)')
  const [, limits = ''] = text.split('id="alerts"')
  expect(limits).toContain('<div>12 days (9 to 19)</div>')
  clock.move(4 * 86_400_000)
  expect((await get('/accounts/67')).text).not.toContain('12 days left')
})

test('every page forbids scripts, frames and guessing, and is kept nowhere', async () => {
  const { ask, get } = await openServer(redis)
  const answers = [
    await get('/'),
    await get('/no-such-page'),
    await get('/%zz'),
    await ask('GET', '/sign-in'),
    await ask('GET', '/oauth/callback'),
    await ask('GET', '/api/v1/status'),
  ]
  for (const { headers } of answers) {
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; style-src 'self';.*frame-ancestors 'none'$/,
    )
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'cache-control': 'no-store',
    })
    expect(headers['referrer-policy']).toMatch(/^(no-referrer|same-origin)$/)
  }
  expect((await ask('GET', '/oauth/callback')).headers['referrer-policy']).toBe('no-referrer')
  const { text } = await get('/')
  expect(text.replace('<script src="/assets/live.js" defer></script>', '')).not.toMatch(
    /<script|style=|<style|https?:\/\//,
  )
})

test('the list of accounts goes on where the page ends', async () => {
  const { get, connectAccount } = await openServer(redis)
  for (let hubId = 1; hubId <= 51; hubId++) await connectAccount({ hubId, hubDomain: `d${hubId}.example.com` })
  const { text } = await get('/accounts')
  expect(text).toContain('d50.example.com')
  expect(text).not.toContain('d51.example.com')
  expect(text).toContain('href="/accounts?after=50%7E3%3A"')
  const more = (await get('/accounts?after=50~3:')).text
  expect(more).toContain('d51.example.com')
  expect(more).not.toContain('More accounts')
  expect(more).toContain('href="/accounts?before=51%7E3%3A"')
  expect((await get('/accounts?before=51~3:')).text).toContain('d50.example.com')
})

test('states are in the words for people on every page, also among the figures', async () => {
  const { get, steps, keys, connectAccount } = await openServer(redis)
  for (const [n, state] of (['parked', 'reauthorize'] as const).entries()) {
    await connectAccount({ hubId: n + 1, hubDomain: `${n}.example.com` })
    await steps.hset(keys.account(n + 1).account, { state })
    const { state: of } = keys
    await steps.zrem(of.active, n + 1)
    await steps.zadd(of[state], n + 1, n + 1)
  }
  const accounts = (await get('/accounts')).words
  expect(accounts).toContain('paused by HubSpot 1 must reconnect 1')
  for (const path of ['/', '/accounts', '/accounts/1', '/accounts/2']) {
    expect((await get(path)).words).not.toMatch(/\bparked|reauthorize/)
  }
})

test.each([
  ['failing', { failureAt: '1', failureReason: 'HTTP 503', failures: '2' }, 'Refreshing its tokens has failed for'],
  ['parked', { parkedUntil: String(Date.parse('2026-11-21T10:05:00Z')) }, 'in 5 min'],
  [
    'reauthorize',
    { failureReason: 'BAD_REFRESH_TOKEN', failureAt: '1' },
    'HubSpot refuses its refresh token (BAD_REFRESH_TOKEN).',
  ],
  ['uninstalling', { uninstallReason: 'left', uninstallFailureReason: 'HTTP 500' }, 'could not be deleted yet'],
  [
    'uninstalled',
    { uninstallReason: 'left', uninstalledAt: '1', purgeAt: String(Date.parse('2026-11-24T10:00:00Z')) },
    'Its record and readings are deleted in 3 days. Reason: left.',
  ],
])('the page of an account that is %s tells its story', async (state, fields, story) => {
  const { get, steps, keys } = await openAccount()
  await steps.hset(keys.account(4).account, { state, ...fields })
  const { status, words } = await get('/accounts/4')
  expect(status).toBe(200)
  expect(words).toContain(story)
})

test.each(['reauthorize', 'failing'])(
  'an account whose refresh token is refused (%s) offers its signed link once, at the top, with a button to copy it',
  async (state) => {
    const { get, steps, keys } = await openAccount()
    const before = (await get('/accounts/4')).text
    expect(before.indexOf('id="reconnect"')).toBeGreaterThan(before.indexOf('Poll now'))
    await steps.hset(keys.account(4).account, { state, rejectedAt: '1', failureAt: '1' })
    const { text } = await get('/accounts/4')
    // Nothing is polled or refreshed of an account that must reconnect.
    expect(text.includes('Poll now')).toBe(state === 'failing')
    const [verdict = '', rest] = text.split('Hub id')
    expect(verdict).toMatch(/id="reconnect" value="[^"]*\/install\?account=4&amp;[^"]*signature=/)
    expect(verdict).toContain('data-copy="reconnect"')
    expect(rest).not.toContain('id="reconnect"')
  },
)

test('alerts about tokens and polls are no limits', async () => {
  const { get, poll, clock } = await openAccount()
  await poll(4, readings(clock.now(), 10), { token: openState('critical', 'token', clock.now()) })
  const { text } = await get('/accounts/4')
  const [own = '', limits = ''] = text.slice(text.indexOf('id="alerts"')).split('<h2>Limits</h2>')
  expect(own).toContain('<h2>Alerts about tokens and polls</h2>')
  expect(own).toContain('Customer must reconnect')
  expect(limits.split('</section>')[0]).not.toContain('Customer must reconnect')
})

test('what is well is folded, and no level is shown where nothing is watched or all is old', async () => {
  const { get, connectAccount, poll, clock, steps, keys } = await openServer(redis, { explain: EXPLAIN })
  await connectAccount({ hubId: 4 })
  await poll(4, readings(clock.now(), 850), { overall: openState('warning', 'full', clock.now()) })
  const limits = async () => (await get('/accounts/4')).text.split('<h2>Limits</h2>')[1]?.split('</section>')[0] ?? ''
  expect(await limits()).toContain('<summary>2 more limits: 1 OK, 1 unknown</summary>')
  expect(await limits()).toContain('<span class="badge good">OK</span>')
  clock.move(3 * 86_400_000)
  expect(await limits()).toContain('<summary>2 more limits, all last known</summary>')
  expect(await limits()).toMatch(/badge off">last known<.*is-warning">read <time[^>]*>3 days ago</)
  expect(await limits()).not.toContain('badge good')
  await steps.hset(keys.account(4).account, { state: 'uninstalled', uninstallReason: 'left' })
  await steps.del(keys.account(4).alerts)
  expect(await limits()).toContain('<summary>2 more limits, all last known</summary>')
  expect(await limits()).not.toMatch(/class="badge (good|off)/)
  const { json } = await get('/api/v1/accounts/4/explanation')
  expect(new Set(json.series.map(({ state }: { state: string }) => state))).toEqual(new Set(['off']))
})

test('the page of an account shows readings, alerts and what changed', async () => {
  const { get, poll, clock } = await openAccount()
  await poll(4, readings(clock.now(), 940))
  clock.move(900_000)
  const pair = { atLimit: 12, fullest: 100 }
  const states = { 'at/0-1/0-2': openState('warning', 'associations.atLimit', clock.now()) }
  await poll(4, readings(clock.now(), 960, { pair }), states)
  const { words } = await get('/accounts/4')
  expect(words).toContain('Custom properties 96 % 960 of 1,000')
  expect(words).toContain('Contacts: custom properties 24 % 120 of 500')
  expect(words).toContain('Companies per contact 100 % 100 of 100')
  expect(words).toContain('Contacts with the maximum of companies 12 records – warning now ')
  expect(words).toContain('now Custom properties 940 → 960 of 1,000')
})

test('the page of an account says how many of its records are shown, and cleans their names', async () => {
  const { get, poll, clock } = await openAccount()
  const atLimit = Array.from({ length: 12 }, (_, n) => ({ label: n === 0 ? HOSTILE : `full ${n}`, objectId: 70 + n }))
  const shown = { 'associations/0-1/0-2': { at: clock.now(), atLimit, nearLimit: [] } }
  await poll(4, readings(clock.now(), 10, { pair: { atLimit: 212 } }), {}, shown)
  const { text, words } = await get('/accounts/4')
  expect(text).not.toContain(HOSTILE)
  expect(words).toContain('Companies per contact 10 of 212 shown')
  expect(words).toContain('full 9 79 100')
  expect(words).not.toContain('full 10')
  const { json } = await get('/api/v1/accounts/4')
  const at = json.series.find(({ metric }: { metric: string }) => metric === 'associations.atLimit')
  expect(at.records).toMatchObject({ shown: 10, total: 212 })
  expect(at.records.items[9]).toEqual({ objectId: 79, label: 'full 9' })
})

test('what came and what went is said in words among the changes', async () => {
  const { get, poll, clock } = await openAccount()
  await poll(4, readings(clock.now(), 10, { objectTypeId: '0-1' }))
  clock.move(900_000)
  await poll(4, readings(clock.now(), 10, { objectTypeId: '2-7' }))
  const { words } = await get('/accounts/4')
  expect(words).toContain('Contacts (2-7): custom properties new → 120 of 500')
  expect(words).toContain('Contacts: custom properties 120 of 500 → no longer reported')
})

test('the page of an account says once why no days left are shown', async () => {
  const { get, poll, clock } = await openAccount()
  await poll(4, readings(clock.now(), 10))
  const { text } = await get('/accounts/4')
  expect(text.match(/Forecasts start [^.]*\./g)).toEqual(['Forecasts start after 7 days of data.'])
})

test('the page of an account that a missing scope keeps from being watched says so', async () => {
  const { get, steps, keys, clock } = await openAccount()
  await changeWatch(steps, keys, 4, { blocked: { what: 'all', since: clock.now(), scopes: ['<b>contacts'] } })
  const { text } = await get('/accounts/4')
  expect(text).toContain('Add crm.objects.*.read to provider.scopes, then send the link below.')
  const words = text.replace(/<[^>]+>/g, '').replace(/\s+/g, ' ')
  expect(words).toContain('Next poll: regular schedule; a permission is missing')
  expect(words).toContain('Limits can&#39;t be read: a permission is missing. It began just now.')
  expect((await get('/api/v1/accounts/4')).json.watch).toEqual({
    is: 'cannot be watched',
    because: 'scope missing',
    since: '2026-11-21T10:00:00.000Z',
    scopes: ['<b>contacts'],
  })
})

test('the page of an account with more object types than are kept says how many are not watched', async () => {
  const { get, steps, keys } = await openAccount()
  expect((await get('/accounts/4')).text).not.toContain('are not watched')
  await changeWatch(steps, keys, 4, { typesLeftOut: 19_500 })
  expect((await get('/accounts/4')).text).toContain(
    '19,500 object types are not watched: more than are kept of one account',
  )
})

test('there is no page of an account that does not exist', async () => {
  const { get } = await openServer(redis)
  for (const hubId of ['1', '0', 'x', '9007199254740993']) expect((await get(`/accounts/${hubId}`)).status).toBe(404)
})

test('an alert about the whole fleet is shown first, and links to no account', async () => {
  const { get, connectAccount, poll, fleetAlerts, clock } = await openServer(redis)
  await fleetAlerts({
    'token-endpoint': openState('critical', 'fleet', clock.now()),
    data: openState('critical', 'fleet', clock.now()),
  })
  // As many accounts as the status page shows alerts, each with two that are worse in number.
  for (let hubId = 1; hubId <= 20; hubId++) {
    await connectAccount({ hubId, hubDomain: `d${hubId}.example.com` })
    const open = openState('critical', 'a rule', clock.now())
    await poll(hubId, readings(clock.now(), 999), { overall: open, 'at/0-1/0-2': open, near: open })
  }
  for (const path of ['/', '/alerts', '/alerts?level=critical']) {
    const { text } = await get(path)
    expect(text).toMatch(/All accounts.*Tokens can&#39;t be refreshed.*example\.com/s)
    expect(text).toContain('Redis lost Plimsoll&#39;s data')
    expect(text).not.toMatch(/accounts\/0["/]/)
  }
})
