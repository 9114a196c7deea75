import { type ConfiguredClient, createProviderClient, type ProviderOptions } from '../../src/provider/client.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { HandClock } from '../support/hand-clock.ts'

export const CLIENT_SECRET = 'c11ent-s3cret/+=?&'

/** A client as the daemon makes it, for a server of this test. */
export function connectClient(baseUrl: string, options: Partial<ProviderOptions> = {}): ConfiguredClient {
  return createProviderClient({
    dialect: 'v1',
    baseUrl,
    clientId: 'client-id',
    clientSecret: new Secret(CLIENT_SECRET),
    redirectUri: 'https://plimsoll.example.com/oauth/callback',
    timeoutMs: 10_000,
    connections: 4,
    clock: new HandClock(),
    ...options,
  })
}
