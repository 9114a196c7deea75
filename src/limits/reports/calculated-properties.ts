import { asObject, Gaps } from '../../provider/read.ts'
import { overallOf } from './answer-parts.ts'
import type { Report } from './report.ts'

/** Calculated properties of an account; its object types have no limits of their own. */
export const calculatedProperties: Report = {
  name: 'calculatedProperties',
  words: 'calculated properties',
  limitWords: 'calculated properties',
  wayOut: 'Delete calculated properties that are not in use (in HubSpot: Settings > Properties)',
  metrics: {
    'calculatedProperties.overall': {
      word: 'calculated',
      about: 'account',
      noun: 'calculated properties',
      unit: 'properties',
    },
  },
  mayLack: true,
  path: () => '/calculated-properties',
  read(json) {
    const gaps = new Gaps()
    const overall = overallOf(gaps, asObject(json, 'the answer'))
    return { values: [{ metric: 'calculatedProperties.overall', ...overall }], ...gaps.named() }
  },
}
