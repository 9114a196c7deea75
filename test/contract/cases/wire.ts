import { expect } from 'vitest'
import { Secret } from '../../../src/runtime/secret.ts'
import { bad, type Contract, type ContractCase, good, NOBODY } from '../contract.ts'
import { ENDPOINTS, meeting, READING } from './endpoints.ts'

/** Beyond what the client takes: 2 MB. */
const TOO_LARGE = `{"padding":"${'x'.repeat(2_000_000)}"}`

/** What may happen to an answer on its way, and to what is sent. */
export const wire: ContractCase[] = [
  ...ENDPOINTS.flatMap((endpoint): ContractCase[] => [
    {
      says: `${endpoint.name}: an answer beyond the deadline is no answer`,
      run: async (contract) => {
        const impatient = contract.otherClient({ timeoutMs: 150 })
        expect(bad(await meeting(contract, endpoint, { delayMs: 60_000 }, impatient))).toEqual({
          class: 'transient',
          code: 'timeout',
          message: 'no complete answer within 0.15 s',
          status: 0,
        })
      },
    },
    {
      says: `${endpoint.name}: a connection that ends before the answer is a failure, made once`,
      run: async (contract) => {
        expect(bad(await meeting(contract, endpoint, { drop: true }))).toEqual({
          class: 'transient',
          code: 'network',
          message: 'connection closed before the answer was complete',
          status: 0,
        })
        expect(await contract.journal(`?endpoint=${endpoint.faulty}`)).toHaveLength(endpoint.faulty === 'token' ? 2 : 1)
      },
    },
    {
      says: `${endpoint.name}: a connection that ends in the middle of the answer is a failure`,
      run: async (contract) => {
        const fault = { status: 200, body: { half: 'of this' }, drop: 'midway' } as const
        expect(bad(await meeting(contract, endpoint, fault))).toEqual({
          class: 'transient',
          code: 'network',
          message: 'connection closed before the answer was complete',
          status: 0,
        })
      },
    },
    {
      says: `${endpoint.name}: an answer larger than the cap is cut off`,
      run: async (contract) => {
        expect(bad(await meeting(contract, endpoint, { status: 200, body: TOO_LARGE }))).toEqual({
          class: 'transient',
          code: 'too-large',
          message: 'the answer is larger than 2000000 bytes',
          status: 0,
        })
      },
    },
    {
      says: `${endpoint.name}: a redirect is not followed`,
      run: async (contract) => {
        const fault = { status: 302, headers: { location: `${contract.sandbox.url}/sandbox/hooks/stolen` } }
        expect(bad(await meeting(contract, endpoint, fault))).toMatchObject({ class: 'client', code: '302' })
        expect(await (await contract.call('GET', '/sandbox/hooks')).json()).toEqual([])
      },
    },
  ]),
  ...READING.map((endpoint) => ({
    says: `${endpoint.name}: a success that can't be read is a failure that says what came`,
    run: async (contract: Contract) => {
      const bodies: [body: string, message: RegExp][] = [
        ['<!doctype html><title>Login</title>', /^the answer is HTML, not JSON$/],
        ['{"access_token":"abc","hub_id":1,"lim', /^the answer of 37 bytes is not valid JSON$/],
        ['', /^the answer is empty$/],
        ['[]', /^the answer is a list: expected an object$/],
        ['null', /^the answer is null: expected an object$/],
        ['"text"', /^the answer is a string: expected an object$/],
        ['{}', /^[A-Za-z_]+ is .*: expected /],
      ]
      for (const [body, message] of bodies) {
        expect(bad(await meeting(contract, endpoint, { status: 200, body }))).toEqual({
          class: 'transient',
          code: 'unreadable',
          message: expect.stringMatching(message),
          status: 200,
        })
      }
    },
  })),
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
  {
    says: 'a provider that is not there is a failure like any other',
    run: async ({ otherClient, sandbox }) => {
      const client = otherClient({})
      await sandbox.close()
      expect(bad(await client.refresh(NOBODY))).toEqual({
        class: 'transient',
        code: 'network',
        message: 'connection refused',
        status: 0,
      })
    },
  },
]
