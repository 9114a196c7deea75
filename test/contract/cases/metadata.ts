import { expect } from 'vitest'
import type { ProviderFailure } from '../../../src/provider/failure.ts'
import { HUB } from '../../sandbox/visit.ts'
import { bad, type Contract, type ContractCase, good, NOBODY, withExtras, without } from '../contract.ts'

const METADATA = {
  token: 'access-1',
  user: 'ada@acme.example.com',
  hub_domain: 'acme.example.com',
  scopes: ['oauth', 'crm.objects.contacts.read'],
  hub_id: 123,
  app_id: 456,
  user_id: 789,
  expires_in: 1754,
  token_type: 'access',
  signed_access_token: { expiresAt: 1_763_719_200_000, hubId: 123, hublet: 'eu1', trialScopes: '', isUserLevel: false },
}

const READ = {
  hubId: 123,
  hubDomain: 'acme.example.com',
  hublet: 'eu1',
  user: 'ada@acme.example.com',
  scopes: ['oauth', 'crm.objects.contacts.read'],
  lifeLeftMs: 1_754_000,
}

async function metadataAnswered({ client, connect, fault }: Contract, body: unknown) {
  const { access } = await connect()
  await fault({ endpoint: 'metadata', status: 200, body, times: 1 })
  return client.metadata(access)
}

const NOT_ACTIVE: ProviderFailure = {
  class: 'transient',
  code: 'unreadable',
  message: 'the provider reports that the access token is not active',
  status: 200,
}

/** v1 answers 404, its successors 200 with `active: false`. Neither says anything about the account. */
const NO_LIVE_TOKEN: Record<Contract['dialect'], ProviderFailure> = {
  v1: {
    class: 'client',
    code: 'OBJECT_NOT_FOUND',
    message: 'the provider answered 404: The token is unknown, was deleted or has expired.',
    status: 404,
  },
  '2026-03': NOT_ACTIVE,
  '2026-09': NOT_ACTIVE,
}

/** Interface 4.3. */
export const metadata: ContractCase[] = [
  {
    says: 'metadata tells whose an access token is and what it may do',
    run: async ({ client, connect }) => {
      const { access } = await connect()
      expect(good(await client.metadata(access))).toEqual({
        hubId: HUB,
        hubDomain: 'acme-01.example.com',
        hublet: 'na1',
        user: 'admin@acme-01.example.com',
        scopes: ['oauth', 'crm.objects.contacts.read'],
        lifeLeftMs: expect.closeTo(1_800_000, -4),
      })
    },
  },
  {
    says: 'metadata with every field of the interface is read',
    run: async (contract) => expect(good(await metadataAnswered(contract, METADATA))).toEqual(READ),
  },
  {
    says: 'metadata of which only the account and its scopes are there is enough',
    run: async (contract) => {
      const { hub_id, scopes } = METADATA
      const read = { ...READ, hubDomain: undefined, hublet: undefined, user: undefined, lifeLeftMs: undefined }
      expect(good(await metadataAnswered(contract, { hub_id, scopes }))).toEqual(read)
    },
  },
  {
    says: 'metadata with unknown fields at every depth reads the same',
    run: async (contract) => expect(good(await metadataAnswered(contract, withExtras(METADATA)))).toEqual(READ),
  },
  ...['hub_id', 'scopes'].map((field) => ({
    says: `metadata without ${field} can't be read, and the failure names the field`,
    run: async (contract: Contract) => {
      const failure = bad(await metadataAnswered(contract, without(METADATA, field)))
      expect(failure).toMatchObject({ class: 'transient', code: 'unreadable', status: 200 })
      expect(failure.message).toContain(`${field} is `)
    },
  })),
  {
    says: 'metadata of an account 0 is a failure: nothing must ever be stored for it',
    run: async (contract) => {
      const failure = bad(await metadataAnswered(contract, { ...METADATA, hub_id: 0 }))
      expect(failure.message).toContain('hub_id')
    },
  },
  {
    says: 'an answer of active: false is a failure whatever else it says',
    run: async (contract) => {
      expect(bad(await metadataAnswered(contract, { ...METADATA, active: false }))).toEqual(NOT_ACTIVE)
    },
  },
  {
    says: 'metadata of a token that nobody gave out is a failure',
    run: async ({ client, dialect }) => {
      expect(bad(await client.metadata(NOBODY))).toEqual(NO_LIVE_TOKEN[dialect])
    },
  },
  {
    says: 'metadata of an access token that expired is a failure',
    run: async ({ client, connect, clock, dialect }) => {
      const { access } = await connect()
      clock.move(1_800_000)
      expect(bad(await client.metadata(access))).toEqual(NO_LIVE_TOKEN[dialect])
    },
  },
  {
    says: 'metadata of a token of another kind is a failure that accuses no account',
    run: async ({ client, connect, fault }) => {
      const { access } = await connect()
      await fault({ endpoint: 'metadata', status: 400 })
      expect(bad(await client.metadata(access))).toEqual({
        class: 'client',
        code: '400',
        message: 'the provider answered 400: The access token must have the correct format',
        status: 400,
      })
    },
  },
]
