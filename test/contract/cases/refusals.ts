import { expect } from 'vitest'
import type { ProviderFailure } from '../../../src/provider/failure.ts'
import { HUB } from '../../sandbox/visit.ts'
import { bad, type Contract, type ContractCase, good, NOBODY } from '../contract.ts'
import { ENDPOINTS, type Endpoint, LIMITS, meeting } from './endpoints.ts'

const HTML = '<!doctype html><html><body><h1>502 Bad Gateway</h1></body></html>'

/** What the provider says no with, wherever it does. */
export const refusals: ContractCase[] = [
  ...ENDPOINTS.flatMap((endpoint) => [
    ...tooMany(endpoint),
    ...later(endpoint),
    ...broken(endpoint),
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
  ...LIMITS.flatMap(({ name, call, faulty }): ContractCase[] => [
    {
      says: `${name} with an expired access token: 401, refresh and try again`,
      run: async ({ client, connect, approve, clock }) => {
        const tokens = { ...(await connect()), code: await approve() }
        clock.move(1_805_000)
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
      says: `${name} without a scope, where the answer names the wrong one: 403 all the same`,
      run: async (contract) => {
        const errors = [{ message: 'One or more are required.', context: { requiredScopes: ['contacts'] } }]
        const body = { status: 'error', category: 'MISSING_SCOPES', message: 'no', errors, links: {} }
        expect(bad(await meeting(contract, { name, call, faulty }, { status: 403, body }))).toEqual({
          ...MISSING_SCOPES,
          message: 'the provider answered 403: no',
          scopes: ['contacts'],
        })
      },
    },
    {
      says: `${name} without a scope: those named as granular are read, too, each once`,
      run: async (contract) => {
        const named = {
          requiredScopes: ['contacts', 'tickets'],
          requiredGranularScopes: ['crm.objects.deals.read', 'tickets'],
        }
        const errors = [{ context: { requiredGranularScopes: ['crm.objects.contacts.read'] } }, { context: named }]
        const body = { status: 'error', category: 'MISSING_SCOPES', message: 'no', errors }
        expect(bad(await meeting(contract, { name, call, faulty }, { status: 403, body }))).toMatchObject({
          class: 'forbidden',
          scopes: ['crm.objects.contacts.read', 'contacts', 'tickets', 'crm.objects.deals.read'],
        })
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
    {
      says: `${name} beyond the daily limit: 429 with that policy`,
      run: async (contract) => {
        const body = {
          ...{ status: 'error', message: 'You have reached your daily limit.', errorType: 'RATE_LIMIT' },
          ...{ correlationId: 'c033cdaa-2c40-4a64-ae48-b4cec88dad24', policyName: 'DAILY', requestId: '3d3e' },
        }
        expect(bad(await meeting(contract, { name, call, faulty }, { status: 429, body }))).toMatchObject({
          class: 'transient',
          code: 'DAILY',
          retryAfterMs: 3_600_000,
          message: 'the provider answered 429: You have reached your daily limit.',
        })
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
    {
      says: `${endpoint.name}: 429 with Retry-After as an HTTP date says when to come back`,
      run: async (contract) => {
        const at = new Date(contract.clock.now() + 90_000).toUTCString()
        const fault = { status: 429, headers: { 'Retry-After': at } }
        expect(bad(await meeting(contract, endpoint, fault))).toMatchObject({ ...refused, retryAfterMs: 90_000 })
      },
    },
    {
      says: `${endpoint.name}: 429 with a Retry-After that is neither is taken as if there were none`,
      run: async (contract) => {
        for (const value of ['soon', '-5', '', '1.5']) {
          const failure = bad(await meeting(contract, endpoint, { status: 429, headers: { 'Retry-After': value } }))
          expect(failure.retryAfterMs).toBe(untold.retryAfterMs)
        }
      },
    },
    {
      says: `${endpoint.name}: a Retry-After of nothing or of a year is held between a second and a day`,
      run: async (contract) => {
        const waits: Record<string, number> = {
          '0': 1_000,
          '31536000': 86_400_000,
          [new Date(contract.clock.now() - 1).toUTCString()]: 1_000,
        }
        for (const [value, retryAfterMs] of Object.entries(waits)) {
          const failure = bad(await meeting(contract, endpoint, { status: 429, headers: { 'Retry-After': value } }))
          expect(failure).toMatchObject({ retryAfterMs })
        }
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

function broken(endpoint: Endpoint): ContractCase[] {
  const bodies: [name: string, body: unknown, code: (status: number) => string, says: string][] = [
    ['HTML', HTML, String, ''],
    [
      'JSON',
      { status: 'error', category: 'INTERNAL_ERROR', message: 'internal error' },
      () => 'INTERNAL_ERROR',
      ': internal error',
    ],
    [
      'JSON in which every field is of another kind',
      { status: 5, category: [1], message: null, policyName: {} },
      String,
      '',
    ],
    ['text', 'no healthy upstream', String, ''],
    ['nothing', '', String, ''],
  ]
  return bodies.map(([name, body, code, says]) => ({
    says: `${endpoint.name}: 500 to 599 with ${name} is worth another try`,
    run: async (contract: Contract) => {
      for (const status of [500, 502, 503, 504, 521, 524, 599]) {
        expect(bad(await meeting(contract, endpoint, { status, body }))).toEqual({
          class: 'transient',
          code: code(status),
          message: `the provider answered ${status}${says}`,
          status,
        })
      }
    },
  }))
}
