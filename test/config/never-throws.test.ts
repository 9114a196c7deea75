import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { printConfig } from '../../config/schema/print.ts'
import { renderProblem } from '../../config/schema/problems.ts'
import { KEY, load } from './load-text.ts'

/** New ones each time: what few find today, others find tomorrow.  */
const RUNS = { numRuns: 60 }

const EXAMPLE = readFileSync('config/example.yaml', 'utf8')

const env = {
  PLIMSOLL_CLIENT_ID: 'planted-id',
  PLIMSOLL_CLIENT_SECRET: 'planted-secret',
  SMTP_PASSWORD: 'planted-password',
  WEBHOOK_SECRET: 'cGxhbnRlZC1wbGFudGVkLXBsYW50ZWQtcGxhbnRlZA==',
  PLIMSOLL_ADMIN_TOKEN: 'planted-admin-token',
}
const files = { '.plimsoll/keys/k1': KEY }
const planted = [...Object.values(env).slice(1), KEY]

/** Whatever the file, loading ends with a config or with problems, and says nothing that is secret. */
function loads(text: string): void {
  const result = load(text, { env, files })
  const said = (result.ok ? result.notices : result.problems).map((problem) => renderProblem('f', problem))
  if (result.ok) printConfig(result.config)
  else expect(said.length).toBeGreaterThan(0)
  for (const secret of planted) expect(said.join('\n')).not.toContain(secret)
}

test.each([
  ['reports: [', 'reports: [ "${PLIMSOLL_CLIENT_SECRET}", '],
  ['format: plimsoll', 'format: "${PLIMSOLL_CLIENT_SECRET}"'],
])('a value from the environment where one of a few words belongs is not quoted: %s', (before, now) => {
  expect(EXAMPLE).toContain(before)
  loads(EXAMPLE.replace(before, () => now))
})

type Step = string | number

function pathsIn(value: unknown, path: Step[] = []): Step[][] {
  if (typeof value !== 'object' || value === null) return [path]
  const steps: Step[] = Array.isArray(value) ? [...value.keys()] : Object.keys(value)
  return [path, ...steps.flatMap((step) => pathsIn((value as Record<Step, unknown>)[step], [...path, step]))]
}

function replaced(value: unknown, path: readonly Step[], by: unknown): unknown {
  const [step, ...rest] = path
  if (step === undefined) return by
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<Step, unknown>
  const held = replaced(copy[step], rest, by)
  if (held === undefined) delete copy[step]
  else copy[step] = held
  return copy
}

const example = parse(EXAMPLE) as unknown
const anyPath = fc.constantFrom(...pathsIn(example))
const references = Object.keys(env).map((name) => `\${${name}}`)
const anyValue = fc.oneof(
  fc.constant(undefined),
  fc.constantFrom(...references),
  fc.constantFrom(
    '',
    '30',
    '1s',
    '80%',
    'auto',
    '*',
    '0-1',
    'https://x',
    'http://[',
    'smtp://%',
    '${',
    '$${',
    '__proto__',
  ),
  fc.constantFrom(Number.NaN, -1, 0, 1e21, true, null),
  fc.jsonValue({ maxDepth: 3 }),
)

test('any value anywhere in a good file is loaded or refused', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(anyPath, anyValue), { minLength: 1, maxLength: 3 }), (changes) => {
      const changed = changes.reduce<unknown>((file, [path, value]) => {
        const exists = pathsIn(file).some((known) => JSON.stringify(known) === JSON.stringify(path))
        return exists ? replaced(file, path, value) : file
      }, example)
      loads(stringify(changed ?? null))
    }),
    RUNS,
  )
})

test('any other name anywhere in a good file is refused', () => {
  const groups = pathsIn(example).filter((path) => {
    const held = path.reduce<unknown>((value, step) => (value as Record<Step, unknown>)[step], example)
    return typeof held === 'object' && !Array.isArray(held) && path[0] !== 'receivers'
  })
  fc.assert(
    fc.property(fc.constantFrom(...groups), fc.string({ minLength: 1 }), fc.jsonValue(), (path, name, value) => {
      loads(stringify(replaced(example, [...path, `x${name}`], value)))
    }),
  )
})

test('any cut and any insertion in the text of a good file is loaded or refused', () => {
  const place = fc.nat({ max: EXAMPLE.length })
  const inserted = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('\n', '\t', '&a ', '*a', '{', ']', '"', "'", '- ', '? ', '!!binary ', '<<: ', '${', '---\n'),
  )
  fc.assert(
    fc.property(place, fc.nat({ max: 40 }), inserted, (start, length, text) => {
      loads(EXAMPLE.slice(0, start) + text + EXAMPLE.slice(start + length))
    }),
    RUNS,
  )
})
