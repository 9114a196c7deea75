import { expect, test } from 'vitest'
import { run } from '../support/command.ts'

const ROOT = new URL('../../', import.meta.url).pathname

async function bench(id: string, ...more: string[]) {
  const { code, out } = await run('npm', ['run', '-s', 'bench', '--', id, '--json', '--rounds', '1', ...more], ROOT)
  expect(code).toBe(0)
  const { machine, run: ran, figures } = JSON.parse(out)
  expect(machine).toMatchObject({ cores: expect.any(Number), node: expect.stringMatching(/^v/) })
  for (const value of ['minutes', 'loadBefore', 'loadAfter']) expect(ran[value]).toBeGreaterThan(0)
  for (const figure of figures) {
    expect(figure).toMatchObject({ id, rounds: 1, unit: expect.any(String), what: expect.any(String) })
    for (const value of ['ours', 'reference', 'ratio', 'min', 'max']) expect(figure[value]).toBeGreaterThan(0)
  }
  return figures
}

test.concurrent('the benchmark measures a figure beside its reference and prints it for programs', async () => {
  const [perSecond, seconds, ...others] = await bench('P5')
  expect(others).toEqual([])
  // The same runs, said twice.
  expect(perSecond.ours * seconds.ours).toBeCloseTo(1_000)
  expect(perSecond.ratio * seconds.ratio).toBeCloseTo(1)
})

test.concurrent('a whole cycle is measured against what people write, by the client and by Redis, each held to its goal', async () => {
  const figures = await bench('P6', '--cycles', '200')
  expect(figures).toEqual([
    expect.objectContaining({ id: 'P6', goal: { of: 'ratio', atMost: 0.35 }, met: expect.any(Boolean) }),
  ])
})

test.concurrent('rows of one figure share its id: what is kept of an account costs fewer bytes than what people write', async () => {
  const figures = await bench('P7', '--accounts', '300')
  expect(figures).toHaveLength(5)
  for (const { unit, what, ratio } of figures) {
    expect(unit).toBe('Redis bytes per account')
    expect(what).toContain('lower is better')
    expect(ratio).toBeLessThan(0.75)
  }
})

test.concurrent('pages of accounts are measured beside who reads the records', async () => {
  const figures = await bench('U1', '--fleet', '10000')
  expect(figures).toHaveLength(5)
  for (const { unit } of figures) expect(unit).toBe('ms per page')
})

test.concurrent('a figure that does not exist is wrong usage', async () => {
  const { code, err } = await run('npm', ['run', '-s', 'bench', '--', 'P99'], ROOT)
  expect({ code, err }).toMatchObject({ code: 2, err: expect.stringMatching(/no figure P99: there is P1, P2, .*U1\n/) })
})
