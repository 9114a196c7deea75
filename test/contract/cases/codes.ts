import { expect } from 'vitest'
import { Secret } from '../../../src/runtime/secret.ts'
import { bad, type ContractCase, good, NOBODY } from '../contract.ts'

/** Interface 4.1. */
export const codes: ContractCase[] = [
  {
    says: 'a code is exchanged for an access token, a refresh token and a lifetime',
    run: async ({ client, approve }) => {
      const { accessToken, refreshToken, lifetimeMs } = good(await client.exchangeCode(await approve()))
      expect(accessToken.reveal()).toMatch(/^\S{250,}$/)
      expect(refreshToken?.reveal()).toMatch(/^na1-/)
      expect(lifetimeMs).toBe(1_800_000)
    },
  },
  {
    says: 'a code that was used is rejected, and the tokens it gave stay good',
    run: async ({ client, approve }) => {
      const code = await approve()
      const { accessToken } = good(await client.exchangeCode(code))
      expect(bad(await client.exchangeCode(code))).toEqual({
        class: 'rejected',
        code: 'BAD_AUTH_CODE',
        message: 'the provider answered 400: missing or unknown auth code',
        status: 400,
      })
      good(await client.customProperties(accessToken))
    },
  },
  {
    says: 'a code that nobody gave out is rejected',
    run: async ({ client }) => {
      expect(bad(await client.exchangeCode(NOBODY))).toMatchObject({ class: 'rejected', code: 'BAD_AUTH_CODE' })
    },
  },
  {
    says: 'a code that expired is rejected in words of its own',
    run: async ({ client, approve, clock }) => {
      const [young, code] = [await approve(), await approve()]
      clock.move(59_999)
      good(await client.exchangeCode(young))
      clock.move(1)
      expect(bad(await client.exchangeCode(code))).toEqual({
        class: 'rejected',
        code: 'EXPIRED_AUTH_CODE',
        message: 'the provider answered 400: the auth code expired',
        status: 400,
      })
    },
  },
  {
    says: "a redirect address that is not the one of the code is the app's fault, and the code stays good",
    run: async ({ client, otherClient, approve }) => {
      const code = await approve()
      const other = otherClient({ redirectUri: 'https://elsewhere.example.com/callback' })
      expect(bad(await other.exchangeCode(code))).toEqual({
        class: 'client',
        code: 'BAD_REDIRECT_URI',
        message: 'the provider answered 400: redirect_uri is not the one that the auth code was issued for',
        status: 400,
      })
      good(await client.exchangeCode(code))
    },
  },
  {
    says: "a wrong client secret is the app's fault, not the code's, and the code stays good",
    run: async ({ client, otherClient, approve }) => {
      const code = await approve()
      const other = otherClient({ clientSecrets: [new Secret('wrong/secret+of=the&app')] })
      expect(bad(await other.exchangeCode(code))).toEqual({
        class: 'client',
        code: 'BAD_CLIENT_SECRET',
        message: 'the provider answered 400: missing or invalid client secret',
        status: 400,
      })
      good(await client.exchangeCode(code))
    },
  },
  {
    says: "a wrong client id is the app's fault, not the code's, and the code stays good",
    run: async ({ client, otherClient, approve }) => {
      const code = await approve()
      expect(bad(await otherClient({ clientId: 'another-app' }).exchangeCode(code))).toEqual({
        class: 'client',
        code: 'BAD_CLIENT_ID',
        message: 'the provider answered 400: missing or unknown client id',
        status: 400,
      })
      good(await client.exchangeCode(code))
    },
  },
  {
    says: 'a code whose account uninstalled the app in between is rejected',
    run: async ({ client, approve, call }) => {
      const code = await approve()
      await call('DELETE', '/sandbox/accounts/1000001')
      expect(bad(await client.exchangeCode(code))).toMatchObject({ class: 'rejected', code: 'BAD_AUTH_CODE' })
    },
  },
  {
    says: 'a code exchange whose answer was lost has used up the code',
    run: async ({ client, approve, fault }) => {
      const code = await approve()
      await fault({ endpoint: 'token', drop: true, after: true, times: 1 })
      expect(bad(await client.exchangeCode(code))).toMatchObject({ class: 'transient', code: 'network' })
      expect(bad(await client.exchangeCode(code))).toMatchObject({ class: 'rejected', code: 'BAD_AUTH_CODE' })
    },
  },
]
