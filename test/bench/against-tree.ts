import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Figure, Row, Sides } from './figure.ts'
import type { Sizes } from './figures.ts'

/** A figure of another tree, perhaps of an older version: what is used of it. */
interface OtherFigure {
  id?: string
  rows: readonly Partial<Row>[]
  open(): Promise<Pick<Sides, 'close'> & { ours(): Promise<number[]> }>
}

const TREE = 'the other tree'

/**
 * The figures of two trees in turns. The other tree's are run by its own benchmark, with its own `dist/`, packages and way of
 * storing accounts. A figure that it does not measure is left out.
 */
export async function againstTree(own: readonly Figure[], folder: string, sizes: Sizes): Promise<Figure[]> {
  const file = join(folder, 'test/bench/figures.ts')
  if (!existsSync(file)) throw new Error(`${folder} has no benchmark: there is no test/bench/figures.ts`)
  if (!existsSync(join(folder, 'dist/src/main.js'))) throw new Error(`${folder} is not built: run npm run build there`)
  const { figuresFor } = (await import(file)) as { figuresFor(sizes: Sizes): OtherFigure[] }
  const others = figuresFor(sizes)
  return own.flatMap((figure) => {
    const other = others.find((one) => figure.rows.some((row) => placeIn(one, row) !== undefined))
    return other === undefined ? [] : [inTurns(figure, other)]
  })
}

/** Place among the other figure's values. A row is known by its id and unit: the words may have changed. */
function placeIn({ id, rows }: OtherFigure, row: Row): number | undefined {
  const place = rows.findIndex((other) => (other.id ?? id) === row.id && other.unit === row.unit)
  return place < 0 ? undefined : (rows[place]?.value ?? place)
}

function inTurns(ours: Figure, theirs: OtherFigure): Figure {
  const rows = new Map<string, Row>()
  const places = new Map<number, number>()
  for (const row of ours.rows) {
    const place = placeIn(theirs, row)
    if (place === undefined) continue
    places.set(row.value, place)
    // Rows that differ in their references alone are one.
    rows.set(`${row.id} ${row.value}`, { ...row, what: row.what.replace(/,? against .*/, ''), against: TREE })
  }
  const inOurOrder = (values: readonly number[]) =>
    Array.from({ length: Math.max(...places.keys()) + 1 }, (_, value) => values[places.get(value) ?? -1] ?? Number.NaN)
  return {
    ...ours,
    rows: [...rows.values()],
    open: async () => {
      const own = await ours.open()
      const other = await theirs.open().catch(async (error: unknown) => {
        await own.close()
        throw error
      })
      return {
        ours: own.ours,
        references: { [TREE]: async () => inOurOrder(await other.ours()) },
        close: async () => {
          await own.close()
          await other.close()
        },
      }
    },
  }
}
