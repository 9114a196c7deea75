import { expect } from 'vitest'
import { bad, type Contract, type ContractCase, good, NOBODY } from '../contract.ts'

/** v1 answers 404 for a token that it doesn't know, its successors 200 (RFC 7009, section 2.2). */
const UNKNOWN = { v1: 'was-gone', '2026-03': 'deleted', '2026-09': 'deleted' } as const

/** Interface 4.4. */
export const deletion: ContractCase[] = [
  {
    says: 'a deleted refresh token is dead; access tokens made with it live on and the app stays installed',
    run: async ({ client, connect, call }) => {
      const { access, refresh } = await connect()
      expect(good(await client.deleteRefreshToken(refresh))).toBe('deleted')
      expect(bad(await client.refresh(refresh))).toMatchObject({ class: 'rejected', code: 'BAD_REFRESH_TOKEN' })
      good(await client.customProperties(access))
      expect(await (await call('GET', '/sandbox/accounts')).json()).toMatchObject([{ installed: true }, {}, {}])
    },
  },
  {
    says: 'a deletion that is asked for again is done',
    run: async ({ client, connect, dialect }) => {
      const { refresh } = await connect()
      good(await client.deleteRefreshToken(refresh))
      expect(good(await client.deleteRefreshToken(refresh))).toBe(UNKNOWN[dialect])
    },
  },
  {
    says: 'a deletion whose answer was lost is done when it is asked for again',
    run: async ({ client, connect, fault, dialect }) => {
      const { refresh } = await connect()
      await fault({ endpoint: 'delete', drop: true, after: true, times: 1 })
      expect(bad(await client.deleteRefreshToken(refresh))).toMatchObject({ class: 'transient', code: 'network' })
      expect(good(await client.deleteRefreshToken(refresh))).toBe(UNKNOWN[dialect])
    },
  },
  {
    says: 'the deletion of a token that nobody gave out is done',
    run: async ({ client, dialect }) => {
      expect(good(await client.deleteRefreshToken(NOBODY))).toBe(UNKNOWN[dialect])
    },
  },
  {
    says: 'the refresh token of an account that uninstalled the app counts as deleted',
    run: async ({ client, connect, call, dialect }) => {
      const { refresh } = await connect()
      await call('DELETE', '/sandbox/accounts/1000001')
      expect(good(await client.deleteRefreshToken(refresh))).toBe(UNKNOWN[dialect])
    },
  },
  ...[
    [200, {}],
    [200, undefined],
    [204, undefined],
    [202, 'gone soon'],
  ].map(([status, body]) => ({
    says: `a deletion answered with ${status} and ${body === undefined ? 'nothing' : JSON.stringify(body)} is done`,
    run: async (contract: Contract) => {
      expect(good(await deletionAnswered(contract, Number(status), body))).toBe('deleted')
    },
  })),
  ...[
    [404, { status: 'error', message: 'not found' }],
    [400, { status: 'BAD_REFRESH_TOKEN', message: 'missing or invalid refresh token' }],
    [400, { error: 'invalid_grant' }],
    [400, { status: 'BAD_HUB', error: 'access_denied', message: 'hub is deleted' }],
  ].map(([status, body]) => ({
    says: `a deletion answered with ${status} and ${JSON.stringify(body)} was done before`,
    run: async (contract: Contract) => {
      expect(good(await deletionAnswered(contract, Number(status), body))).toBe('was-gone')
    },
  })),
  ...(
    [
      [400, 'client'],
      [401, 'client'],
      [429, 'transient'],
      [500, 'transient'],
      [477, 'parked'],
    ] as const
  ).map(([status, kind]) => ({
    says: `a deletion answered with ${status} is not done`,
    run: async (contract: Contract) => {
      const body = { status: 'error', message: 'no' }
      expect(bad(await deletionAnswered(contract, status, body))).toEqual({
        class: kind,
        code: String(status),
        message: `the provider answered ${status}: no`,
        status,
      })
    },
  })),
]

async function deletionAnswered({ client, connect, fault }: Contract, status: number, body: unknown) {
  const { refresh } = await connect()
  await fault({ endpoint: 'delete', status, ...(body !== undefined && { body }) })
  return client.deleteRefreshToken(refresh)
}
