import { expect, test } from 'vitest'
import { redisOfFile } from '../support/of-file.ts'
import { BEARER, JSON_BODY, openServer, openState, readings } from './open-server.ts'

const redis = redisOfFile()

const WRITE = { ...BEARER, ...JSON_BODY }
const ACCOUNT = [{ name: 'account', value: '1' }]

async function withAlerts() {
  const server = await openServer(redis)
  await server.connectAccount({ hubId: 1, hubDomain: 'one.example.com' })
  const since = server.clock.now()
  await server.poll(1, readings(since, 850), {
    overall: openState('warning', 'overall', since),
    'type/0-1': openState('critical', 'types', since),
  })
  const silence = (body: object) => server.ask('POST', '/api/v1/silences', WRITE, JSON.stringify(body))
  const endsAt = new Date(since + 3_600_000).toISOString()
  return { ...server, silence, endsAt }
}

test('a silence is made, listed with how many open alerts it means, and ended', async () => {
  const { silence, endsAt, get, ask, woken, clock } = await withAlerts()
  const made = await silence({ matchers: ACCOUNT, comment: ' a migration ', endsAt })
  expect(made).toMatchObject({
    status: 201,
    json: {
      match: 'account=1',
      matchers: ACCOUNT,
      comment: 'a migration',
      author: 'config',
      endsAt,
      active: true,
      openAlerts: 2,
    },
  })
  const { id } = made.json
  expect((await get('/api/v1/silences')).json).toEqual({ items: [made.json] })
  expect((await get('/api/v1/alerts')).json.items).toMatchObject([{ silencedBy: id }, { silencedBy: id }])

  clock.move(60_000)
  const [hubId] = (await get('/api/v1/alerts')).json.items.map((alert: { hubId: number }) => alert.hubId)
  expect((await get(`/api/v1/accounts/${hubId}`)).json.alerts).toMatchObject([{ silencedBy: id }, { silencedBy: id }])
  const counted = { critical: 0, warning: 0, handled: 2, worst: [] }
  expect((await get('/api/v1/status')).json.alerts).toEqual(counted)
  expect((await get('/')).text).toContain('>1 acknowledged or silenced</a>')
  expect((await get('/alerts')).text).toContain(`href="/silences" class="whole">${id}<`)
  expect((await get(`/accounts/${hubId}`)).text).toContain('href="/silences"')
  const ended = await ask('DELETE', `/api/v1/silences/${id}`, BEARER)
  expect((await get('/')).text).not.toContain('silenced')
  expect((await get('/api/v1/status')).json.alerts).toMatchObject({ critical: 1, warning: 1, handled: 0 })
  expect(ended).toMatchObject({ status: 200, json: { id, active: false, endsAt: new Date(clock.now()).toISOString() } })
  expect(woken).toEqual(['alerts'])
  expect((await get('/api/v1/silences')).json).toEqual({ items: [] })
  expect((await get('/api/v1/silences?all=true')).json.items).toMatchObject([{ id, active: false }])
  expect((await get('/api/v1/alerts')).json.items[0]).not.toHaveProperty('silencedBy')
  expect((await ask('DELETE', '/api/v1/silences/s-nobody', BEARER)).status).toBe(404)
})

test('one line of matchers is taken too, and one that is written both ways is refused', async () => {
  const { silence, endsAt } = await withAlerts()
  const matchers = [...ACCOUNT, { name: 'level', value: 'critical' }]
  const made = await silence({ match: 'account=1 level=critical', comment: 'x', endsAt })
  expect(made).toMatchObject({ status: 201, json: { match: 'account=1 level=critical', matchers, openAlerts: 1 } })
  const wrong = async (body: object) => (await silence({ comment: 'x', endsAt, ...body })).json.errors
  expect(await wrong({ match: 'account=1', matchers: ACCOUNT })).toMatchObject([{ parameter: 'match' }])
  expect(await wrong({ match: 'acount=1' })).toMatchObject([
    { parameter: 'match', detail: '"acount" is not a matcher name, did you mean account?' },
  ])
})

test.each([
  [{}, ['comment: must be a text']],
  [{ matchers: [] }, ['matchers: at least one is needed; kind=* matches all alerts']],
  [
    { matchers: [{ name: 'acount', value: '1' }] },
    ['matchers.0: "acount" is not a matcher name, did you mean account?'],
  ],
  [{ matchers: [{ name: 'tag', value: 'vib' }] }, ['matchers.0: no tag is "vib", did you mean vip?']],
  [{ comment: '  ' }, ['comment: must not be empty: give the reason']],
  [{ comment: 'x'.repeat(501) }, ['comment: is longer than 500 characters']],
  [{ endsAt: '2026-11-21T09:59:59Z' }, ['endsAt: lies in the past']],
  [{ endsAt: '2028-11-21' }, ['endsAt: is more than 366 days away: for good there is a rule with off: true']],
  ...[Number.NaN, 1e300, -1, 1.5, 0, 8.64e15, '5', '2026', true, '+010000-01-01', '99999999999999999'].map(
    (endsAt): [object, string[]] => [
      { endsAt },
      ['endsAt: must be a time like 2026-11-21T18:00 (in http.timeZone) or 2026-11-21T18:00:00Z'],
    ],
  ),
  [{ matchers: Array.from({ length: 101 }, () => ACCOUNT[0]) }, ['matchers: at most 100 are possible']],
  [
    { matchers: [{ name: '__proto__', value: 'x' }] },
    [
      'matchers.0: "__proto__" is not a matcher name; there are account, level, kind, rule, tag, series, objectType, from, to',
    ],
  ],
  [{ matchers: [{ name: 'rule', value: '' }] }, ['matchers.0: rule has no value: * matches any text']],
  [{ matchers: [{ name: 'rule', value: 'a\nb' }] }, ['matchers.0: the value of rule is not text on one line']],
  [{ matchers: { name: 'rule', value: 'x' } }, ['matchers: must be a list of {name, value}']],
  [{ matchers: [{ name: 'rule', value: 'x', isRegex: true }] }, ['isRegex: is not known here']],
  [{ endsAt: 'tomorrow' }, ['endsAt: must be a time like 2026-11-21T18:00 (in http.timeZone) or 2026-11-21T18:00:00Z']],
  [{ endsAt: [] }, ['endsAt: must be given once']],
  [{ endsAt: undefined }, ['endsAt: or how long (for) must be given: one of the two']],
  [{ for: '2h' }, ['endsAt: or how long (for) must be given: one of the two']],
  [{ for: '2' }, ['for: must be a duration like 20s, 30m, 2h or 1d']],
  [{ endsAt: undefined, for: '400d' }, ['for: is more than 366 days away: for good there is a rule with off: true']],
  [{ long: '2h' }, ['long: is not known here']],
])('what is wrong with %j is told as a problem', async (more, faults) => {
  const { silence, endsAt, get } = await withAlerts()
  const whole = Object.keys(more).length === 0 ? {} : { matchers: ACCOUNT, comment: 'x', endsAt, ...more }
  const answer = await silence(whole)
  expect(answer.status).toBe(400)
  expect(answer.headers['content-type']).toContain('application/problem+json')
  expect(
    answer.json.errors.map((fault: { parameter: string; detail: string }) => `${fault.parameter}: ${fault.detail}`),
  ).toEqual(faults)
  expect((await get('/api/v1/silences')).json).toEqual({ items: [] })
})

test('the form has a start, from which a length counts, and says when its account is unknown', async () => {
  const { signedIn, silences, clock } = await withAlerts()
  const { send } = await signedIn()
  const fields = 'name=account&value=77&comment=x&for=1h&startsAt=2026-11-21T12:00'
  const { headers } = await send('/silences/new', `${fields}&do=silence`)
  expect(headers.location).toBe('/silences?done=silenced-unknown')
  const [made] = await silences.current(clock.now())
  expect((made?.endsAt ?? 0) - (made?.startsAt ?? 0)).toBe(3_600_000)
  expect(await silences.active(clock.now())).toEqual([])
  const late = await send(
    '/silences/new',
    'do=silence&name=account&value=1&comment=x&for=until&startsAt=2026-11-22T12:00&endsAt=2026-11-21T12:00',
  )
  expect(late.text).toContain('must be before the end')
})
