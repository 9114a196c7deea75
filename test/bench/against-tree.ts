import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Figure, Row } from './figure.ts'
import type { figuresFor, Sizes } from './figures.ts'

/**
 * The same figures of two trees. Each tree's are run by its own benchmark, with its own `dist/`, its own ways of storing
 * accounts and its own packages. A sentence where that tree can't be measured.
 */
export async function figuresOfBoth(own: readonly Figure[], folder: string, sizes: Sizes): Promise<Figure[] | string> {
  const file = join(folder, 'test/bench/figures.ts')
  if (!existsSync(file)) return `${folder} is no tree with this benchmark: it has no test/bench/figures.ts`
  if (!existsSync(join(folder, 'dist/src/main.js'))) return `${folder} is not built: npm run build there`
  const others = ((await import(file)) as { figuresFor: typeof figuresFor }).figuresFor(sizes)
  const missing = own.filter((figure) => counterpart(figure, others) === undefined)
  if (missing.length > 0) return `${folder} has no such figure: ${missing.map(({ rows }) => rows[0]?.what).join('; ')}`
  return own.map((figure) => inTurns(figure, counterpart(figure, others) ?? figure))
}

/** Known by what it measures, since several have one id. */
function counterpart({ id, rows }: Figure, others: readonly Figure[]): Figure | undefined {
  return others.find((other) => other.id === id && other.rows[0]?.what === rows[0]?.what)
}

/** Our side of each, and nothing else: the other tree's is the reference. Goals are not about that. */
export function inTurns(ours: Figure, theirs: Figure): Figure {
  const rows = new Map<string, Row>()
  for (const [place, row] of ours.rows.entries()) {
    const { what, unit, id = ours.id, value = place } = row
    // Rows that differ in their references alone are one.
    if (!rows.has(`${id} ${value}`)) {
      rows.set(`${id} ${value}`, { id, unit, value, what: what.replace(/,? against .*?(?=;|$)/, '') })
    }
  }
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
        ours: () => own.ours(),
        reference: () => other.ours(),
        close: async () => {
          await own.close()
          await other.close()
        },
      }
    },
  }
}
