import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DIALECT_NAMES } from '../../src/provider/dialects.ts'
import type { ProviderResult } from '../../src/provider/failure.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { type Answer, type FarSide, json, startFarSide } from '../support/far-side.ts'
import { connectClient, type TestedClient } from './connect-client.ts'

let far: FarSide
beforeAll(async () => {
  far = await startFarSide()
})
afterAll(() => far.stop())

const CALLS: Record<string, (client: TestedClient, token: Secret) => Promise<ProviderResult<unknown>>> = {
  exchangeCode: (client, token) => client.exchangeCode(token),
  refresh: (client, token) => client.refresh(token),
  metadata: (client, token) => client.metadata(token),
  deleteRefreshToken: (client, token) => client.deleteRefreshToken(token),
  associations: (client, token) => client.associations(token, '0-1', '0-2'),
  customProperties: (client, token) => client.customProperties(token),
  associationSources: (client, token) => client.associationSources(token),
}

/** Repeats everything it was sent, the way a talkative server does. */
const ECHOES: Record<string, (said: string[]) => Answer> = {
  'in its message': (said) => json(400, { status: 'error', message: `refused: ${said.join(' ')}` }),
  'in its description': (said) => json(401, { error: 'invalid_client', error_description: said.join(' ') }),
  'in a message that is cut short': (said) => json(500, { message: `${'x'.repeat(150)} ${said.join(' ')}` }),
  'in its status': (said) => json(400, { status: said[0] }),
  'in its category': (said) => json(403, { category: said[0] }),
  'in the scopes that it requires': (said) => json(403, { errors: [{ context: { requiredScopes: said } }] }),
  'in fields that nobody reads': (said) => json(403, { category: 'X', context: { token: said } }),
  'as the answer': (said) => json(200, said.join(' ')),
  'in every field of the answer': ([said]) =>
    json(200, { access_token: said, expires_in: said, scopes: said, hub_id: said, limit: said, overallLimit: said }),
}

/** The longest piece of `secret` that stands in `text`. */
function leaked(text: string, secret: string): number {
  for (let length = secret.length; length >= 8; length--) {
    for (let at = 0; at + length <= secret.length; at++) {
      if (text.includes(secret.slice(at, at + length))) return length
    }
  }
  return 0
}

const SECRETS: Record<string, { token: string; clientSecret: string }> = {
  usual: { token: 'na1-5d2c-98ef-4411-a0b1', clientSecret: '7f0e-11aa-42bb-9c3d' },
  'with signs that are encoded': { token: 'tok/en+with=signs?&#%2F', clientSecret: 'cl/ient+secret=&?' },
  'of letters only': { token: 'abcdefghijklmnopqrstuvwx', clientSecret: 'ABCDEFGHIJKLMNOPQRSTUVWX' },
  'long and of letters and signs': { token: 'abc:def|'.repeat(45), clientSecret: 'XYZ:UVW|'.repeat(8) },
  long: { token: 'A1-b2_'.repeat(60), clientSecret: 'Q9-z8_'.repeat(10) },
}

describe.each(DIALECT_NAMES)('no failure in the dialect %s', (dialect) => {
  describe.each(Object.entries(SECRETS))('with secrets %s', (_, { token, clientSecret }) => {
    test.each(Object.entries(ECHOES))(
      'contains a token or the client secret that the far side repeats %s',
      async (_how, echo) => {
        const other = [...clientSecret].reverse().join('')
        const clientSecrets = [new Secret(clientSecret), new Secret(other)]
        const client = connectClient(far.url, { dialect, clientSecrets })
        const sent = [token, clientSecret, other]
        const failures: string[] = []
        for (const said of [sent, [...sent].reverse(), sent.map(encodeURIComponent)]) {
          far.answer = echo(said)
          for (const call of Object.values(CALLS)) {
            const result = await call(client, new Secret(token))
            if (!result.ok) failures.push(JSON.stringify(result.failure))
          }
        }
        await client.close()
        expect(failures.length).toBeGreaterThan(0)
        for (const failure of failures) {
          expect(leaked(failure, token), failure).toBe(0)
          expect(leaked(failure, clientSecret), failure).toBe(0)
          expect(leaked(failure, other), failure).toBe(0)
        }
      },
    )
  })
})
