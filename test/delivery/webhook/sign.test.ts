import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { sign, signingKey } from '../../../src/delivery/webhook/send-webhook.ts'
import { Secret } from '../../../src/runtime/secret.ts'

const body = '{"type":"alert.test","text":"Grüße 👋"}'

function verifies(secret: string, signature: string, timestamp: number): boolean {
  try {
    new Webhook(secret).verify(body, {
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signature,
    })
    return true
  } catch {
    return false
  }
}

test('each of several secrets verifies the same header, with and without the prefix', () => {
  const first = randomBytes(32).toString('base64')
  const second = `whsec_${randomBytes(24).toString('base64')}`
  const timestamp = Math.floor(Date.now() / 1000)
  const keys = [first, second].map((secret) => signingKey(new Secret(secret)))
  const signature = sign(keys, 'msg_1', timestamp, body)

  expect(signature).toMatch(/^v1,[A-Za-z0-9+/]{43}= v1,[A-Za-z0-9+/]{43}=$/)
  expect(verifies(first, signature, timestamp)).toBe(true)
  expect(verifies(second, signature, timestamp)).toBe(true)
  expect(verifies(randomBytes(32).toString('base64'), signature, timestamp)).toBe(false)
  expect(verifies(first, signature, timestamp + 1)).toBe(false)
})

test('the signature is the one that the specification gives as its example', () => {
  const key = signingKey(new Secret('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'))
  expect(sign([key], 'msg_p5jXN8AQM9LWM0D4loKWxJek', 1614265330, '{"test": 2432232314}')).toBe(
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  )
})

test.each(['', 'whsec_', 'not base64!', 'abc-def_'])('a secret that is not base64 is refused unseen: %o', (secret) => {
  const refused = () => signingKey(new Secret(secret))
  expect(refused).toThrow('a webhook secret must be base64, with or without whsec_')
})
