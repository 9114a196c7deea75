import { readByOrigin } from './answer-parts.ts'
import type { Report } from './report.ts'

/** Pipelines: of each of the provider's object types, and of all custom objects together. */
export const pipelines: Report = {
  name: 'pipelines',
  words: 'pipelines',
  limitWords: 'pipelines',
  wayOut: 'Delete pipelines that are not in use',
  metrics: {
    'pipelines.objectType': { word: 'pipelines', about: 'objectType', noun: 'pipelines', unit: 'pipelines' },
    'pipelines.customObjects': {
      word: 'custom-pipelines',
      about: 'account',
      noun: 'pipelines of custom objects',
      unit: 'pipelines',
    },
  },
  mayLack: true,
  path: () => '/pipelines',
  read: (json) => readByOrigin(json, { ofType: 'pipelines.objectType', ofCustom: 'pipelines.customObjects' }),
}
