import { expect, test } from 'vitest'
import { run } from '../support/command.ts'

const ROOT = new URL('../../', import.meta.url).pathname

/** That it works, on a machine that others keep busy: no figure is looked at. */
async function bench(id: string, ...more: string[]) {
  const args = ['run', '-s', 'bench', '--', id, '--json', '--load', '1000', '--rounds', '1', ...more]
  const { code, out } = await run('npm', args, ROOT)
  expect(code).toBe(0)
  const { machine, run: ran, figures } = JSON.parse(out)
  expect(ran).toMatchObject({ loadAllowed: 1_000, tls: more.includes('--tls') })
  expect(machine).toMatchObject({ cores: expect.any(Number), node: expect.stringMatching(/^v/) })
  for (const value of ['minutes', 'loadBefore', 'loadAfter']) expect(ran[value]).toBeGreaterThan(0)
  for (const figure of figures) {
    expect(figure).toMatchObject({ id, rounds: 1, unit: expect.any(String), what: expect.any(String) })
    for (const value of ['ours', 'reference', 'ratio', 'min', 'max']) expect(figure[value]).toBeGreaterThan(0)
  }
  return figures
}

test.concurrent('the benchmark measures a figure beside its reference and prints it for programs', async () => {
  const [perSecond, seconds, ...others] = await bench('P5', '--refreshes', '4000', '--tls')
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

test.concurrent('two trees are measured in turns by their own benchmarks, and neither is held to a goal', async () => {
  const [redisCpu, ...others] = await bench('P6', '--cycles', '200', '--against', ROOT)
  expect(others).toEqual([])
  expect(redisCpu).toMatchObject({ what: 'what a cycle costs Redis; lower is better' })
  expect(redisCpu).not.toHaveProperty('goal')
})

test.concurrent('what is no tree with a benchmark is named', async () => {
  const args = ['run', '-s', 'bench', '--', '--load', '1000', '--against', '/tmp', 'P2']
  expect(await run('npm', args, ROOT)).toMatchObject({ code: 2, err: expect.stringMatching(/^\/tmp is no tree with/) })
})

test.concurrent('a busy machine is refused with a way out, and figures without TLS are named', async () => {
  const refused = await run('npm', ['run', '-s', 'bench', '--', '--load', '0', 'P2'], ROOT)
  const noTls = await run('npm', ['run', '-s', 'bench', '--', '--tls', 'P7'], ROOT)
  expect(refused).toMatchObject({ code: 1, err: expect.stringMatching(/load average .* allow more with --load \d+/) })
  expect(noTls).toMatchObject({ code: 2, err: 'no figure P7 with TLS: there is P1, P2, P3, P4, P5, P6\n' })
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
