import { type Goal, type Measured, rounded } from './figure.ts'

/** As the README keeps it. */
export function tableOf(figures: readonly Measured[]): string {
  const head = [
    '#',
    'figure',
    'unit',
    'ours [min..max]',
    'reference [min..max]',
    'ratio [min..max]',
    'rounds',
    'goal',
    'met',
  ]
  const rows = figures.map((figure) => [
    ...[figure.id, figure.what, figure.unit, withSpread(figure.ours, figure.oursSpread)],
    ...[withSpread(figure.reference, figure.referenceSpread), ratioOf(figure), String(figure.rounds)],
    ...(figure.goal === undefined ? ['', ''] : [goalText(figure.goal), figure.met === true ? 'yes' : '**no**']),
  ])
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function withSpread(value?: number, [min, max]: readonly number[] = []): string {
  return value === undefined ? '' : `${rounded(value)} [${rounded(min ?? value)}..${rounded(max ?? value)}]`
}

function ratioOf({ ratio, min, max }: Measured): string {
  return ratio === undefined ? '' : `${times(ratio)} [${times(min)}..${times(max)}]`
}

function times(ratio: number): string {
  return ratio < 0.1 ? ratio.toPrecision(2) : ratio.toFixed(2)
}

function goalText(goal: Goal): string {
  const bound =
    'atLeast' in goal
      ? `at least ${goal.atLeast.toLocaleString('en-US')}`
      : `at most ${goal.atMost.toLocaleString('en-US')}`
  return goal.of === 'ratio' ? `ratio ${bound}` : bound
}
