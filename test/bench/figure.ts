/** One or more numbers measured against others in the same minutes: machines drift, ratios within one run hold. */
export interface Figure {
  rows: readonly Row[]
  /** Fewer than asked for, where more only take time. */
  rounds?: number
  open(): Promise<Sides>
}

export interface Row {
  /** P1..P10 */
  id: string
  what: string
  unit: string
  /** Place among the values that a round yields. */
  value: number
  /** One of the references. */
  against: string
}

/** The values of one round. */
export type Run = () => Promise<number[]>

export interface Sides {
  ours: Run
  references: Record<string, Run>
  close(): Promise<void>
}

/** Medians over the rounds; `ratio` is the median of the rounds' own ratios, `min` and `max` are their spread. */
export interface Measured {
  id: string
  what: string
  unit: string
  ours: number
  reference: number
  ratio: number
  rounds: number
  min: number
  max: number
}

export interface Limits {
  rounds: number
  /** No round begins later than this, but the first. */
  ms: number
}

export async function measure(figure: Figure, limits: Limits, note: (text: string) => void): Promise<Measured[]> {
  const { rows, rounds: most = limits.rounds } = figure
  const sides = await figure.open()
  const wanted = Object.entries(sides.references).filter(([name]) => rows.some(({ against }) => against === name))
  const runs: [name: string, run: Run][] = [['ours', sides.ours], ...wanted]
  const yielded = new Map<string, number[][]>(runs.map(([name]) => [name, []]))
  const from = performance.now()
  try {
    for (let round = 0; round < Math.min(limits.rounds, most); round++) {
      if (round > 0 && performance.now() - from > limits.ms) break
      // A B C, C B A: a machine that gets slower over time favors no side.
      for (const [name, run] of round % 2 === 0 ? runs : [...runs].reverse()) {
        const values = await run()
        yielded.get(name)?.push(values)
        note(
          `${rows[0]?.id} round ${round + 1}, ${name}: ${values
            .filter((value) => !Number.isNaN(value))
            .map(rounded)
            .join(', ')}\n`,
        )
      }
    }
  } finally {
    await sides.close()
  }
  return rows.map((row) => compared(row, yielded))
}

function compared({ id, what, unit, value, against }: Row, yielded: ReadonlyMap<string, number[][]>): Measured {
  const valuesOf = (side: string) => (yielded.get(side) ?? []).map((values) => values[value] ?? Number.NaN)
  const [ours, reference] = [valuesOf('ours'), valuesOf(against)]
  const ratios = ours.map((one, round) => one / (reference[round] ?? Number.NaN))
  return {
    id,
    what,
    unit,
    ours: median(ours),
    reference: median(reference),
    ratio: median(ratios),
    rounds: ratios.length,
    min: Math.min(...ratios),
    max: Math.max(...ratios),
  }
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length / 2
  const [low = 0, high = 0] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]]
  return (low + high) / 2
}

export function tableOf(figures: readonly Measured[]): string {
  const head = ['#', 'figure', 'unit', 'ours', 'reference', 'ratio [min..max]', 'rounds']
  const rows = figures.map(({ id, what, unit, ours, reference, ratio, min, max, rounds }) => {
    const spread = `${rounded(ratio)} [${rounded(min)}..${rounded(max)}]`
    return [id, what, unit, rounded(ours), rounded(reference), spread, String(rounds)]
  })
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** Whole where the whole number says enough. */
function rounded(value: number): string {
  return Math.abs(value) >= 100 ? String(Math.round(value)) : value.toPrecision(3)
}
