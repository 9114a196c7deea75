import { expect, test } from 'vitest'
import { faultOfTemplate } from '../../../src/delivery/templates/check-template.ts'
import { SAMPLE_NAMES, sampleLinks, sampleMessage } from '../../../src/delivery/templates/sample-messages.ts'
import { messageScope, TEMPLATE_FIELDS } from '../../../src/delivery/templates/template-fields.ts'
import { aMessage, anAlert } from '../example-messages.ts'

const CONTEXT = {
  receiver: 'ops',
  home: 'https://plimsoll.example.com/',
  links: sampleLinks('https://plimsoll.example.com'),
}

const [MESSAGE, ALERT, RECORD] = TEMPLATE_FIELDS.map(({ fields }) => Object.keys(fields)) as [
  string[],
  string[],
  string[],
]

test('every field of the reference can be named, of every kind of message', () => {
  const isList = (name: string) => ['alert', 'alerts', 'facts', 'records'].includes(name)
  for (const name of MESSAGE.filter((one) => !isList(one)))
    expect(faultOfTemplate(`{{ ${name} }}`), name).toBeUndefined()
  for (const name of ALERT.filter((one) => !isList(one))) {
    expect(faultOfTemplate(`{{ alert.${name} }}`), name).toBeUndefined()
    expect(faultOfTemplate(`{% for a in alerts %}{{ a.${name} }}{% endfor %}`), name).toBeUndefined()
  }
  for (const name of RECORD)
    expect(faultOfTemplate(`{% for r in alert.records %}{{ r.${name} }}{% endfor %}`), name).toBeUndefined()
  expect(faultOfTemplate('{% for f in alert.facts %}{{ f.name }}: {{ f.value }}{% endfor %}')).toBeUndefined()
})

test('each field holds a value in at least one kind of message', () => {
  const filled = new Set<string>()
  const note = (prefix: string, value: unknown): void => {
    if (value === null) return
    if (typeof value !== 'object') filled.add(prefix)
    else if (Array.isArray(value)) for (const one of value) note(prefix, one)
    else for (const [name, one] of Object.entries(value)) note(`${prefix}.${name}`, one)
  }
  for (const name of SAMPLE_NAMES) note('', messageScope(sampleMessage(name), CONTEXT))
  const names = [...MESSAGE.map((name) => `.${name}`), ...ALERT.map((name) => `.alert.${name}`)]
  const holders = ['.alert', '.alerts', '.alert.facts', '.alert.records']
  expect(names.filter((name) => !filled.has(name) && !holders.includes(name))).toEqual([])
})

test.each([
  ['{{ alert.usge }}', /there is no field usge/],
  ['{{ acount.id }}', /there is no field acount/],
  ['{{ alerts | map: "headlin" | join }}', /there is no field headlin/],
  ['{{ alerts | where: "lvl", "critical" | size }}', /there is no field lvl/],
  ['{{ alert.usge | default: "none" }}', /there is no field usge/],
  ['{% for a in alerts %}{% if a.kind == "fleet" %}{{ a.nme }}{% endif %}{% endfor %}', /there is no field nme/],
  ['{{ alert.account }}', /a group of fields is no text/],
  [
    '{% for a in alerts %}{% for b in alerts %}{% for c in alerts %}{{ a.headline }}{% endfor %}{% endfor %}{% endfor %}',
    /too long.*200 alerts/,
  ],
])('%s: the check names it', (source, fault) => {
  expect(faultOfTemplate(source)).toMatch(fault)
})

test('a list or a group is good as a value', () => {
  expect(faultOfTemplate('{{ alert.account }}', 'value')).toBeUndefined()
  expect(faultOfTemplate('{{ alerts }}', 'value')).toBeUndefined()
})

test("strangers' words are one line of a bounded length", () => {
  const words = `a\r\nBcc: b@example.com\u202e${'z'.repeat(5_000)}`
  const series = { metric: 'customProperties.objectType', objectTypeId: '2-1', label: words }
  const scope = messageScope(
    aMessage([anAlert({ account: { hubId: 1, hubDomain: words }, series, rule: words })]),
    CONTEXT,
  )
  const textsIn = (value: unknown): string[] => {
    if (typeof value === 'string') return [value]
    return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
  }
  for (const text of textsIn(scope.alert)) {
    expect(text).not.toMatch(/[\p{Cc}\u202e]/u)
    expect(text.length).toBeLessThan(1_500)
  }
})
