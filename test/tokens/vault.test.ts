import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Secret } from '../../src/runtime/secret.ts'
import { createVault, keyIdOf, type TokenField, VaultError } from '../../src/tokens/vault.ts'

const key = (id: string) => ({ id, key: randomBytes(32) })
const k1 = key('k1')
const vault = createVault([k1])
const TOKEN = 'na1-the-token'
const sealed = () => vault.seal(new Secret(TOKEN), 123, 'refresh')

describe('what was sealed', () => {
  test('opens again, whatever it is', () => {
    const field = fc.constantFrom<TokenField>('access', 'refresh', 'canary')
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 2_000 }), fc.nat(), field, (text, hubId, name) => {
        const value = text.toWellFormed()
        expect(vault.open(vault.seal(new Secret(value), hubId, name), hubId, name).reveal()).toBe(value)
      }),
    )
  })

  test('contains no piece of the token, and is never the same twice', () => {
    expect(sealed().toString('latin1')).not.toContain('the-token')
    expect(sealed().equals(sealed())).toBe(false)
  })

  test('does not open for another account, nor as another field', () => {
    const refused = /doesn't open/
    expect(() => vault.open(sealed(), 124, 'refresh')).toThrow(refused)
    expect(() => vault.open(sealed(), 123, 'access')).toThrow(refused)
    expect(() => vault.open(sealed(), 12, 'refresh')).toThrow(refused)
  })

  test('does not open once any bit of it is changed, and no error shows the token', () => {
    const whole = sealed()
    for (let bit = 0; bit < whole.length * 8; bit++) {
      const bent = Buffer.from(whole)
      bent[bit >> 3] = (bent[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(() => vault.open(bent, 123, 'refresh'), `bit ${bit}`).toThrow(VaultError)
    }
  })

  test('does not open when it is cut, at any place, or lengthened', () => {
    const whole = sealed()
    for (let length = 0; length < whole.length; length++) {
      expect(() => vault.open(whole.subarray(0, length), 123, 'refresh'), `${length} bytes`).toThrow(VaultError)
    }
    expect(() => vault.open(Buffer.concat([whole, Buffer.from('x')]), 123, 'refresh')).toThrow(VaultError)
  })

  test('that never was, is refused with a VaultError, whatever bytes it has', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        expect(() => vault.open(Buffer.from(bytes), 123, 'refresh')).toThrow(VaultError)
      }),
    )
  })
})

describe('several keys', () => {
  const k2 = key('k2')

  test('the first one writes, all read', () => {
    const both = createVault([k2, k1])
    expect(both.open(sealed(), 123, 'refresh').reveal()).toBe(TOKEN)
    const written = both.seal(new Secret(TOKEN), 123, 'refresh')
    expect(createVault([k2]).open(written, 123, 'refresh').reveal()).toBe(TOKEN)
    expect(() => vault.open(written, 123, 'refresh')).toThrow('no key with the id k2 is configured')
  })

  test('another key with the same id is told from a key that is missing', () => {
    expect(() => createVault([key('k1')]).open(sealed(), 123, 'refresh')).toThrow(/another key with the same id/)
  })

  test('an id may be of any letters', () => {
    const odd = createVault([key('Schlüssel 2026 – 1')])
    expect(odd.open(odd.seal(new Secret(TOKEN), 1, 'access'), 1, 'access').reveal()).toBe(TOKEN)
  })

  test('may be replaced: from then on the others write and read, and bad ones change nothing', () => {
    const changing = createVault([k1])
    const before = changing.seal(new Secret(TOKEN), 123, 'refresh')
    changing.replace([k2, k1])
    expect(changing.keyIds).toEqual(['k2', 'k1'])
    expect(keyIdOf(changing.seal(new Secret(TOKEN), 123, 'refresh'))).toBe('k2')
    expect(changing.open(before, 123, 'refresh').reveal()).toBe(TOKEN)
    changing.replace([k2])
    expect(() => changing.open(before, 123, 'refresh')).toThrow('no key with the id k1 is configured')
    expect(() => changing.replace([])).toThrow(VaultError)
    expect(changing.keyIds).toEqual(['k2'])
  })

  test('none at all is refused', () => {
    expect(() => createVault([])).toThrow(VaultError)
  })
})

test('a key for another purpose comes from the key that writes, and tells nothing of it or of other purposes', () => {
  const derived = vault.derive('session')
  expect(derived).toEqual(createVault([k1, key('k2')]).derive('session'))
  expect(derived).toHaveLength(32)
  for (const other of [k1.key, vault.derive('another'), createVault([key('k1')]).derive('session')]) {
    expect(derived.equals(other)).toBe(false)
  }
})
