import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { configOf, KEY } from './load-text.ts'

test('the example loads once its variables are set and its key exists', () => {
  const text = readFileSync('config/example.yaml', 'utf8')
  const names = [...text.matchAll(/^[^#]*?\$\{(\w+)\}/gm)].map(([, name]) => name ?? '')
  const config = configOf(text, {
    env: Object.fromEntries(names.map((name) => [name, KEY.replaceAll(/[/+=]/g, 'A')])),
    files: { '.plimsoll/keys/k1': KEY },
  })
  expect(Object.keys(config.receivers)).toEqual(['ops-mail', 'ops-hook'])
})
