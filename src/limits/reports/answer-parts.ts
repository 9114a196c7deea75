import { boundedTypes, boundedWords } from '../../provider/bounds.ts'
import { asObject, Gaps, type JsonObject, type ListPlace, readCount } from '../../provider/read.ts'
import type { ReadReport, ReportedValue } from './report.ts'

type Numbers = Pick<ReportedValue, 'usage' | 'limit'>

/** `overallUsage` and its like. An answer without a usage is refused; anything else that is missing is reported as a gap, and the rest is read. */
export function overallOf(gaps: Gaps, answer: JsonObject): Numbers {
  const usage = readCount(answer, 'overallUsage')
  return { usage, limit: gaps.count(answer, 'overallLimit') ?? 0 }
}

/** `usage` and its like, of the same kind. In an item of a list the usage is read first. */
export function numbersOf(gaps: Gaps, answer: JsonObject, at?: ListPlace): Numbers {
  const usage = at === undefined ? readCount(answer, 'usage') : (gaps.count(answer, 'usage', at) ?? 0)
  return { usage, limit: gaps.count(answer, 'limit', at) ?? 0 }
}

/** An object type with its numbers; undefined for one that can't be identified, or has none. */
export function typeIn(gaps: Gaps, item: JsonObject, at?: ListPlace) {
  const objectTypeId = gaps.nonEmptyText(item, 'objectTypeId', at)
  const label = gaps.text(item, 'pluralLabel', at) ?? objectTypeId
  const limit = gaps.count(item, 'limit', at) ?? 0
  const usage = gaps.count(item, 'usage', at)
  if (objectTypeId === undefined || usage === undefined || label === undefined) return undefined
  return { objectTypeId, label: boundedWords(label), usage, limit }
}

/** A report of the provider's object types one by one, and of custom objects together, which an account may have none of. */
export function readByOrigin(json: unknown, { ofType, ofCustom }: Record<'ofType' | 'ofCustom', string>): ReadReport {
  const answer = asObject(json, 'the answer')
  const gaps = new Gaps()
  const listed = answer.hubspotDefinedObjectTypes
  const types = gaps.list(answer, 'hubspotDefinedObjectTypes', (item, at) => typeIn(gaps, item, at))
  const { kept, leftOut } = boundedTypes(types)
  const { customObjectTypes: custom } = answer
  return {
    values: [
      ...kept.map((type) => ({ metric: ofType, ...type })),
      ...(custom === undefined
        ? []
        : [{ metric: ofCustom, ...overallOf(gaps, asObject(custom, 'customObjectTypes')) }]),
    ],
    ...(Array.isArray(listed) && types.length === listed.length ? {} : { isPartial: true }),
    ...(leftOut === 0 ? {} : { leftOut }),
    ...gaps.named(),
  }
}
