import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DIALECTS } from '../../src/provider/dialects.ts'

test('a form is written as the URL standard has it, whatever a token or a secret is made of', () => {
  const part = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.stringMatching(/^[\w*.-]*$/),
    fc.stringMatching(/^[ +&=%~]*$/),
  )
  fc.assert(
    fc.property(part, part, (token, secret) => {
      const form = { grant_type: 'refresh_token', refresh_token: token, client_secret: secret }
      expect(DIALECTS.v1.token(form).body).toBe(new URLSearchParams(form).toString())
    }),
  )
})
