import { expect, test } from 'vitest'
import { wantsColours } from '../../src/cli/output.ts'

test.each([
  ['a terminal has colours', [], {}, true, true],
  ['a pipe has none', [], {}, false, false],
  ['a terminal that can show none has none', [], { TERM: 'dumb' }, true, false],
  ['NO_COLOR takes them away', [], { NO_COLOR: '1' }, true, false],
  ['an empty NO_COLOR says nothing', [], { NO_COLOR: '' }, true, true],
  ['FORCE_COLOR brings them into a pipe', [], { FORCE_COLOR: '1' }, false, true],
  ['FORCE_COLOR=0 takes them away', [], { FORCE_COLOR: '0' }, true, false],
  ['NO_COLOR wins over FORCE_COLOR', [], { NO_COLOR: '1', FORCE_COLOR: '1' }, true, false],
  ['--no-color wins over all of it', ['status', '--no-color'], { FORCE_COLOR: '1' }, true, false],
  ['--color wins over NO_COLOR', ['--color', 'status'], { NO_COLOR: '1' }, false, true],
  ['what stands after -- is no option', ['status', '--', '--no-color'], {}, true, true],
] as const)('%s', (_, args, env, isTerminal, wanted) => {
  expect(wantsColours(args, env, isTerminal)).toBe(wanted)
})
