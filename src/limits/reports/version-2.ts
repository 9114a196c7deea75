import { asCount, asItems, asPercentage, asText, earlier, type Packed } from '../history/packed-bytes.ts'
import type { Reading, Readings } from '../readings.ts'
import { associations } from './associations.ts'
import { customProperties } from './custom-properties.ts'
import type { ReportedValue } from './report.ts'

/**
 * Readings as 0.1.0 kept them: `[pairs, overall, types]`, each report with fields of its own. An account has them
 * until its next poll.
 *
 * @throws UnreadableBytes
 */
export function readingsOfVersion2({ at: last, value }: Packed): Readings {
  const [pairs, overall, types] = asItems(value)
  const associationsRead = asItems(pairs).map((pair) => readPair(asItems(pair), last))
  if (overall === undefined) return Object.fromEntries(associationsRead)
  const [age, usage, limit, percentage = null] = asItems(overall)
  const values: ReportedValue[] = [
    { metric: 'customProperties.overall', usage: asCount(usage), limit: asCount(limit), ...reported(percentage) },
    ...asItems(types).map((type) => readType(asItems(type))),
  ]
  return Object.fromEntries([[customProperties.name, { at: earlier(last, age), values }], ...associationsRead])
}

/** Records were kept by pair alone. */
export function samplesKeyOfVersion2(pair: string): string {
  return `${associations.name}/${pair}`
}

function readPair(
  [pair, age, limit, atLimit, nearLimit, fullest]: readonly unknown[],
  last: number,
): [string, Reading] {
  const [from = '', to = ''] = asText(pair).split('/')
  const values = [
    { metric: 'associations.atLimit', from, to, usage: asCount(atLimit), limit: 0 },
    { metric: 'associations.nearLimit', from, to, usage: asCount(nearLimit), limit: 0 },
    { metric: 'associations.fullest', from, to, usage: asCount(fullest), limit: asCount(limit) },
  ]
  return [`${associations.name}/${asText(pair)}`, { at: earlier(last, age), values }]
}

function readType([objectTypeId, , label, usage, limit, percentage]: readonly unknown[]): ReportedValue {
  return {
    ...{ metric: 'customProperties.objectType', objectTypeId: asText(objectTypeId), label: asText(label) },
    ...{ usage: asCount(usage), limit: asCount(limit), ...reported(percentage) },
  }
}

function reported(percentage: unknown): { reported?: number } {
  return percentage === null ? {} : { reported: asPercentage(percentage) }
}
