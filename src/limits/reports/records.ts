import { readByOrigin } from './answer-parts.ts'
import type { Report } from './report.ts'

/** Records: of each of the provider's object types, and of all custom objects together. */
export const records: Report = {
  name: 'records',
  words: 'records',
  limitWords: 'records',
  wayOut: 'Delete or archive records that are not in use',
  metrics: {
    'records.objectType': { word: 'records', about: 'objectType', noun: 'records', unit: 'records' },
    'records.customObjects': {
      word: 'custom-records',
      about: 'account',
      noun: 'records of custom objects',
      unit: 'records',
    },
  },
  mayLack: true,
  path: () => '/records',
  read: (json) => readByOrigin(json, { ofType: 'records.objectType', ofCustom: 'records.customObjects' }),
}
