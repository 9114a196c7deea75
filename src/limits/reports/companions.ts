import type { LimitsCall } from '../../provider/client.ts'
import { asObject, Gaps, parseJson, UnreadableError } from '../../provider/read.ts'

/** An object type that has records at or near an association limit, as the companions of the limits endpoints name it. */
export interface BusyObjectType {
  objectTypeId: string
  hasRecordsAtLimit: boolean
  hasRecordsNearLimit: boolean
}

export const COMPANIONS = ['associationSources', 'associationTargets']

/** The object types that have records at or near a limit of associations from them. Not in every provider. */
export const ASSOCIATION_SOURCES: LimitsCall<BusyObjectType[]> = {
  endpoint: 'associationSources',
  path: '/associations/records/from',
  read: readBusyObjectTypes,
}

/** Call for the object types to which one has records at or near their limit. Not in every provider. */
export function associationTargets(from: string): LimitsCall<BusyObjectType[]> {
  const path = `/associations/records/${encodeURIComponent(from)}/to`
  return { endpoint: 'associationTargets', path, read: readBusyObjectTypes }
}

/** All of a companion's types must be readable: a missing one would pass for one without records near a limit. */
function readBusyObjectTypes(body: Buffer): BusyObjectType[] {
  const gaps = new Gaps()
  const types = gaps.list(asObject(parseJson(body), 'the answer'), 'results', (item, at) => {
    const objectTypeId = gaps.nonEmptyText(item, 'objectTypeId', at)
    const hasRecordsAtLimit = gaps.boolean(item, 'hasRecordsAtLimit', at)
    const hasRecordsNearLimit = gaps.boolean(item, 'hasRecordsNearLimit', at)
    if (objectTypeId === undefined || hasRecordsAtLimit === undefined || hasRecordsNearLimit === undefined) return
    return { objectTypeId, hasRecordsAtLimit, hasRecordsNearLimit }
  })
  const [first] = gaps.found
  if (first !== undefined) throw new UnreadableError(first)
  return types
}
