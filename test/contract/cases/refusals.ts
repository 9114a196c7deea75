import { expect } from 'vitest'
import type { ProviderFailure, ProviderResult } from '../../../src/provider/failure.ts'
import { Secret } from '../../../src/runtime/secret.ts'
import type { Fault, FaultyEndpoint } from '../../../src/sandbox/faults.ts'
import { HUB } from '../../sandbox/visit.ts'
import { bad, type Contract, type ContractCase, good, NOBODY, type ReadingClient } from '../contract.ts'

/** One call of each kind, for what is true of all of them. */
interface Endpoint {
  name: string
  faulty: FaultyEndpoint
  call(
    client: ReadingClient,
    tokens: { code: Secret; access: Secret; refresh: Secret },
  ): Promise<ProviderResult<unknown>>
}

const ENDPOINTS: readonly Endpoint[] = [
  { name: 'a code exchange', faulty: 'token', call: (client, { code }) => client.exchangeCode(code) },
  { name: 'a refresh', faulty: 'token', call: (client, { refresh }) => client.refresh(refresh) },
  { name: 'metadata', faulty: 'metadata', call: (client, { access }) => client.metadata(access) },
  { name: 'a deletion', faulty: 'delete', call: (client, { refresh }) => client.deleteRefreshToken(refresh) },
  {
    name: 'an association report',
    faulty: 'associations',
    call: (client, { access }) => client.associations(access, '0-1', '0-2'),
  },
  {
    name: 'a custom property report',
    faulty: 'customProperties',
    call: (client, { access }) => client.customProperties(access),
  },
  {
    name: 'the sources of associations',
    faulty: 'companion',
    call: (client, { access }) => client.associationSources(access),
  },
  {
    name: 'the targets of associations',
    faulty: 'companion',
    call: (client, { access }) => client.associationTargets(access, '0-1'),
  },
]

const LIMITS = ENDPOINTS.slice(4)

/** A deletion's answer has nothing to read. */
const READING = ENDPOINTS.filter(({ faulty }) => faulty !== 'delete')

/** The result of one call that meets this. */
async function meeting(
  contract: Contract,
  { faulty, call }: Endpoint,
  fault: Omit<Fault, 'endpoint'>,
  client = contract.client,
): Promise<ProviderResult<unknown>> {
  const tokens = { ...(await contract.connect()), code: await contract.approve() }
  await contract.fault({ ...fault, endpoint: faulty, times: 1 })
  return call(client, tokens)
}

/** What the provider says no with, wherever it does. */
export const refusals: ContractCase[] = [
  ...ENDPOINTS.flatMap((endpoint) => [
    ...tooMany(endpoint),
    ...later(endpoint),
    {
      says: `${endpoint.name}: a refusal that quotes what was sent loses it`,
      run: async (contract: Contract) => {
        const { access, refresh } = await contract.connect()
        const code = await contract.approve()
        const quote = `you sent ${[access, refresh, code].map((one) => one.reveal()).join(' and ')} with sandbox-client-secret`
        await contract.fault({ endpoint: endpoint.faulty, status: 503, body: { message: quote, status: quote } })
        const failure = bad(await endpoint.call(contract.client, { access, refresh, code }))
        expect(failure).toMatchObject({ class: 'transient', code: '503' })
        expect(failure.message).toMatch(/^the provider answered 503: you sent \[/)
      },
    },
  ]),
  ...LIMITS.flatMap(({ name, call }): ContractCase[] => [
    {
      says: `${name} with an expired access token: 401, refresh and try again`,
      run: async ({ client, connect, approve, clock }) => {
        const tokens = { ...(await connect()), code: await approve() }
        clock.move(1_799_999)
        good(await call(client, tokens))
        clock.move(5_001)
        expect(bad(await call(client, tokens))).toEqual({
          class: 'unauthorized',
          code: 'EXPIRED_AUTHENTICATION',
          message: 'the provider answered 401: The OAuth token used to make this call expired 5 second(s) ago.',
          status: 401,
        })
      },
    },
    {
      says: `${name} with an access token that nobody gave out: 401 in other words`,
      run: async ({ client }) => {
        const failure = bad(await call(client, { access: NOBODY, refresh: NOBODY, code: NOBODY }))
        expect(failure).toMatchObject({ class: 'unauthorized', code: 'INVALID_AUTHENTICATION', status: 401 })
        expect(failure.message).toMatch(/^the provider answered 401: Authentication credentials not found\./)
      },
    },
    {
      says: `${name} of an account that uninstalled the app: 401`,
      run: async ({ client, connect, approve, call: control }) => {
        const tokens = { ...(await connect()), code: await approve() }
        await control('DELETE', `/sandbox/accounts/${HUB}`)
        expect(bad(await call(client, tokens))).toMatchObject({ class: 'unauthorized', code: 'INVALID_AUTHENTICATION' })
      },
    },
    {
      says: `${name} without a scope that opens it: 403, and nothing to retry`,
      run: async ({ client, connect, approve }) => {
        const tokens = { ...(await connect(HUB, 'oauth')), code: await approve() }
        expect(bad(await call(client, tokens))).toEqual(MISSING_SCOPES)
      },
    },
    {
      says: `${name} beyond the account's rate: 429 with its policy, and other accounts go on`,
      run: async ({ client, connect, approve, clock }) => {
        const code = await approve()
        const [mine, other] = [await connect(HUB), await connect(HUB + 1)]
        await Promise.all(Array.from({ length: 110 }, () => client.customProperties(mine.access)))
        expect(bad(await call(client, { ...mine, code }))).toEqual({
          class: 'transient',
          code: 'TEN_SECONDLY_ROLLING',
          message: 'the provider answered 429: You have reached your ten_secondly_rolling limit.',
          status: 429,
          retryAfterMs: 10_000,
        })
        good(await call(client, { ...other, code }))
        clock.move(10_000)
        good(await call(client, { ...mine, code }))
      },
    },
  ]),
  {
    says: "beyond the token endpoint's rate: 429 until its window has moved on, whoever asks",
    run: async ({ client, connect, call, clock }) => {
      const { refresh } = await connect()
      await call('PUT', '/sandbox/token-limit', { requests: 2, perMs: 10_000 })
      good(await client.refresh(refresh))
      clock.move(2_500)
      good(await client.refresh(refresh))
      expect(bad(await client.refresh(refresh))).toEqual({
        class: 'transient',
        code: 'SECONDLY',
        message: 'the provider answered 429: You have reached your rate limit.',
        status: 429,
        retryAfterMs: 8_000,
      })
      clock.move(7_500)
      good(await client.refresh(refresh))
    },
  },
]

const MISSING_SCOPES: ProviderFailure = {
  class: 'forbidden',
  code: 'MISSING_SCOPES',
  message:
    "the provider answered 403: This app hasn't been granted all required scopes to make this call. " +
    'Read more about required scopes here: https://developers.hubspot.com/scopes.',
  status: 403,
  scopes: expect.arrayContaining(['crm.objects.contacts.read', 'crm.objects.contacts.write']),
}

function tooMany(endpoint: Endpoint): ContractCase[] {
  const refused = { class: 'transient', code: expect.stringMatching(/^(TEN_SECONDLY_ROLLING|SECONDLY)$/), status: 429 }
  // The limits endpoints name the window in their refusal; the others leave it to us when to come back.
  const untold = LIMITS.includes(endpoint) ? { retryAfterMs: 10_000 } : {}
  return [
    {
      says: `${endpoint.name}: 429 without Retry-After says no more than the window of its policy`,
      run: async (contract) => {
        const failure = bad(await meeting(contract, endpoint, { status: 429 }))
        expect(failure).toEqual({
          ...refused,
          ...untold,
          message: expect.stringMatching(/: You have reached your .*limit\.$/),
        })
      },
    },
    {
      says: `${endpoint.name}: 429 with Retry-After in seconds says when to come back`,
      run: async (contract) => {
        const fault = { status: 429, headers: { 'Retry-After': '7' } }
        expect(bad(await meeting(contract, endpoint, fault))).toMatchObject({ ...refused, retryAfterMs: 7_000 })
      },
    },
  ]
}

function later(endpoint: Endpoint): ContractCase[] {
  return [
    {
      says: `${endpoint.name}: 477 parks the account for as long as Retry-After says`,
      run: async (contract) => {
        const fault = { status: 477, headers: { 'Retry-After': '86400' } }
        expect(bad(await meeting(contract, endpoint, fault))).toEqual({
          class: 'parked',
          code: 'MIGRATION_IN_PROGRESS',
          message: 'the provider answered 477: This account is being migrated between data hosting locations.',
          status: 477,
          retryAfterMs: 86_400_000,
        })
      },
    },
    {
      says: `${endpoint.name}: 423 is worth another try`,
      run: async (contract) => {
        expect(bad(await meeting(contract, endpoint, { status: 423 }))).toEqual({
          class: 'transient',
          code: 'LOCKED',
          message: 'the provider answered 423: The resource is locked. Try again in a moment.',
          status: 423,
        })
      },
    },
  ]
}

/** What can't be read, and what is sent. The manners of a call as such are in test/provider/http.test.ts. */
export const wire: ContractCase[] = [
  ...READING.map((endpoint) => ({
    says: `${endpoint.name}: a success that can't be read is a failure that says what came`,
    run: async (contract: Contract) => {
      const bodies: [body: string, message: RegExp][] = [
        ['<!doctype html><title>Login</title>', /^a page of a firewall or proxy \(200\): Login$/],
        ['{"access_token":"abc","hub_id":1,"lim', /^the answer of 37 bytes is not valid JSON$/],
        ['', /^the answer is empty$/],
        ['[]', /^the answer is a list: expected an object$/],
        ['null', /^the answer is null: expected an object$/],
        ['"text"', /^the answer is a string: expected an object$/],
        ['{}', /^[A-Za-z_]+ is .*: expected /],
      ]
      for (const [body, message] of bodies) {
        // `unread` of the token endpoint: kept, because it may hold tokens.
        const { unread: _, ...failure } = bad(await meeting(contract, endpoint, { status: 200, body }))
        expect(failure).toEqual({
          class: 'transient',
          code: body.startsWith('<') ? 'intermediary' : 'unreadable',
          message: expect.stringMatching(message),
          status: 200,
        })
      }
    },
  })),
  {
    says: "every answer from an account's bucket has what is left of its 110 calls in ten seconds, a refusal, too",
    run: async ({ client, connect, clock }) => {
      const { access } = await connect(HUB)
      const { access: unscoped } = await connect(HUB + 1, 'oauth')
      const left = (remaining: number) => ({ bucket: { intervalMs: 10_000, max: 110, remaining } })
      expect(await client.associationSources(unscoped)).toMatchObject({ failure: { status: 403 }, ...left(109) })
      for (let calls = 1; calls <= 110; calls++)
        expect(await client.associationSources(access)).toMatchObject({ ok: true, ...left(110 - calls) })
      expect(await client.associationSources(access)).toMatchObject({ failure: { status: 429 }, ...left(0) })
      clock.move(10_000)
      expect(await client.associationSources(access)).toMatchObject({ ok: true, ...left(109) })
    },
  },
  {
    says: 'an access token longer than 512 characters is taken, kept and sent whole',
    sandbox: { accessTokenLength: 3_000 },
    run: async ({ client, connect }) => {
      const { access } = await connect()
      expect(access.reveal().length).toBeGreaterThan(2_900)
      good(await client.metadata(access))
      good(await client.customProperties(access))
      good(await client.associations(access, '0-1', '0-2'))
    },
  },
  {
    says: 'a refresh token longer than 512 characters is taken whole and sent whole',
    run: async ({ client, connect, fault }) => {
      const { refresh } = await connect()
      const long = `na1/${'x+'.repeat(2_000)}=`
      await fault({
        endpoint: 'token',
        status: 200,
        body: { access_token: 'a', refresh_token: long, expires_in: 60 },
        times: 1,
      })
      const { refreshToken } = good(await client.refresh(refresh))
      expect(refreshToken?.reveal()).toBe(long)
      expect(bad(await client.refresh(new Secret(long)))).toMatchObject({ class: 'rejected' })
    },
  },
  {
    says: 'an access token may hold what needs escaping in a path or a form',
    run: async ({ client, connect }) => {
      const { access } = await connect()
      for (const character of '/+=-_') expect(access.reveal()).toContain(character)
      good(await client.metadata(access))
    },
  },
  {
    says: 'a token of nothing but what needs escaping reaches the endpoint that it is for',
    run: async ({ client, journal }) => {
      const token = new Secret('../../x?y&z=%20%2F#ü')
      bad(await client.refresh(token))
      bad(await client.metadata(token))
      await client.deleteRefreshToken(token)
      expect((await journal()).map(({ endpoint }) => endpoint)).toEqual(['token', 'metadata', 'delete'])
    },
  },
]
