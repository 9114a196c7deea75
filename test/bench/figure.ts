/** One thing measured against another in the same minutes: machines drift, ratios within one run hold. */
export interface Figure {
  /** P1..P10 */
  id: string
  what: string
  unit: string
  /** Whatever both sides need; closed when all rounds are done. */
  open(): Promise<{ ours(): Promise<number>; reference(): Promise<number>; close(): Promise<void> }>
}

/** Medians over the rounds; `ratio` is the median of the rounds' own ratios, `min` and `max` their spread. */
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

export async function measure(figure: Figure, rounds: number, note: (text: string) => void): Promise<Measured> {
  const { id, what, unit } = figure
  const sides = await figure.open()
  const ours: number[] = []
  const reference: number[] = []
  try {
    for (let round = 0; round < rounds; round++) {
      // A B, B A: whatever gets slower over time is not always the same side's bad luck.
      if (round % 2 === 0) ours.push(await sides.ours())
      reference.push(await sides.reference())
      if (round % 2 === 1) ours.push(await sides.ours())
      note(`${id} round ${round + 1}: ${Math.round(ours.at(-1) ?? 0)} / ${Math.round(reference.at(-1) ?? 0)}\n`)
    }
  } finally {
    await sides.close()
  }
  const ratios = ours.map((value, n) => value / (reference[n] ?? Number.NaN))
  return {
    ...{ id, what, unit, rounds },
    ours: median(ours),
    reference: median(reference),
    ratio: median(ratios),
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
