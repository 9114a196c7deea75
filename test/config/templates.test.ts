import { expect, test } from 'vitest'
import { configInForce } from '../../config/schema/print.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { configOf, problemsOf, smallestWith } from './load-text.ts'

const hook = (settings: string) =>
  smallestWith(`receivers:
  ops:
    type: webhook
    url: https://hooks.example.com/x
${settings.replaceAll(/^/gm, '    ')}`)

const slack = (template: string) =>
  smallestWith(`receivers:
  ops:
    type: slack
    url: https://hooks.slack.com/x
    template: ${template}`)

test.each([
  ['{ title: "{{ alert.usge }}" }', 'receivers.ops.template.title: there is no field alert.usge'],
  ['{ body: "{% include \'x\' %}" }', 'receivers.ops.template.body: there is no tag include'],
  ['{ body: "{{ subject | upcas }}" }', 'receivers.ops.template.body: there is no filter upcas; did you mean upcase?'],
  ['{ body: [a] }', 'receivers.ops.template.body: must be text'],
  ['{ subject: "a" }', 'receivers.ops.template.subject: unknown; allowed: title, body'],
])('a template %s is refused, with its place', (template, problem) => {
  expect(problemsOf(slack(template)).join('\n')).toContain(problem)
})

test('a payload needs no secrets, and keeps what it is made of', () => {
  const config = configOf(hook('payload: { a: "{{ subject }}", b: [1, true, null, "x"], c: { d: "007" } }'))
  expect(config.receivers.ops).toMatchObject({
    payload: { a: '{{ subject }}', b: [1, true, null, 'x'], c: { d: '007' } },
  })
})

test.each([
  ['payload: { a: { b: ["{{ alert.nme }}"] } }', 'receivers.ops.payload.a.b[0]: there is no field alert.nme'],
  [`payload: [${Array(201).fill('x').join(', ')}]`, 'receivers.ops.payload: must have at most 200 texts'],
  ['payload: "{{ subject }}"', 'receivers.ops.payload: must be a group or a list'],
  ['payload: { "{{ subject }}": 1 }', 'a name is no template'],
  ['payload: { a: "${KEY} {{ subject }}" }', 'receivers.ops.payload.a: has a value from the environment'],
  ['payload: { a: 1 }\nformat: alertmanager', 'receivers.ops.payload: is a shape of its own: leave format out'],
])('%s is refused, with its place', (settings, problem) => {
  expect(problemsOf(hook(settings), { env: { KEY: 's3cret' } }).join('\n')).toContain(problem)
})

test('what comes from the environment is a secret in a payload', () => {
  const config = configOf(hook('payload: { a: "Bearer ${KEY}", b: "{{ subject }}" }'), { env: { KEY: 's3cret' } })
  expect(config.receivers.ops).toMatchObject({ payload: { a: expect.any(Secret) } })
  expect(JSON.stringify(configInForce(config))).not.toContain('s3cret')
  expect(JSON.stringify(configInForce(config))).toContain('"payload":{"a":"[secret]","b":"{{ subject }}"}')
})

test('a template from the environment is not quoted', () => {
  const text = slack('{ title: "${TITLE}" }')
  const problems = problemsOf(text, { env: { TITLE: '{% for s3cret of x %}' } })
  expect(problems).toEqual(['receivers.ops.template.title: is no template that can be used'])
})
