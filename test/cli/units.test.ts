import { expect, test } from 'vitest'
import { commandsOfFile } from './commands-of-file.ts'

const { run } = commandsOfFile()

/** Each option or argument of a command that takes a moment or a duration; VALUE is what is tried. */
const PLACES = [
  'changes --since VALUE',
  'alerts log --since VALUE',
  'audit list --since VALUE',
  'accounts history 1 --from VALUE',
  'accounts history 1 --to VALUE',
  'outbox replay --since VALUE',
  'alerts silence --match kind=token --comment x --for VALUE',
  'alerts silence --match kind=token --comment x --until VALUE',
  'alerts silence --match kind=token --comment x --start VALUE --for 1h',
  'demo --for VALUE',
  'sandbox --token-lifetime VALUE',
]

test.each(PLACES)('%s refuses a number without a unit', async (place) => {
  for (const value of ['5', '99', '2026', '-1', '5 m', '1795910400000']) {
    const args = place.split(' ').map((word) => (word === 'VALUE' ? value : word))
    const { code, err } = await run(...args)
    expect({ value, code, err }).toEqual({ value, code: 2, err: expect.stringMatching(/time|duration|like/) })
  }
})
