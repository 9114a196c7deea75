import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { configJsonSchema } from '../../config/schema/json-schema.ts'

type Json = Record<string, unknown>

const schema = configJsonSchema()
const example = parse(readFileSync('config/example.yaml', 'utf8')) as Json

/** What of `value` the schema does not describe. As much of JSON Schema as ours uses. */
function undescribed(value: unknown, rule: Json, path = ''): string[] {
  const choices = (rule.anyOf ?? rule.oneOf) as Json[] | undefined
  if (choices !== undefined) {
    const misses = choices.map((choice) => undescribed(value, choice, path))
    return misses.find((miss) => miss.length === 0) ?? misses.flat()
  }
  if (rule.$ref === '#/$defs/environment') return typeof value === 'string' && value.includes('${') ? [] : [path]
  if (rule.const !== undefined) return value === rule.const ? [] : [path]
  if (rule.type === 'object') return undescribedGroup(value as Json, rule, path)
  if (rule.type === 'array') {
    if (!Array.isArray(value)) return [path]
    return value.flatMap((item, index) => undescribed(item, rule.items as Json, `${path}[${index}]`))
  }
  const types = [rule.type].flat()
  const type = Number.isInteger(value) && !types.includes('number') ? 'integer' : typeof value
  if (!types.includes(type)) return [`${path}: ${type}`]
  if (rule.enum !== undefined && !(rule.enum as unknown[]).includes(value)) return [path]
  if (typeof value === 'string' && rule.pattern !== undefined) {
    return new RegExp(rule.pattern as string, 'u').test(value) ? [] : [path]
  }
  return []
}

function undescribedGroup(value: Json, rule: Json, path: string): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [path]
  const properties = (rule.properties ?? {}) as Record<string, Json>
  const missing = ((rule.required ?? []) as string[])
    .filter((name) => !(name in value))
    .map((name) => `${path}.${name}`)
  const inside = Object.entries(value).flatMap(([name, held]) => {
    const known = properties[name] ?? (rule.additionalProperties as Json | false)
    return known === false ? [`${path}.${name}`] : undescribed(held, known, `${path}.${name}`)
  })
  return [...missing, ...inside]
}

/** Every setting in the schema: its path and what is said about it. */
function settingsOf(rule: Json, path = ''): [path: string, rule: Json][] {
  const choices = ((rule.anyOf ?? rule.oneOf ?? []) as Json[]).flatMap((choice) => settingsOf(choice, path))
  const inside = Object.entries((rule.properties ?? {}) as Record<string, Json>).flatMap(([name, held]) => {
    const at = path === '' ? name : `${path}.${name}`
    return [[at, held] as [string, Json], ...settingsOf(held, at)]
  })
  const items = typeof rule.items === 'object' ? settingsOf(rule.items as Json, path) : []
  const named = typeof rule.additionalProperties === 'object' ? settingsOf(rule.additionalProperties as Json, path) : []
  return [...choices, ...inside, ...items, ...named]
}

test('describes the example, value by value', () => {
  expect(schema.$schema).toBe('https://json-schema.org/draft/2020-12/schema')
  expect(undescribed(example, schema)).toEqual([])
})

test.each([
  ['an unknown setting', { log: { colour: true } }, '.log.colour'],
  ['a wrong word', { log: { level: 'inf' } }, '.log.level'],
  ['a bare number for a duration', { limits: { every: 30 } }, '.limits.every'],
  ['a missing setting', { http: { publicUrl: undefined } }, ''],
])('does not describe %s', (_, change, where) => {
  expect(undescribed({ ...example, ...change }, schema).join()).toContain(where)
  expect(undescribed({ ...example, ...change }, schema)).not.toEqual([])
})

test('describes pairs as a list, or as auto', () => {
  const limits = (associations: unknown) => undescribed({ ...example, limits: { associations } }, schema)
  expect(limits('auto')).toEqual([])
  expect(limits([{ from: '0-1', to: '${TO}' }])).toEqual([])
  expect(limits('all')).not.toEqual([])
  expect(limits([{ from: 'contacts', to: '0-2' }])).not.toEqual([])
})

test('has help for every setting', () => {
  expect(
    settingsOf(schema)
      .filter(([, rule]) => typeof rule.description !== 'string')
      .map(([path]) => path),
  ).toEqual([])
})

test('every secret has a twin that names a file, and is marked as one', () => {
  const paths = settingsOf(schema).map(([path]) => path)
  for (const secret of [
    'provider.clientSecret',
    'redis.url',
    'redis.password',
    'encryption.keys.key',
    'receivers.smtp',
    'receivers.url',
    'receivers.secrets',
    'http.adminToken',
  ]) {
    expect(paths).toContain(secret)
    expect(paths).toContain(`${secret}File`)
  }
  const provider = (schema.properties as Record<string, Json>).provider
  expect(provider).toMatchObject({ properties: { clientSecret: { writeOnly: true } }, required: ['clientId'] })
  expect(JSON.stringify(provider)).toContain('A file that holds `clientSecret`, one a line.')
})

test('requires what has no default', () => {
  expect(schema.required).toEqual(expect.arrayContaining(['provider', 'http', 'routes', 'receivers']))
  expect(schema.required).toHaveLength(4)
})

test('the example has every setting, or a comment that names it', () => {
  const text = readFileSync('config/example.yaml', 'utf8')
  for (const [path] of settingsOf(schema)) {
    const name = path.split('.').at(-1) ?? ''
    expect(text, path).toMatch(new RegExp(`\\b${name}\\b`))
  }
})
