import type { FieldProblem } from './faults.ts'
import { SERVED_REPORTS, type ServedReportName } from './limits/all-reports.ts'

/** How a report that an account's plan lacks is answered: with an error of this status, or with an empty object. */
export type Lack = 403 | 404 | 'empty'

export type Lacks = Readonly<Partial<Record<ServedReportName, Lack>>>

/** The first field that is wrong in `{ REPORT: 403 | 404 | "empty" }` as it came in, if one is. */
export function lacksProblem(value: Record<string, unknown>): FieldProblem | undefined {
  const names = SERVED_REPORTS.map(({ name }) => name)
  for (const [field, given] of Object.entries(value)) {
    if (!names.some((name) => name === field)) return { field, problem: `unknown, allowed are ${names.join(', ')}` }
    if (given !== 403 && given !== 404 && given !== 'empty') return { field, problem: 'must be 403, 404 or empty' }
  }
  return undefined
}
