import { expect, test } from 'vitest'
import { run } from '../support/command.ts'

const ROOT = new URL('../../', import.meta.url).pathname

test('the benchmark measures a figure beside its reference and prints it for programs', async () => {
  const { code, out } = await run('npm', ['run', '-s', 'bench', '--', 'P5', '--json', '--rounds', '1'], ROOT)
  expect(code).toBe(0)
  const { machine, figures } = JSON.parse(out)
  expect(machine).toMatchObject({ cores: expect.any(Number), node: expect.stringMatching(/^v/) })
  expect(figures).toMatchObject([{ id: 'P5', rounds: 1, unit: expect.any(String), what: expect.any(String) }])
  for (const value of ['ours', 'reference', 'ratio', 'min', 'max']) expect(figures[0][value]).toBeGreaterThan(0)
})

test('a figure that does not exist is wrong usage', async () => {
  const { code, err } = await run('npm', ['run', '-s', 'bench', '--', 'P99'], ROOT)
  expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining('no figure P99') })
})
