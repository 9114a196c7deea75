import { boundedTypes } from '../../provider/bounds.ts'
import { asObject, Gaps } from '../../provider/read.ts'
import { overallOf, typeIn } from './answer-parts.ts'
import type { Report } from './report.ts'

/** Custom property limit report (interface 2.4, 4.6): of the account, and of each of its object types. */
export const customProperties: Report = {
  name: 'customProperties',
  words: 'custom properties',
  limitWords: 'custom properties',
  wayOut: 'Delete custom properties that are not in use (in HubSpot: Settings > Properties)',
  metrics: {
    'customProperties.overall': { word: 'overall', about: 'account', noun: 'custom properties', unit: 'properties' },
    'customProperties.objectType': { word: 'type', about: 'objectType', noun: 'custom properties', unit: 'properties' },
  },
  namesTypes: true,
  path: () => '/custom-properties',
  read(json) {
    const answer = asObject(json, 'the answer')
    const gaps = new Gaps()
    const overall = overallOf(gaps, answer)
    const types = gaps.list(answer, 'byObjectType', (item, at) => typeIn(gaps, item, at))
    const isWhole = Array.isArray(answer.byObjectType) && types.length === answer.byObjectType.length
    const { kept, leftOut } = boundedTypes(types)
    return {
      values: [
        { metric: 'customProperties.overall', ...overall },
        ...kept.map((type) => ({ metric: 'customProperties.objectType', ...type })),
      ],
      ...(isWhole ? {} : { isPartial: true }),
      ...(leftOut === 0 ? {} : { leftOut }),
      ...gaps.named(),
    }
  },
}
