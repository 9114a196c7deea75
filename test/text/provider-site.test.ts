import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readReturnUrl, withParameter } from '../../src/text/provider-site.ts'

test.each([
  'https://app.hubspot.com',
  'https://app.hubspot.com/',
  'https://app-eu1.hubspot.com/marketplace/1/installed?a=1&b=%20#top',
  'https://app-na2.hubspot.com/?x',
])('%s leads back to the provider', (address) => {
  expect(new URL(readReturnUrl(address) ?? '').origin).toBe(new URL(address).origin)
})

test.each([
  undefined,
  '',
  'http://app.hubspot.com/',
  'HTTPS://app.hubspot.com/',
  'https://APP.hubspot.com/',
  'https://app.hubspot.com:443/',
  'https://app.hubspot.com:8443/',
  'https://user@app.hubspot.com/',
  'https://app.hubspot.com@evil.example/',
  'https://app.hubspot.com.evil.example/',
  'https://app.hubspot.com./',
  'https://evil.example/app.hubspot.com',
  'https://evil-app.hubspot.com/',
  'https://app-eu1.evil.hubspot.com/',
  'https://app-.hubspot.com/',
  'https://hubspot.com/',
  'https://api.hubspot.com/',
  'https:app.hubspot.com/',
  'https:/app.hubspot.com/',
  'https:\\\\app.hubspot.com/',
  'https://app.hubspot.com\\@evil.example/',
  'https://app.hubspot.com/\\evil.example',
  'https://app.hubspot.com/\r\nset-cookie: a=b',
  'https://app.hubspot.com/a b',
  ' https://app.hubspot.com/',
  'https://app.hubspot.com/ü',
  'https://app。hubspot.com/',
  'https://аpp.hubspot.com/',
  '//app.hubspot.com/',
  '/accounts',
  'javascript:alert(1)//https://app.hubspot.com/',
])('%j leads nowhere', (address) => {
  expect(readReturnUrl(address)).toBeUndefined()
})

const PIECES = fc.constantFrom(
  'https://',
  'http://',
  'https:',
  '//',
  '/',
  '\\',
  '@',
  ':',
  '443',
  '.',
  '?',
  '#',
  '%2f',
  '%40',
  '\t',
  '\n',
  '\0',
  'app.hubspot.com',
  'app-eu1.hubspot.com',
  'hubspot.com',
  'evil.example',
  'app',
  'user',
  '[::1]',
  '。',
  'ａpp',
  'xn--',
)

test('whatever else an address is made of, it leads to the provider by https or nowhere', () => {
  const made = fc.array(fc.oneof({ weight: 5, arbitrary: PIECES }, fc.string({ maxLength: 3 })), { maxLength: 9 })
  const begun = made.map((parts) => `https://app.hubspot.com${parts.join('')}`)
  const odd = fc.oneof(
    made.map((parts) => parts.join('')),
    begun,
    fc.webUrl(),
  )
  fc.assert(
    fc.property(odd, (address) => {
      const found = readReturnUrl(address)
      if (found === undefined) return
      for (const one of [found, withParameter(found, 'state', 'a.b')]) {
        const { protocol, host, username, password } = new URL(one)
        expect([protocol, username, password]).toEqual(['https:', '', ''])
        expect(host).toMatch(/^app(-[a-z0-9]+)?\.hubspot\.com$/)
        expect(one).toMatch(/^[\x21-\x7e]+$/)
      }
    }),
    { numRuns: 20_000 },
  )
})

test('a parameter is added before the fragment, and the others stay as they are', () => {
  expect(withParameter('https://a.b/c', 'state', 'x y')).toBe('https://a.b/c?state=x%20y')
  expect(withParameter('https://a.b/c?d=%20+e#f#g', 'state', 'x')).toBe('https://a.b/c?d=%20+e&state=x#f#g')
})
