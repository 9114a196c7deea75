import { expect, test } from 'vitest'
import { printConfig } from '../../config/schema/print.ts'
import { configOf, problemsOf, SMALLEST } from './load-text.ts'

const withHook = (headers: string) =>
  SMALLEST.replace(
    '\nroutes:\n',
    `\n  hook: { type: webhook, url: https://desk.example.com/hooks, format: alertmanager, headers: ${headers} }\nroutes:\n`,
  )

test('headers of a webhook are kept, and never shown', () => {
  const config = configOf(withHook('{ Authorization: "Bearer hush-hush-hush", X-Team: ops }'))
  const { hook } = config.receivers
  expect(hook?.type === 'webhook' && hook.headers?.Authorization?.reveal()).toBe('Bearer hush-hush-hush')
  const printed = printConfig(config)
  expect(printed).toContain('Authorization')
  expect(printed).not.toContain('hush-hush-hush')
})

test.each([
  ['{ webhook-id: x }', 'is set by Plimsoll itself'],
  ['{ Content-Length: "1" }', 'is set by Plimsoll itself'],
  ['{ "X Team": ops }', 'must be the name of a header'],
  ['{ X-Team: "" }', 'must not be empty'],
  ['{ X-Team: "a\\nb" }', 'must be text on one line'],
])('headers: %s is refused', (headers, fault) => {
  expect(JSON.stringify(problemsOf(withHook(headers)))).toContain(fault)
})
