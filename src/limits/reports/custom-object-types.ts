import { asObject, Gaps } from '../../provider/read.ts'
import { numbersOf } from './answer-parts.ts'
import type { Report } from './report.ts'

/** How many kinds of custom objects an account has defined. */
export const customObjectTypes: Report = {
  name: 'customObjectTypes',
  words: 'custom object types',
  limitWords: 'custom object types',
  wayOut: 'Delete custom objects that are not in use',
  metrics: {
    'customObjectTypes.overall': {
      word: 'custom-types',
      about: 'account',
      noun: 'custom object types',
      unit: 'object types',
    },
  },
  mayLack: true,
  path: () => '/custom-object-types',
  read(json) {
    const gaps = new Gaps()
    const numbers = numbersOf(gaps, asObject(json, 'the answer'))
    return { values: [{ metric: 'customObjectTypes.overall', ...numbers }], ...gaps.named() }
  },
}
