import { expect, test } from 'vitest'
import { run } from '../support/command.ts'

const ROOT = new URL('../../', import.meta.url).pathname
const SMALL = ['--rounds', '2', '--cycles', '100', '--refreshes', '2000', '--fleet', '1200']

function bench(...args: string[]) {
  return run('npm', ['run', '-s', 'bench', '--', ...args], ROOT)
}

test('a figure is measured beside its reference, in turns, and printed for programs', async () => {
  const { code, out, err } = await bench('P5', '--json', ...SMALL)
  expect({ code, err }).toMatchObject({ code: 0, err: expect.stringMatching(/round 1, ours.*\n.*round 1, bare/) })
  const { machine, figures } = JSON.parse(out)
  const number = expect.any(Number)
  expect(machine).toEqual({
    cpu: expect.any(String),
    cores: number,
    memoryGiB: number,
    node: process.version,
    load: number,
  })
  expect(figures).toHaveLength(1)
  const [{ id, what, unit, ours, reference, ratio, rounds, min, max, ...more }] = figures
  expect({ id, unit, rounds, more }).toEqual({ id: 'P5', unit: 'accounts per client CPU second', rounds: 2, more: {} })
  expect(what).toContain('against a bare loop')
  // Printed round by round, three digits of each.
  const perSecond = (side: string) =>
    [...err.matchAll(new RegExp(`, ${side}: ([\\d.e+]+)`, 'g'))].map(([, value]) => Number(value))
  const [[ours1 = 0, ours2 = 0], [bare1 = 0, bare2 = 0]] = [perSecond('ours'), perSecond('bare loop')]
  const [low = 0, high = 0] = [ours1 / bare1, ours2 / bare2].sort((a, b) => a - b)
  const isAbout = (value: number, wanted: number) => expect(Math.abs(value / wanted - 1)).toBeLessThan(0.02)
  isAbout(ours, (ours1 + ours2) / 2)
  isAbout(reference, (bare1 + bare2) / 2)
  isAbout(min, low)
  isAbout(max, high)
  isAbout(ratio, (low + high) / 2)
  // A daemon encrypts and stores each token too: it is never as fast as the bare loop.
  expect(max).toBeLessThan(1)
})

test('what cannot be measured is named at once', async () => {
  const unknown = await bench('P99')
  const noTree = await bench('P2', '--against', '/tmp')
  expect(unknown).toMatchObject({ code: 2, err: 'no figure P99: there is P1, P2, P3, P6, P4, P5, P7, P8, P10\n' })
  expect(noTree).toMatchObject({ code: 2, err: '/tmp has no benchmark: there is no test/bench/figures.ts\n' })
})
