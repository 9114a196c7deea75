/** One thing measured against others in the same minutes: machines drift, ratios within one run hold. */
export interface Figure {
  /** P1..P10 */
  id: string
  /** What each measurement yields, one value per row unless a row says which. */
  rows: readonly Row[]
  /** Where the rounds agree so well that more of them only take time. */
  rounds?: number
  /** Whatever all sides need; closed when all rounds are done. */
  open(): Promise<Sides>
}

export interface Row {
  what: string
  unit: string
  /** Where it is not the figure's: figures that share their rounds share what they cost. */
  id?: string
  /** One of the `others`; `reference` if not said. */
  against?: string
  /** Which of the values it reads; the one in the row's own place if not said. */
  value?: number
  goal?: Goal
}

/** `of`: what is held to it, the ratio to the reference or our own value. */
export type Goal = { of: 'ratio' | 'ours' } & ({ atLeast: number } | { atMost: number })

export interface Sides {
  ours(): Promise<number[]>
  reference?(): Promise<number[]>
  others?: Record<string, () => Promise<number[]>>
  close(): Promise<void>
}

/**
 * Medians over the rounds; `ratio` is the median of the rounds' own ratios, `min` and `max` their spread. Without a
 * reference these are the spread of our own values.
 */
export interface Measured {
  id: string
  what: string
  unit: string
  rounds: number
  ours: number
  reference?: number
  ratio?: number
  min: number
  max: number
  /** From the least to the most of the rounds. */
  oursSpread: [number, number]
  referenceSpread?: [number, number]
  goal?: Goal
  met?: boolean
}

/** `ids`: the rows that are wanted; nobody else's sides are run. */
export async function measure(
  figure: Figure,
  ids: readonly string[],
  rounds: number,
  note: (text: string) => void,
): Promise<Measured[]> {
  const rows = figure.rows.map((row, n): WantedRow => ({ id: figure.id, value: n, against: 'reference', ...row }))
  const wanted = rows.filter(({ id }) => ids.includes(id))
  const sides = await figure.open()
  const values = new Map<string, number[][]>()
  const runs = sidesFor(wanted, sides)
  const label = [...new Set(wanted.map(({ id }) => id))].join(', ')
  try {
    for (let round = 0; round < Math.min(rounds, figure.rounds ?? rounds); round++) {
      // A B C, C B A: whatever gets slower over time is not always the same side's bad luck.
      for (const [name, run] of round % 2 === 0 ? runs : [...runs].reverse()) {
        const yielded = await run()
        values.set(name, [...(values.get(name) ?? []), yielded])
        note(`${label} round ${round + 1}, ${name}: ${yielded.map(rounded).join(', ')}\n`)
      }
    }
  } finally {
    await sides.close()
  }
  return wanted.map((row) => compared(row, values))
}

type WantedRow = Row & { id: string; value: number; against: string }
type Run = [name: string, run: () => Promise<number[]>]

function sidesFor(rows: readonly WantedRow[], { ours, reference, others = {} }: Sides): Run[] {
  const all: Run[] = [...(reference === undefined ? [] : [['reference', reference] as Run]), ...Object.entries(others)]
  return [['ours', ours], ...all.filter(([name]) => rows.some(({ against }) => against === name))]
}

function compared(
  { id, what, unit, value, against, goal }: WantedRow,
  values: ReadonlyMap<string, number[][]>,
): Measured {
  const column = (side: string) => values.get(side)?.map((yielded) => yielded[value] ?? Number.NaN)
  const ours = column('ours') ?? []
  const reference = column(against)
  const ratios = reference === undefined ? undefined : ours.map((one, n) => one / (reference[n] ?? Number.NaN))
  const [min, max] = spreadOf(ratios ?? ours)
  const measured: Measured = {
    ...{ id, what, unit, rounds: ours.length, ours: median(ours) },
    ...(reference === undefined || ratios === undefined
      ? {}
      : { reference: median(reference), referenceSpread: spreadOf(reference), ratio: median(ratios) }),
    ...{ min, max, oursSpread: spreadOf(ours) },
  }
  return goal === undefined ? measured : { ...measured, goal, met: isMet(goal, measured) }
}

function isMet(goal: Goal, { ours, ratio = Number.NaN }: Measured): boolean {
  const held = goal.of === 'ours' ? ours : ratio
  return 'atLeast' in goal ? held >= goal.atLeast : held <= goal.atMost
}

function spreadOf(values: readonly number[]): [number, number] {
  return [Math.min(...values), Math.max(...values)]
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
