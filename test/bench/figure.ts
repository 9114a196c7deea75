/** One thing measured against another in the same minutes: machines drift, ratios within one run hold. */
export interface Figure {
  /** P1..P10 */
  id: string
  /** How often it is measured at most: where one look is long enough to be its own median. */
  rounds?: number
  /** What each measurement yields, one value per row. */
  rows: readonly Row[]
  /** Whatever both sides need; closed when all rounds are done. */
  open(): Promise<{ ours(): Promise<number[]>; reference(): Promise<number[]>; close(): Promise<void> }>
}

export interface Row {
  what: string
  unit: string
}

/** Medians over the rounds; `ratio` is the median of the rounds' own ratios, `min` and `max` their spread. */
export interface Measured extends Row {
  id: string
  ours: number
  reference: number
  ratio: number
  rounds: number
  min: number
  max: number
}

export async function measure(figure: Figure, asked: number, note: (text: string) => void): Promise<Measured[]> {
  const { id, rows } = figure
  const rounds = Math.min(asked, figure.rounds ?? asked)
  const sides = await figure.open()
  const ours: number[][] = []
  const reference: number[][] = []
  try {
    for (let round = 0; round < rounds; round++) {
      // A B, B A: whatever gets slower over time is not always the same side's bad luck.
      if (round % 2 === 0) ours.push(await sides.ours())
      reference.push(await sides.reference())
      if (round % 2 === 1) ours.push(await sides.ours())
      note(`${id} round ${round + 1}: ${shown(ours.at(-1))} / ${shown(reference.at(-1))}\n`)
    }
  } finally {
    await sides.close()
  }
  return rows.map((row, n) => ({ id, ...row, ...compare(column(ours, n), column(reference, n)) }))
}

function compare(ours: readonly number[], reference: readonly number[]): Omit<Measured, 'id' | keyof Row> {
  const ratios = ours.map((value, n) => value / (reference[n] ?? Number.NaN))
  return {
    rounds: ours.length,
    ours: median(ours),
    reference: median(reference),
    ratio: median(ratios),
    min: Math.min(...ratios),
    max: Math.max(...ratios),
  }
}

function column(rounds: readonly number[][], n: number): number[] {
  return rounds.map((values) => values[n] ?? Number.NaN)
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length / 2
  const [low = 0, high = 0] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]]
  return (low + high) / 2
}

/** Whole where the whole number says enough. */
export function rounded(value: number): string {
  return Math.abs(value) >= 100 ? String(Math.round(value)) : value.toPrecision(3)
}

function shown(values: readonly number[] = []): string {
  return values.map(rounded).join(', ')
}
