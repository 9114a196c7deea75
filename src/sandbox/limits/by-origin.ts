import { objectType, typesOfHub } from '../object-types.ts'
import { type AccountMoment, risingUsage } from '../scenario.ts'
import { type ServedCount, type ServedReport, servedCounts } from './served-report.ts'
import { countsByType, sharedOut, writtenOverall, writtenUse } from './written-counts.ts'

interface ByOrigin<Name extends string> {
  readonly name: Name
  readonly path: string
  /** Limits of the provider's own object types, by their ids. */
  readonly limits: Readonly<Record<string, number>>
  /** The one that all object types of the account share. */
  readonly customLimit: number
}

/** A report that splits the provider's own object types from those that the account made up. */
export function reportByOrigin<const Name extends string>(report: ByOrigin<Name>): ServedReport<Name> {
  return servedCounts({
    name: report.name,
    path: report.path,
    counts: (moment) => countsOf(report, moment),
    written: (counts, { hubId }) => {
      const types = countsByType(counts)
      return {
        hubspotDefinedObjectTypes: types
          .filter((count) => !isCustom(count.key))
          .map((count) => ({ ...objectType(hubId, count.key), ...writtenUse(count) })),
        // Missing where the account has no object types of its own.
        ...(counts.some(({ key }) => key === 'customObjects') && {
          customObjectTypes: {
            ...writtenOverall(counts, 'customObjects'),
            byObjectType: types
              .filter((count) => isCustom(count.key))
              .map(({ key, usage }) => ({ ...objectType(hubId, key), usage })),
          },
        }),
      }
    },
  })
}

function countsOf({ name, limits, customLimit }: ByOrigin<string>, moment: AccountMoment): ServedCount[] {
  const standard = Object.entries(limits).map(([key, limit]) => {
    return { key, usage: risingUsage(moment, { limit, what: `${name} ${key}` }), limit }
  })
  const ids = typesOfHub(moment.hubId).map(({ objectTypeId }) => objectTypeId)
  const usage = risingUsage(moment, { limit: customLimit, what: `${name} customObjects` })
  const customObjects = { key: 'customObjects', usage, limit: customLimit }
  return [...standard, customObjects, ...sharedOut(usage, ids.filter(isCustom))]
}

function isCustom(objectTypeId: string): boolean {
  return objectTypeId.startsWith('2-')
}
