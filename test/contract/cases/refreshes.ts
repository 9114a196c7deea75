import { expect } from 'vitest'
import { Secret } from '../../../src/runtime/secret.ts'
import { CLIENT, HUB } from '../../sandbox/visit.ts'
import { bad, type Contract, type ContractCase, good, NOBODY, withExtras, without } from '../contract.ts'

const TOKENS = { token_type: 'bearer', refresh_token: 'refresh-2', access_token: 'access-2', expires_in: 1800 }

/** What the client makes of an answer that is exactly this. */
async function refreshAnswered({ client, connect, fault }: Contract, body: unknown) {
  const { refresh } = await connect()
  await fault({ endpoint: 'token', status: 200, body, times: 1 })
  return client.refresh(refresh)
}

/** Interface 4.2, whose answer it doesn't show: it may return the refresh token, another one, or none. */
export const refreshes: ContractCase[] = [
  {
    says: 'a refresh may return the same refresh token, good for the next one, and earlier access tokens live on',
    run: async ({ client, connect }) => {
      const { access, refresh } = await connect()
      const first = good(await client.refresh(refresh))
      expect(first.refreshToken?.reveal()).toBe(refresh.reveal())
      expect(first.accessToken.reveal()).not.toBe(access.reveal())
      expect(first.lifetimeMs).toBe(1_800_000)
      good(await client.refresh(refresh))
      good(await client.customProperties(access))
    },
  },
  {
    says: 'a refresh may return another refresh token, and the old one is dead',
    sandbox: { rotateRefreshTokens: true },
    run: async ({ client, connect }) => {
      const { refresh } = await connect()
      const { refreshToken } = good(await client.refresh(refresh))
      if (refreshToken === undefined) throw new Error('no refresh token')
      expect(refreshToken.reveal()).not.toBe(refresh.reveal())
      expect(bad(await client.refresh(refresh))).toMatchObject({ class: 'rejected', code: 'BAD_REFRESH_TOKEN' })
      good(await client.refresh(refreshToken))
    },
  },
  ...[
    ['missing', without(TOKENS, 'refresh_token')],
    ['null', { ...TOKENS, refresh_token: null }],
    ['empty', { ...TOKENS, refresh_token: '' }],
  ].map(([what, body]) => ({
    says: `a refresh may return no refresh token (${what}): the one there is stays`,
    run: async (contract: Contract) => {
      const { accessToken, refreshToken, lifetimeMs } = good(await refreshAnswered(contract, body))
      expect([accessToken.reveal(), refreshToken, lifetimeMs]).toEqual(['access-2', undefined, 1_800_000])
    },
  })),
  {
    says: 'a refresh may return more than was asked: unknown fields are left alone',
    run: async (contract) => {
      const more = { hub_id: 1, user_id: null, scopes: ['oauth'], token_use: 'access_token', id_token: 'x.y.z' }
      const { accessToken, refreshToken, lifetimeMs } = good(
        await refreshAnswered(contract, withExtras({ ...TOKENS, ...more })),
      )
      expect([accessToken.reveal(), refreshToken?.reveal(), lifetimeMs]).toEqual(['access-2', 'refresh-2', 1_800_000])
    },
  },
  {
    says: 'the lifetime is what the answer says, never an assumption',
    sandbox: { tokenLifetimeMs: 20_000 },
    run: async ({ client, connect }) => {
      const { refresh } = await connect()
      expect(good(await client.refresh(refresh)).lifetimeMs).toBe(20_000)
    },
  },
  ...[
    ['access_token', TOKENS],
    ['expires_in', without(TOKENS, 'refresh_token')],
  ].map(([field, answer]) => ({
    says: `a refresh without ${field} can't be read, and the failure names the field`,
    run: async (contract: Contract) => {
      const failure = bad(await refreshAnswered(contract, without(answer as object, field as string)))
      expect(failure).toMatchObject({ class: 'transient', code: 'unreadable', status: 200 })
      expect(failure.message).toContain(`${field} is missing`)
    },
  })),
  ...[undefined, null, 0, -5, 0.5, 'soon', 1e300].map((lifetime) => ({
    says: `a new refresh token is kept also where its lifetime is ${JSON.stringify(lifetime)}; it is refreshed again soon`,
    run: async (contract: Contract) => {
      const { refreshToken, lifetimeMs } = good(await refreshAnswered(contract, { ...TOKENS, expires_in: lifetime }))
      expect([refreshToken?.reveal(), lifetimeMs]).toEqual(['refresh-2', 300_000])
    },
  })),
  {
    says: "a lifetime of 0 can't be meant, and the failure names the field",
    run: async (contract) => {
      const failure = bad(await refreshAnswered(contract, { ...without(TOKENS, 'refresh_token'), expires_in: 0 }))
      expect(failure).toMatchObject({ class: 'transient', code: 'unreadable' })
      expect(failure.message).toContain('expires_in')
    },
  },
  {
    says: 'a refresh token that nobody gave out is rejected',
    run: async ({ client }) => {
      expect(bad(await client.refresh(NOBODY))).toEqual({
        class: 'rejected',
        code: 'BAD_REFRESH_TOKEN',
        message: 'the provider answered 400: refresh token is invalid, expired or revoked',
        status: 400,
      })
    },
  },
  {
    says: 'a refusal in the older shape, with status and message only, is understood too',
    run: async ({ client, connect, fault }) => {
      const { refresh } = await connect()
      const body = { status: 'BAD_REFRESH_TOKEN', message: 'missing or invalid refresh token' }
      await fault({ endpoint: 'token', status: 400, body })
      expect(bad(await client.refresh(refresh))).toEqual({
        class: 'rejected',
        code: 'BAD_REFRESH_TOKEN',
        message: 'the provider answered 400: missing or invalid refresh token',
        status: 400,
      })
    },
  },
  {
    says: 'a refusal in the words of RFC 6749 alone is understood too',
    run: async ({ client, connect, fault }) => {
      const { refresh } = await connect()
      await fault({ endpoint: 'token', status: 400, body: { error: 'invalid_grant' } })
      expect(bad(await client.refresh(refresh))).toEqual({
        class: 'rejected',
        code: 'invalid_grant',
        message: 'the provider answered 400',
        status: 400,
      })
    },
  },
  {
    says: "a refresh with a wrong client secret or id is the app's fault, and the refresh token stays good",
    run: async ({ client, otherClient, connect }) => {
      const { refresh } = await connect()
      const wrongSecret = otherClient({ clientSecrets: [new Secret('wrong/secret+of=the&app')] })
      expect(bad(await wrongSecret.refresh(refresh))).toMatchObject({ class: 'client', code: 'BAD_CLIENT_SECRET' })
      const wrongId = otherClient({ clientId: 'another-app' })
      expect(bad(await wrongId.refresh(refresh))).toMatchObject({ class: 'client', code: 'BAD_CLIENT_ID' })
      good(await client.refresh(refresh))
    },
  },
  {
    says: 'of several client secrets the one that works is found, at every endpoint, and is the first from then on',
    run: async ({ otherClient, approve, connect, journal }) => {
      const clientSecrets = [new Secret('wrong/secret+of=the&app'), new Secret(CLIENT.client_secret)]
      const code = await approve()
      const [{ access, refresh }, before] = [await connect(), (await journal()).length]
      const one = otherClient({ clientSecrets })
      good(await one.exchangeCode(code))
      good(await one.refresh(refresh))
      expect((await journal()).slice(before).map(({ status }) => status)).toEqual([400, 200, 200])
      good(await otherClient({ clientSecrets }).refresh(refresh))
      expect(good(await otherClient({ clientSecrets }).metadata(access)).hubId).toBe(HUB)
      expect(good(await otherClient({ clientSecrets }).deleteRefreshToken(refresh))).toBe('deleted')
      expect(bad(await one.refresh(refresh))).toMatchObject({ class: 'rejected', code: 'BAD_REFRESH_TOKEN' })
    },
  },
  {
    says: 'where each of several client secrets is wrong, it is the failure that it was',
    run: async ({ otherClient, connect, journal }) => {
      const [{ refresh }, before] = [await connect(), (await journal()).length]
      const clientSecrets = [new Secret('wrong/secret+of=the&app'), new Secret('another/wrong+one')]
      expect(bad(await otherClient({ clientSecrets }).refresh(refresh))).toMatchObject({
        class: 'client',
        code: 'BAD_CLIENT_SECRET',
      })
      expect((await journal()).slice(before)).toHaveLength(2)
    },
  },
  {
    says: "a 401 of the token endpoint is the app's fault",
    run: async ({ client, connect, fault }) => {
      const { refresh } = await connect()
      await fault({ endpoint: 'token', status: 401 })
      expect(bad(await client.refresh(refresh))).toMatchObject({ class: 'client', code: 'BAD_CLIENT_ID', status: 401 })
    },
  },
  {
    says: 'the refresh token of an account that uninstalled the app is rejected',
    run: async ({ client, connect, call }) => {
      const { refresh } = await connect()
      await call('DELETE', '/sandbox/accounts/1000001')
      expect(bad(await client.refresh(refresh))).toMatchObject({ class: 'rejected', code: 'BAD_REFRESH_TOKEN' })
    },
  },
  {
    says: 'the refresh token of an account that was deleted is rejected, in words of its own',
    run: async ({ client, connect, call }) => {
      const { refresh } = await connect()
      await call('DELETE', '/sandbox/accounts/1000001?hub=deleted')
      expect(bad(await client.refresh(refresh))).toEqual({
        class: 'rejected',
        code: 'BAD_HUB',
        message: 'the provider answered 400: hub is deleted or disconnected',
        status: 400,
      })
    },
  },
  {
    says: 'a deleted account in the older shape, 403 without an error, is understood too',
    run: async ({ client, connect, fault }) => {
      const { refresh } = await connect()
      await fault({ endpoint: 'token', status: 403, body: { status: 'BAD_HUB', message: 'the hub is disconnected' } })
      expect(bad(await client.refresh(refresh))).toEqual({
        class: 'rejected',
        code: 'BAD_HUB',
        message: 'the provider answered 403: the hub is disconnected',
        status: 403,
      })
    },
  },
  {
    says: 'an access token in the place of a refresh token is rejected',
    run: async ({ client, connect }) => {
      const { access } = await connect()
      expect(bad(await client.refresh(access))).toMatchObject({ class: 'rejected', code: 'BAD_REFRESH_TOKEN' })
    },
  },
]
