import { expect, test } from 'vitest'
import { inTurns } from './against-tree.ts'
import { type Figure, type Measured, measure } from './figure.ts'
import { refusal } from './quiet-machine.ts'
import { tableOf } from './table.ts'

/** A figure whose sides yield what they are given, round by round, and note that they were run. */
function figureOf(calls: string[], sides: Record<string, number[]>, rows: Partial<Figure['rows'][number]>[]): Figure {
  const side = (name: string) => async () => {
    calls.push(name)
    return [sides[name]?.shift() ?? Number.NaN]
  }
  return {
    id: 'P1',
    rows: rows.map((row) => ({ what: 'a cycle, against a bare loop; lower is better', unit: 'ms', ...row })),
    open: async () => ({
      ...{ ours: side('ours'), reference: side('reference'), others: { script: side('script') } },
      close: async () => void calls.push('closed'),
    }),
  }
}

async function measured(figure: Figure, rounds: number): Promise<Measured[]> {
  return measure(figure, ['P1'], rounds, () => {})
}

test('sides take turns, and who was last begins the next round', async () => {
  const calls: string[] = []
  const rows = [{}, { against: 'script', value: 0 }]
  await measured(figureOf(calls, { ours: [1, 1, 1], reference: [1, 1, 1], script: [1, 1, 1] }, rows), 3)
  const [one, other] = [
    ['ours', 'reference', 'script'],
    ['script', 'reference', 'ours'],
  ]
  expect(calls).toEqual([...one, ...other, ...one, 'closed'])
})

test('a ratio is that of the two of one round, in the middle of all rounds', async () => {
  const figure = figureOf([], { ours: [10, 40, 30], reference: [10, 20, 60] }, [{ goal: { of: 'ratio', atLeast: 1 } }])
  expect(await measured(figure, 3)).toEqual([
    expect.objectContaining({
      ...{ ours: 30, oursSpread: [10, 40], reference: 20, referenceSpread: [10, 60] },
      ...{ ratio: 1, min: 0.5, max: 2, met: true },
    }),
  ])
})

test('two trees take turns with their own sides alone; rows that differ in their references are one, and no goal is about it', async () => {
  const calls: string[] = []
  const rows: Partial<Figure['rows'][number]>[] = [
    { goal: { of: 'ratio', atLeast: 1 } },
    { against: 'script', value: 0 },
    { id: 'P6', value: 0, against: 'script' },
  ]
  const ours = figureOf(calls, { ours: [2, 4] }, rows)
  const theirs: Figure = {
    ...ours,
    open: async () => ({
      ours: async () => {
        calls.push('theirs')
        return [4]
      },
      close: async () => void calls.push('theirs closed'),
    }),
  }
  const figures = await measured(inTurns(ours, theirs), 2)
  expect(calls).toEqual(['ours', 'theirs', 'theirs', 'ours', 'closed', 'theirs closed'])
  expect(figures).toHaveLength(1)
  expect(figures[0]).toMatchObject({ what: 'a cycle; lower is better', ratio: 0.75, min: 0.5, max: 1 })
  expect(figures[0]).not.toHaveProperty('goal')
  expect(tableOf(figures)).toContain('| 3.00 [2.00..4.00] | 4.00 [4.00..4.00] | 0.75 [0.50..1.00] | 2 |  |  |')
})

test('a machine that does other work measures nothing, unless more is allowed', () => {
  expect(refusal(1, 1)).toBeUndefined()
  expect(refusal(7.5, 8)).toBeUndefined()
  expect(refusal(1.01, 1)).toMatch(/^the load average of the last minute is 1.01, .* above 1 are .*--load 3/)
  // Not a number: nothing is allowed by mistake.
  expect(refusal(0.1, Number('much'))).toBeDefined()
})
