import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { RECEIVER_SETTINGS } from '../../src/delivery/receivers/all-receivers.ts'
import { blocksOf, readDocuments } from '../support/documents.ts'

test('the guide has a recipe for each type of receivers', () => {
  const types = RECEIVER_SETTINGS.map(({ shape }) => shape.type.value)
  const recipes = readDocuments()
    .filter(({ path }) => path === 'config/guide/alerts.md')
    .flatMap(blocksOf)
  const receivers = recipes
    .filter(({ kind }) => kind === 'yaml')
    .flatMap(({ text }) => Object.values<{ type: string }>(parse(text).receivers ?? {}))
  expect([...new Set(receivers.map(({ type }) => type))].sort()).toEqual([...types].sort())
})
