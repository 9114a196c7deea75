import { describe, expect, test } from 'vitest'
import { CASES } from './cases.ts'
import { openContract } from './contract.ts'

/** The daemon's client against the sandbox over real HTTP, sentence by sentence, in both versions of the interface. */
describe.each(['v1', '2026-03'] as const)('in the dialect %s', (dialect) => {
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

test('each sentence is said once', () => {
  expect(new Set(CASES.map(({ says }) => says)).size).toBe(CASES.length)
})
