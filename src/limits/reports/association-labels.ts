import { boundedTypes, boundedWords } from '../../provider/bounds.ts'
import { asObject, Gaps, type JsonObject } from '../../provider/read.ts'
import { objectTypeName } from '../object-type-name.ts'
import { numbersOf } from './answer-parts.ts'
import type { Report } from './report.ts'

/** Association labels, one direction of a pair at a time; a pair that has none is not listed. A deleted one counts for up to 40 s more. */
export const associationLabels: Report = {
  name: 'associationLabels',
  words: 'association labels',
  limitWords: 'association labels',
  wayOut: 'Delete association labels that are not in use',
  metrics: {
    'associationLabels.pair': { word: 'labels', about: 'pair', noun: 'association labels', unit: 'labels' },
  },
  mayLack: true,
  path: () => '/associations/labels',
  read(json) {
    const answer = asObject(json, 'the answer')
    const gaps = new Gaps()
    const pairs = gaps.list(answer, 'results', (item, at) => {
      const [from, to] = ['fromObjectType', 'toObjectType'].map((end) => endOf(gaps, item[end]))
      if (from === undefined || to === undefined) gaps.note(() => `results[${at.index}] names no pair`)
      const usage = gaps.count(item, 'usage', at)
      if (from === undefined || to === undefined || usage === undefined) return undefined
      const label = boundedWords(`${from.label} → ${to.label}`)
      // By the pair in place of the type: one bound for both.
      return { objectTypeId: `${from.id}/${to.id}`, from: from.id, to: to.id, label, ...numbersOf(gaps, item, at) }
    })
    const isWhole = Array.isArray(answer.results) && pairs.length === answer.results.length
    const { kept, leftOut } = boundedTypes(pairs)
    return {
      values: kept.map(({ objectTypeId: _, ...pair }) => ({ metric: 'associationLabels.pair', ...pair })),
      ...(isWhole ? {} : { isPartial: true }),
      ...(leftOut === 0 ? {} : { leftOut }),
      ...gaps.named(),
    }
  },
}

/** An end of a pair; a slash would be taken for the end of its id. */
function endOf(gaps: Gaps, end: unknown): { id: string; label: string } | undefined {
  if (typeof end !== 'object' || end === null) return undefined
  const id = gaps.nonEmptyText(end as JsonObject, 'objectTypeId')
  if (id === undefined || id.includes('/')) return undefined
  return { id, label: objectTypeName(id, gaps.text(end as JsonObject, 'pluralLabel')) }
}
