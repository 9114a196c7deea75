import { expect, test } from 'vitest'
import { readTemplate, TemplateFault } from '../../../src/delivery/templates/liquid.ts'

const SCOPE = {
  word: 'x<y',
  count: 1234,
  none: null,
  at: '2026-11-21T10:00:00.000Z',
  list: [{ v: 1 }, { v: 2 }],
  o: { p: 'q' },
}

test.each([
  ['{{ word }} {{ count | number }}{{ none }}{{ missing }}', 'x<y 1,234'],
  ['{% if none %}a{% elsif count > 1000 %}b{% endif %}{% unless none %}c{% endunless %}', 'bc'],
  ['{% case o.p %}{% when "q" %}is q{% else %}no{% endcase %}', 'is q'],
  ['{% for one in list %}{{ one.v }}{% unless forloop.last %}, {% endunless %}{% endfor %}', '1, 2'],
  ['{{ list | map: "v" | join: "+" }} {{ list | where: "v", 2 | size }} {{ 95.55 | percent }}', '1+2 1 95.6 %'],
  ['{% comment %}not shown{% endcomment %}{{ word | truncate: 2, "…" | append: "!" }}', 'x…!'],
])('%s', (source, text) => {
  expect(readTemplate(source).text(SCOPE)).toBe(text)
})

test('what a field puts in is escaped, after its filters; what the template has beside it is not', () => {
  const escapeField = (text: string) => text.replaceAll('<', '&lt;')
  expect(readTemplate('<b>{{ word | upcase }}</b>', { escapeField }).text(SCOPE)).toBe('<b>X&lt;Y</b>')
})

test('one field alone keeps its type', () => {
  expect(readTemplate('{{ count }}').value(SCOPE)).toBe(1234)
  expect(readTemplate('{{ none }}').value(SCOPE)).toBe(null)
  expect(readTemplate('{{ list }}').value(SCOPE)).toEqual([{ v: 1 }, { v: 2 }])
  expect(readTemplate('{{ count }} left').value(SCOPE)).toBe('1234 left')
})

const faultOf = (source: string, mustExist = false) => {
  try {
    readTemplate(source, { mustExist }).text(SCOPE)
    return undefined
  } catch (error) {
    if (error instanceof TemplateFault) return error.message
    throw error
  }
}

test.each([
  ['{% include "/etc/passwd" %}', /there is no tag include.*line 1, column 1/],
  ['{% render "x" %}', /there is no tag render/],
  ['{% layout "x" %}', /there is no tag layout/],
  ['{% assign x = "a" %}', /there is no tag assign/],
  ['{% capture x %}{% endcapture %}', /there is no tag capture/],
  ['{% liquid\necho word %}', /there is no tag liquid/],
  ['{{ word | replace: "x", "xxxxxxxxxx" }}', /there is no filter replace/],
  ['{{ word | raw }}', /there is no filter raw/],
  ['{{ at | date: "%1000000000Y" }}', /there is no filter date/],
  ['{{ list | where_exp: "x", "x.v" }}', /there is no filter where_exp/],
  ['one\n{{ word | upcas }}', /there is no filter upcas; did you mean upcase\? \(line 2, column 1/],
  ['{{ word ', /not closed/],
  ['{% if word %}', /not closed/],
  ['{{ list }} of them', /a list is no text/],
  ['{{ o }} of them', /a group of fields is no text/],
  ['x'.repeat(10_001), /at most 10,000 characters/],
])('%s is refused', (source, fault) => {
  expect(faultOf(source)).toMatch(fault)
})

test.each([
  ['a range of all numbers', '{% for i in (1..100000000000) %}{% endfor %}'],
  [
    'loops in loops',
    '{% for a in (1..3000) %}{% for b in (1..3000) %}{% for c in (1..3000) %}{% endfor %}{% endfor %}{% endfor %}',
  ],
  [
    'loops that write nothing but spaces',
    '{% for a in (1..1000000) %} {% for b in (1..1000000) %}{% endfor %}{% endfor %}',
  ],
  ['a text that grows', `{% for a in (1..100000) %}${'x'.repeat(100)}{% endfor %}`],
  ['many fields', '{% for a in (1..1000000) %}{{ word }}{{ word }}{{ word }}{% endfor %}'],
  ['a long join', `{{ (1..2000000) | join: "${'x'.repeat(5_000)}" }}`],
  ['filters on filters', `{{ (1..500000) | join: "${'x'.repeat(9)}" | ${Array(900).fill('upcase').join('|')} }}`],
])('%s is ended, without much memory', (_, source) => {
  const before = process.memoryUsage().heapUsed
  expect(faultOf(source)).toMatch(/takes too long|too long/)
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(400_000_000)
})

test.each([3, 400, 5_000])('%i conditions in one another do no harm', (deep) => {
  const source = '{% if word %}'.repeat(deep) + '{% endif %}'.repeat(deep)
  expect([undefined, 'must have at most 10,000 characters']).toContain(faultOf(source))
})

test.each([
  'constructor',
  '__proto__',
  'o.constructor',
  'o.toString',
  'list.constructor',
  'word.constructor.constructor',
])('nothing of the language is reached by %s', (name) => {
  expect(readTemplate(`{{ ${name} }}`).text(SCOPE)).toBe('')
})

test('a name that is not there is an empty text, or a fault where it must exist', () => {
  for (const source of [
    '{{ missing }}',
    '{{ o.missing }}',
    '{% if missing %}{% endif %}',
    '{{ missing | default: 1 }}',
  ]) {
    expect(faultOf(source)).toBeUndefined()
    expect(faultOf(source, true)).toMatch(/there is no field .*missing/)
  }
  expect(faultOf('{{ none }}{{ none.missing }}', true)).toBeUndefined()
})
