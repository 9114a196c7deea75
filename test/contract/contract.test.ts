import { describe, expect, test } from 'vitest'
import { DIALECT_NAMES } from '../../src/provider/dialects.ts'
import { associationCompanions, associations } from './cases/associations.ts'
import { codes } from './cases/codes.ts'
import { customProperties } from './cases/custom-properties.ts'
import { deletion } from './cases/deletion.ts'
import { metadata } from './cases/metadata.ts'
import { refreshes } from './cases/refreshes.ts'
import { refusals, wire } from './cases/refusals.ts'
import { openContract } from './contract.ts'

/** Endpoint by endpoint, and then what may go wrong at any of them. */
const CASES = [
  ...[codes, refreshes, metadata, deletion].flat(),
  ...[associations, customProperties, associationCompanions, refusals, wire].flat(),
]

/** The daemon's client against the sandbox over real HTTP, sentence by sentence, in every version of the interface. */
describe.each(DIALECT_NAMES)('in the dialect %s', (dialect) => {
  test.each(CASES)('$says', async ({ sandbox, run }) => {
    const contract = await openContract(dialect, sandbox)
    await run(contract)
    for (const failure of contract.failures) {
      const text = JSON.stringify(failure)
      expect(failure.message).not.toMatch(/\n/)
      for (const secret of contract.secrets()) {
        expect(text.includes(secret), failure.message).toBe(false)
        expect(text.includes(encodeURIComponent(secret)), failure.message).toBe(false)
      }
    }
  })
})
