import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { configReference } from '../../config/schema/reference.ts'
import { RECEIVER_SETTINGS } from '../../src/delivery/receivers/all-receivers.ts'
import { configOf, KEY, LOGO } from './load-text.ts'

const ROOT = new URL('../../', import.meta.url).pathname
const reference = configReference()
const line = (setting: string) => reference.split('\n').find((one) => one.startsWith(`| \`${setting}\``))

test('the committed reference is what the schema says now: plimsoll config schema --markdown > config/reference.md', () => {
  const committed = readFileSync(join(ROOT, 'config', 'reference.md'), 'utf8').split('\n')
  expect(
    reference
      .split('\n')
      .filter((one, index) => committed[index] !== one)
      .slice(0, 5),
  ).toEqual([])
  expect(committed.length).toBe(reference.split('\n').length)
})

test.each([
  ['provider.timeout', 'duration, 100ms to 120s', '`10s`', 'restart'],
  ['provider.clientId', 'text on one line', '**required**', 'yes'],
  ['limits.coverage', 'share, 1% to 100%', '`95%`', 'yes'],
  ['alerts.recoverBelow', 'number, from 0 to 100', '`3`', 'yes'],
  ['alerts.group.by', 'list: rule, account, level, kind', '`["account"]`', 'yes'],
  ['routes[].match.level', 'warning, critical; or a list', '', 'yes'],
  ['limits.associations', 'auto, or list: group', '`[]`', 'yes'],
  ['http.listen', 'host:port', '`127.0.0.1:8088`', 'restart'],
])('%s: what it may be, its default, and whether SIGHUP takes it over', (setting, value, fallback, sighup) => {
  expect(line(setting)).toContain(`| ${value} | ${fallback} | ${sighup} | `)
})

test('a secret is named with the file that may hold it', () => {
  expect(line('provider.clientSecret')).toContain('`provider.clientSecret` or `provider.clientSecretFile`')
})

test('what depends on the type of a receiver stands in a table of its own', () => {
  const [, mail = '', webhook = ''] = reference.split('### receivers.NAME, with type: ')
  expect(mail).toContain('`receivers.NAME.smtp`')
  expect(mail).not.toContain('`receivers.NAME.format`')
  expect(webhook).toContain('`receivers.NAME.format`')
})

test('signs that Markdown would take for its own stand as they are', () => {
  expect(line('routes[].match.account')).toContain('text without spaces; \\* matches any text')
})

test('every setting has help', () => {
  const rows = reference.split('\n').filter((one) => one.startsWith('| `'))
  expect(rows.length).toBeGreaterThan(100)
  expect(rows.filter((row) => row.endsWith('|  |'))).toEqual([])
})

test('the example loads once its variables are set and its key exists', () => {
  const text = readFileSync('config/example.yaml', 'utf8')
  const names = [...text.matchAll(/^[^#]*?\$\{(\w+)\}/gm)].map(([, name]) => name ?? '')
  const config = configOf(text, {
    env: Object.fromEntries(names.map((name) => [name, KEY.replaceAll(/[/+=]/g, 'A')])),
    files: { '.plimsoll/keys/k1': KEY, 'logo.svg': LOGO },
  })
  const types = RECEIVER_SETTINGS.map(({ shape }) => shape.type.value)
  expect(new Set(Object.values(config.receivers).map(({ type }) => type))).toEqual(new Set(types))
})
