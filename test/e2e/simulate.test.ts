import { expect, test } from 'vitest'
import { run } from '../support/command.ts'

test('the command shows one run, or runs for a while and counts', async () => {
  const simulation = (...args: string[]) =>
    run(
      'npm',
      ['run', '-s', 'simulate', '--', '--mix', 'lost answers', ...args],
      new URL('../../', import.meta.url).pathname,
    )
  const one = await simulation('--seed', '30')
  expect(one).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^\n--mix "lost answers" --seed 30: all holds\n {2}/),
  })
  const some = await simulation('--minutes', '0.001')
  expect(some).toMatchObject({
    code: 0,
    out: expect.stringMatching(/\nfaults: .*\nruns \d+, faults \d+, violations 0\n$/),
  })
})
