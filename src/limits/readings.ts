import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { AssociationReport, CustomPropertyReport } from '../provider/answers.ts'
import type { ProviderFailure } from '../provider/failure.ts'

/** The last reports of an account that could be read, each with when. Pairs by `from/to`. */
export interface Readings {
  customProperties?: { at: number; report: CustomPropertyReport }
  associations: Record<string, { at: number; report: AssociationReport }>
}

export interface Pair {
  from: string
  to: string
}

export function pairId(pair: Pair): string {
  return `${pair.from}/${pair.to}`
}

/** What one poll got, endpoint by endpoint: one that fails doesn't lose the others. */
export interface Fetched {
  at: number
  customProperties: CustomPropertyReport | ProviderFailure
  associations: Map<string, AssociationReport | ProviderFailure>
}

export function isFailure(report: object): report is ProviderFailure {
  return 'class' in report
}

/** The reports that count from now on: the new ones, the old ones where a call failed, none of pairs not watched. */
export function mergeReadings(before: Readings | undefined, fetched: Fetched): Readings {
  const { at, customProperties } = fetched
  const associations: Readings['associations'] = {}
  for (const [pair, report] of fetched.associations) {
    const old = before?.associations[pair]
    if (!isFailure(report)) associations[pair] = { at, report }
    else if (old !== undefined) associations[pair] = old
  }
  if (!isFailure(customProperties)) return { customProperties: { at, report: customProperties }, associations }
  return before?.customProperties === undefined
    ? { associations }
    : { customProperties: before.customProperties, associations }
}

/** As kept in Redis. A few kilobytes of names that repeat: deflate takes four fifths off. */
export function encodeReadings(readings: Readings): Buffer {
  return deflateRawSync(JSON.stringify(readings))
}

export function decodeReadings(stored: Buffer): Readings {
  return JSON.parse(inflateRawSync(stored).toString('utf8')) as Readings
}
