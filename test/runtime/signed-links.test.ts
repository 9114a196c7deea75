import { expect, test } from 'vitest'
import { type LinkKind, readSigned, signedPath } from '../../src/runtime/signed-links.ts'
import { otherSpellings } from '../support/spare-bits.ts'

const KIND: LinkKind<'account'> = { path: '/x', purpose: 'test', parameters: { account: /^\d{1,16}$/ } }
const KEY = Buffer.alloc(32, 1)

test('a link is good in the spelling in which it was signed only', () => {
  const { account, until, signature } = Object.fromEntries(
    new URL(signedPath(KIND, { account: '1' }, KEY, 5_000), 'http://x').searchParams,
  )
  const read = (given: object) => readSigned(KIND, { account, until, signature, ...given }, [KEY], 0).is
  expect(read({})).toBe('good')
  const others = otherSpellings(String(signature))
  expect(others.length).toBeGreaterThan(0)
  for (const other of [...others, `${signature}=`]) expect(read({ signature: other }), other).toBe('forged')
  expect(read({ until: `0${until}` })).toBe('forged')
  expect(read({ account: '01' })).toBe('forged')
})
