import { expect, test } from 'vitest'
import { noticesOf, problemsOf, SMALLEST } from './load-text.ts'

const withHook = (hook: string, to = '[ops]') =>
  SMALLEST.replace(
    '\nroutes:\n  - to: [ops]\n',
    `\n  hook: { type: webhook, url: https://hooks.example.com/x, secrets: [MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw], ${hook} }\nroutes:\n  - to: ${to}\n`,
  )

test.each([
  ['events: []', 'receivers.hook.events: must have at least one'],
  ['events: [alert]', 'receivers.hook.events[0]: "alert" is not one of alerts, accounts; did you mean "alerts"?'],
  ['events: [accounts], format: alertmanager', "receivers.hook.events: has a meaning in Plimsoll's own format alone"],
])('%s is refused', (hook, problem) => {
  expect(problemsOf(withHook(hook)).join('\n')).toContain(problem)
})

test('a route to what takes no alerts is refused', () => {
  expect(problemsOf(withHook('events: [accounts]', '[ops, hook]'))).toEqual([
    'routes[0].to[1]: accepts no alerts: its events have none',
  ])
})

test('what is sent accounts needs no route', () => {
  const said = 'receivers.hook: no route sends anything here'
  expect(noticesOf(withHook('events: [accounts]'))).not.toContain(said)
  expect(noticesOf(withHook('events: [alerts, accounts]'))).not.toContain(said)
  expect(noticesOf(withHook('events: [alerts]'))).toContain(said)
})
