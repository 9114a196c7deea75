import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { faultOfTemplate } from '../../../src/delivery/templates/check-template.ts'
import { sampleLinks, samplesOfAllKinds } from '../../../src/delivery/templates/sample-messages.ts'
import { messageScope } from '../../../src/delivery/templates/template-fields.ts'
import { aMessage, anAlert } from '../example-messages.ts'

const CONTEXT = {
  receiver: 'ops',
  home: 'https://plimsoll.example.com/',
  links: sampleLinks('https://plimsoll.example.com'),
}

test('each field holds a value in at least one kind of message, and the guide names it', () => {
  const names = new Map<string, 'empty' | 'filled'>()
  const note = (name: string, value: unknown): void => {
    if (value === null) names.set(name, names.get(name) ?? 'empty')
    else if (typeof value !== 'object') names.set(name, 'filled')
    else if (Array.isArray(value)) for (const one of value) note(name, one)
    else for (const [field, one] of Object.entries(value)) note(name === '' ? field : `${name}.${field}`, one)
  }
  for (const { message } of samplesOfAllKinds()) note('', messageScope(message, CONTEXT))
  names.delete('alert')
  expect([...names].filter(([, is]) => is === 'empty')).toEqual([])
  const guide = readFileSync('config/guide/alerts.md', 'utf8')
  const fields = [...names.keys()].map((name) => name.replace(/^alerts?\.(facts$|records\.|facts\.)?/, ''))
  expect(fields.length).toBeGreaterThan(90)
  expect(fields.filter((name) => !guide.includes(`\`${name}\``))).toEqual([])
})

test.each([
  ['{{ alert.usge }}', /there is no field alert.usge/],
  ['{{ acount.id }}', /there is no field acount/],
  ['{% if alert.usge > 1 %}{% endif %}', /there is no field alert.usge/],
  ['{{ alert.usge | default: "none" }}', /there is no field alert.usge/],
  ['{% for a in alerts %}{% if a.kind == "fleet" %}{{ a.nme }}{% endif %}{% endfor %}', /there is no field a.nme/],
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
