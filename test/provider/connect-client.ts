import { type ConfiguredClient, createProviderClient, type ProviderOptions } from '../../src/provider/client.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { HandClock } from '../support/hand-clock.ts'
import { type ReadingMethods, readingClient } from '../support/limits-calls.ts'

export const CLIENT_SECRET = 'c11ent-s3cret/+=?&'

export type TestedClient = ConfiguredClient & ReadingMethods

/** A client as the daemon makes it, for a server of this test; with a method for each limits endpoint. */
export function connectClient(baseUrl: string, options: Partial<ProviderOptions> = {}): TestedClient {
  const client = createProviderClient({
    dialect: 'v1',
    baseUrl,
    clientId: 'client-id',
    clientSecrets: [new Secret(CLIENT_SECRET)],
    redirectUri: 'https://plimsoll.example.com/oauth/callback',
    timeoutMs: 10_000,
    connections: 4,
    clock: new HandClock(),
    ...options,
  })
  return Object.assign(client, readingClient(client))
}

/** Answers as the interface describes them, with everything that may be there. */
export const TOKENS = {
  token_type: 'bearer',
  refresh_token: 'refresh-2',
  access_token: 'access-2',
  expires_in: 1800,
}

export const METADATA = {
  token: 'access-1',
  user: 'ada@acme.example.com',
  hub_domain: 'acme.example.com',
  scopes: ['oauth', 'crm.objects.contacts.read'],
  hub_id: 123,
  app_id: 456,
  user_id: 789,
  expires_in: 1754,
  token_type: 'access',
}

export const ASSOCIATIONS = {
  limit: 500,
  totalRecordsAtLimit: 1,
  totalRecordsNearLimit: 2,
  atLimitFromRecordSamples: [{ label: 'Acme', objectId: 11 }],
  nearLimitFromRecordSamples: [
    { label: 'Globex', objectId: 12, percentage: 96.4, usage: 482 },
    { label: 'Initech', objectId: 13, percentage: 80, usage: 400 },
  ],
}

export const BUSY_OBJECT_TYPES = {
  results: [
    {
      objectTypeId: '0-1',
      singularLabel: 'Contact',
      pluralLabel: 'Contacts',
      hasRecordsAtLimit: true,
      hasRecordsNearLimit: false,
    },
  ],
}

export const CUSTOM_PROPERTIES = {
  overallLimit: 1000,
  overallUsage: 960,
  overallPercentage: 96,
  byObjectType: [
    {
      limit: 1000,
      objectTypeId: '0-1',
      percentage: 12.3,
      pluralLabel: 'Contacts',
      singularLabel: 'Contact',
      usage: 123,
    },
  ],
}
