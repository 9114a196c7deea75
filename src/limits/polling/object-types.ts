import type { CustomPropertyReport } from '../../provider/answers.ts'
import { olderFirst } from '../../provider/bounds.ts'

/** Pairs grow with the square of these: a report that names more is not followed further. */
const MOST_TYPES = 100

const OBJECT_TYPE_ID = /^\d{1,10}-\d{1,18}$/

/** The object types that an account's own report names, each once, in its order; ids that can't be one are left out. */
export function objectTypesOf(report: CustomPropertyReport | undefined): string[] {
  const ids = (report?.byObjectType ?? []).map(({ objectTypeId }) => objectTypeId)
  const types = [...new Set(ids.filter((id) => OBJECT_TYPE_ID.test(id)))]
  // Always the same of them, in whatever order they came.
  return types.length <= MOST_TYPES ? types : types.sort(olderFirst).slice(0, MOST_TYPES)
}
