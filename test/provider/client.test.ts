import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { DIALECT_NAMES, DIALECTS, type DialectName } from '../../src/provider/dialects.ts'
import { type ProviderResult, readAccountBucket } from '../../src/provider/failure.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { type FarSide, json, raw, startFarSide } from '../support/far-side.ts'
import {
  ASSOCIATIONS,
  BUSY_OBJECT_TYPES,
  CLIENT_SECRET,
  CUSTOM_PROPERTIES,
  connectClient,
  METADATA,
  type TestedClient,
  TOKENS,
} from './connect-client.ts'

/** As hostile to a path as a token can be. */
const TOKEN = 'na1/Z+9=x?y&z%20#ü'
const IN_PATH = 'na1%2FZ%2B9%3Dx%3Fy%26z%2520%23%C3%BC'
const token = new Secret(TOKEN)

/** As JSON writes what is not ASCII. */
const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

let far: FarSide
const clients: TestedClient[] = []
beforeAll(async () => {
  far = await startFarSide()
})
afterAll(() => far.stop())
afterEach(async () => {
  far.seen.length = 0
  await Promise.all(clients.splice(0).map((client) => client.close()))
})

function client(dialect: DialectName = 'v1', base = far.url): TestedClient {
  const one = connectClient(base, { dialect })
  clients.push(one)
  return one
}

interface Call {
  name: string
  send: (client: TestedClient) => Promise<ProviderResult<unknown>>
  good: object
}

const CALLS: Call[] = [
  { name: 'exchangeCode', send: (c) => c.exchangeCode(token), good: TOKENS },
  { name: 'refresh', send: (c) => c.refresh(token), good: TOKENS },
  { name: 'metadata', send: (c) => c.metadata(token), good: METADATA },
  { name: 'deleteRefreshToken', send: (c) => c.deleteRefreshToken(token), good: {} },
  { name: 'associations', send: (c) => c.associations(token, '0-1', 'p/2 x'), good: ASSOCIATIONS },
  { name: 'customProperties', send: (c) => c.customProperties(token), good: CUSTOM_PROPERTIES },
  { name: 'associationSources', send: (c) => c.associationSources(token), good: BUSY_OBJECT_TYPES },
  { name: 'associationTargets', send: (c) => c.associationTargets(token, 'p/2 x'), good: BUSY_OBJECT_TYPES },
]

const APP = { client_id: 'client-id', client_secret: CLIENT_SECRET }
const CODE = {
  grant_type: 'authorization_code',
  code: TOKEN,
  redirect_uri: 'https://plimsoll.example.com/oauth/callback',
  ...APP,
}
const REFRESH = { grant_type: 'refresh_token', refresh_token: TOKEN, ...APP }

interface Sent {
  method: string
  path: string
  form?: Record<string, string>
  bearer?: true
}

const WIRE: Record<DialectName, Record<string, Sent>> = {
  v1: {
    exchangeCode: { method: 'POST', path: '/oauth/v1/token', form: CODE },
    refresh: { method: 'POST', path: '/oauth/v1/token', form: REFRESH },
    metadata: { method: 'GET', path: `/oauth/v1/access-tokens/${IN_PATH}` },
    deleteRefreshToken: { method: 'DELETE', path: `/oauth/v1/refresh-tokens/${IN_PATH}` },
    associations: { method: 'GET', path: '/crm/v3/limits/associations/records/0-1/p%2F2%20x', bearer: true },
    customProperties: { method: 'GET', path: '/crm/v3/limits/custom-properties', bearer: true },
    associationSources: { method: 'GET', path: '/crm/v3/limits/associations/records/from', bearer: true },
    associationTargets: { method: 'GET', path: '/crm/v3/limits/associations/records/p%2F2%20x/to', bearer: true },
  },
  '2026-03': dated('2026-03'),
  '2026-09': dated('2026-09'),
}

function dated(version: string): Record<string, Sent> {
  const records = `/crm/limits/${version}/associations/records`
  return {
    exchangeCode: { method: 'POST', path: `/oauth/${version}/token`, form: CODE },
    refresh: { method: 'POST', path: `/oauth/${version}/token`, form: REFRESH },
    metadata: {
      method: 'POST',
      path: `/oauth/${version}/token/introspect`,
      form: { ...APP, token: TOKEN, token_type_hint: 'access_token' },
    },
    deleteRefreshToken: {
      method: 'POST',
      path: `/oauth/${version}/token/revoke`,
      form: { ...APP, token: TOKEN, token_type_hint: 'refresh_token' },
    },
    associations: { method: 'GET', path: `${records}/0-1/p%2F2%20x`, bearer: true },
    customProperties: { method: 'GET', path: `/crm/limits/${version}/custom-properties`, bearer: true },
    associationSources: { method: 'GET', path: `${records}/from`, bearer: true },
    associationTargets: { method: 'GET', path: `${records}/p%2F2%20x/to`, bearer: true },
  }
}

/** A header takes no ü: what bears a token is plain. */
const plain = new Secret('na1/Z+9=x?y')

const BEARING: Record<string, Call['send']> = {
  associations: (c) => c.associations(plain, '0-1', 'p/2 x'),
  customProperties: (c) => c.customProperties(plain),
  associationSources: (c) => c.associationSources(plain),
  associationTargets: (c) => c.associationTargets(plain, 'p/2 x'),
}

describe.each(DIALECT_NAMES)('in the dialect %s', (dialect) => {
  test.each(CALLS)('$name sends its method, path, headers and form, and nothing else', async ({ name, send, good }) => {
    far.answer = json(200, good)
    const expected = WIRE[dialect][name] as Sent
    const result = await (BEARING[name] ?? send)(client(dialect))
    expect(result.ok).toBe(true)
    expect(far.seen).toHaveLength(1)
    const [request] = far.seen
    expect(request).toMatchObject({ method: expected.method, path: expected.path })
    expect(request?.headers.accept).toBe('application/json')
    expect(request?.headers.authorization).toBe(expected.bearer ? 'Bearer na1/Z+9=x?y' : undefined)
    if (expected.form === undefined) {
      expect(request?.body).toBe('')
      expect(request?.headers['content-type']).toBeUndefined()
    } else {
      expect(request?.headers['content-type']).toBe('application/x-www-form-urlencoded')
      expect([...new URLSearchParams(request?.body)]).toEqual(
        expect.arrayContaining(Object.entries(expected.form).map(([key, value]) => [key, value])),
      )
      expect([...new URLSearchParams(request?.body)]).toHaveLength(Object.keys(expected.form).length)
    }
  })
})

test('another dialect and other credentials of the app count from the next call on; an answer under way is still cleaned of the old', async () => {
  const one = connectClient(far.url, { dialect: '2026-03' })
  clients.push(one)
  const answered = Promise.withResolvers<void>()
  far.answer = (request, response) => {
    void answered.promise.then(() => json(500, { message: `bad ${CLIENT_SECRET}` })(request, response))
  }
  const underWay = one.refresh(plain)
  await far.came(1)
  one.follow({ dialect: '2026-09', clientId: 'another-app', clientSecrets: [new Secret('another-secret')] })
  answered.resolve()
  expect(JSON.stringify(await underWay)).not.toContain(CLIENT_SECRET)

  far.answer = json(200, TOKENS)
  await one.refresh(plain)
  const sent = far.seen
    .map(({ body }) => new URLSearchParams(body))
    .map((form) => [form.get('client_id'), form.get('client_secret')])
  expect(sent).toEqual([
    ['client-id', CLIENT_SECRET],
    ['another-app', 'another-secret'],
  ])
  expect(one.app.clientId).toBe('another-app')
})

test('a base address with a path of its own keeps it, with or without a slash at the end', async () => {
  far.answer = json(200, CUSTOM_PROPERTIES)
  await client('v1', `${far.url}/crm-proxy/`).customProperties(plain)
  await client('v1', `${far.url}/crm-proxy`).customProperties(plain)
  expect(far.seen.map(({ path }) => path)).toEqual(Array(2).fill('/crm-proxy/crm/v3/limits/custom-properties'))
})

/** What answers are read to, field by field, is said once for both dialects in test/contract. */
describe('answers are read', () => {
  const read = async (send: Call['send'], body: unknown) => {
    far.answer = json(200, body)
    return send(client())
  }

  test.each([-1, '1754', null, Number.POSITIVE_INFINITY])(
    'metadata whose expires_in is %j tells no life',
    async (left) => {
      const answer = await read((c) => c.metadata(token), { ...METADATA, expires_in: left })
      expect(answer).toMatchObject({ ok: true, value: { hubId: 123, lifeLeftMs: undefined } })
    },
  )

  test('half a surrogate pair, which is legal in JSON alone, is replaced wherever it stands; whole ones stay', async () => {
    const half = 'a\ud83d b\uDE00 \ud83d\ude00 \u00e9'
    const whole = 'a\ufffd b\ufffd \u{1f600} \u00e9'
    const written = (body: object) =>
      raw(200, JSON.stringify(body).replaceAll('HALF', half.replace(/[^\x20-\x7e]/g, escaped)))
    far.answer = written({ ...METADATA, user: 'HALF', hub_domain: 'HALF', scopes: ['HALF'] })
    expect(await client().metadata(token)).toMatchObject({
      ok: true,
      value: { user: whole, hubDomain: whole, scopes: [whole] },
    })
    far.answer = written({
      ...ASSOCIATIONS,
      atLimitFromRecordSamples: [{ label: 'HALF', objectId: 11 }],
      nearLimitFromRecordSamples: [{ label: 'HALF', objectId: 12, percentage: 96.4, usage: 482 }],
    })
    expect(await client().associations(plain, '0-1', '0-2')).toMatchObject({
      ok: true,
      value: { records: { atLimit: [{ label: whole }], nearLimit: [{ label: whole, usage: 482 }] } },
    })
    const [type] = CUSTOM_PROPERTIES.byObjectType
    far.answer = written({
      ...CUSTOM_PROPERTIES,
      byObjectType: [{ ...type, pluralLabel: 'HALF', objectTypeId: 'HALF' }],
    })
    expect(await client().customProperties(plain)).toMatchObject({
      ok: true,
      value: { values: [{ usage: 960 }, { label: whole, objectTypeId: whole, usage: 123 }] },
    })
    far.answer = written({ ...TOKENS, access_token: 'HALF' })
    const tokens = await client().refresh(token)
    expect(tokens.ok && tokens.value.accessToken.reveal()).toBe(whole)
  })

  test('half a surrogate pair in what a refusal says is replaced too', async () => {
    for (const half of ['ud800', 'uDBFF', 'udc00', 'uDFFF']) {
      far.answer = raw(500, `{"message":"no \\${half} more"}`)
      const result = await client().customProperties(plain)
      expect(!result.ok && result.failure.message).toBe('the provider answered 500: no \ufffd more')
    }
  })
})

test('a form is written as the URL standard has it, whatever a token or a secret is made of', () => {
  const part = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.stringMatching(/^[\w*.-]*$/),
    fc.stringMatching(/^[ +&=%~]*$/),
  )
  fc.assert(
    fc.property(part, part, (token, secret) => {
      const form = { grant_type: 'refresh_token', refresh_token: token, client_secret: secret }
      expect(DIALECTS.v1.token(form).body).toBe(new URLSearchParams(form).toString())
    }),
  )
})

function headers(
  interval: string | string[] | undefined,
  max: string | string[] | undefined,
  left?: string | string[],
) {
  return {
    'x-hubspot-ratelimit-interval-milliseconds': interval,
    'x-hubspot-ratelimit-max': max,
    'x-hubspot-ratelimit-remaining': left,
  }
}

test('the bucket of an account is read from the three headers', () => {
  expect(readAccountBucket(headers('10000', '110', '64'))).toEqual({ intervalMs: 10_000, max: 110, remaining: 64 })
  expect(readAccountBucket(headers('10000', '110', '0'))?.remaining).toBe(0)
  expect(readAccountBucket(headers('10000', '110', '110'))?.remaining).toBe(110)
})

test.each([
  ['nothing', {}],
  ['no interval', headers(undefined, '110', '64')],
  ['no max', headers('10000', undefined, '64')],
  ['no remaining', headers('10000', '110')],
  ['a header twice', headers('10000', '110', ['64', '63'])],
  ['an empty one', headers('10000', '110', '')],
  ['words', headers('10000', 'many', '64')],
  ['less than nothing', headers('10000', '110', '-1')],
  ['a fraction', headers('10000', '110', '1.5')],
  ['another notation', headers('1e4', '110', '64')],
  ['an interval of nothing', headers('0', '110', '64')],
  ['an interval of more than a day', headers('86400001', '110', '64')],
  ['a bucket of nothing', headers('10000', '0', '0')],
  ['more left than there is', headers('10000', '110', '111')],
  ['a number that is none any more', headers('10000', '9'.repeat(400), '64')],
])('%s tells nothing', (_, given) => {
  expect(readAccountBucket(given)).toBeUndefined()
})

test('each call for an account hands it on beside its value or its failure; those about tokens do not', async () => {
  const far = await startFarSide()
  const client = connectClient(far.url)
  const token = new Secret('access-1')
  const told = headers('10000', '110', '64') as unknown as Record<string, string>
  const bucket = { intervalMs: 10_000, max: 110, remaining: 64 }
  try {
    far.answer = json(200, CUSTOM_PROPERTIES, told)
    expect(await client.customProperties(token)).toMatchObject({ ok: true, bucket })
    far.answer = json(200, CUSTOM_PROPERTIES)
    expect(await client.customProperties(token)).not.toHaveProperty('bucket')
    far.answer = json(429, {}, told)
    for (const call of [
      client.customProperties(token),
      client.associations(token, '0-1', '0-2'),
      client.associationSources(token),
      client.associationTargets(token, '0-1'),
    ]) {
      expect(await call).toMatchObject({ ok: false, failure: { status: 429 }, bucket })
    }
    // An answer that can't be read has headers all the same.
    far.answer = json(200, { nothing: 'of this' }, told)
    const unreadable = { ok: false, failure: { code: 'unreadable' }, bucket }
    expect(await client.customProperties(token)).toMatchObject(unreadable)
    expect(await client.metadata(token)).not.toHaveProperty('bucket')
  } finally {
    await client.close()
    await far.stop()
  }
})
