import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Io } from '../../src/cli/io.ts'
import { wantsColours } from '../../src/cli/output.ts'
import { printFacts, say } from '../../src/cli/say.ts'
import { printTable } from '../../src/cli/table.ts'
import { type Column, named, number, prose, spare, state, whole } from '../../src/text/columns.ts'
import { displayWidth } from '../../src/text/display-width.ts'
import { anIo } from '../support/command.ts'

const LONG = 'it was due earlier, but limits.associations had no room'

function printed(isTerminal: boolean, print: (io: Io) => void): string[] {
  const io = anIo({ isTerminal, columns: 30 })
  print(io)
  return io.text().split('\n').slice(0, -1)
}

describe('facts', () => {
  const facts = [
    ['state', 'active'],
    ['because', LONG],
  ] as const

  test('that are longer than a line of the terminal go on below it, and lose nothing', () => {
    expect(printed(true, (io) => printFacts(io, facts))).toEqual([
      'state    active',
      'because  it was due earlier,',
      '         but',
      '         limits.associations',
      '         had no room',
    ])
  })

  test('stand on one line each where no terminal is', () => {
    expect(printed(false, (io) => printFacts(io, facts))).toEqual(['state    active', `because  ${LONG}`])
  })
})

test('columns of a table give way to a terminal only', () => {
  const table = (io: Io) => printTable(io, ['ID', 'WHY'], [['1', LONG]])
  expect(printed(true, table)[1]).toBe('1   it was due earlier, but l…')
  expect(printed(false, table)[1]).toBe(`1   ${LONG}`)
})

test('an id is never cut, a name goes on below, and what is empty or spare is left out first', () => {
  const columns = [whole('ID'), named('WHAT'), 'SILENCED', spare('LIMIT'), spare('RULE')]
  const rows = [
    ['e7d740100b21339e', 'Deals: custom properties', '', '1,000', 'a rule with a name'],
    ['357f34acc386dd72', 'Tasks: custom properties', '', '1,000', 'a rule with a name'],
  ]
  expect(printed(true, (io) => printTable(io, columns, rows))).toEqual([
    'ID                WHAT',
    'e7d740100b21339e  Deals:',
    '                  custom',
    '                  properties',
    '357f34acc386dd72  Tasks:',
    '                  custom',
    '                  properties',
  ])
  expect(printed(false, (io) => printTable(io, columns, rows))[1]).toMatch(/^e7d7\S+ +Deals: custom properties +1,000 /)
})

const word = fc.oneof(
  fc.constantFrom('critical', 'warning', 'ok', 'active', '', '1,000', '99.5 %', '2026-11-22 01:23 UTC'),
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc
    .array(fc.constantFrom('顧客', '🚢', '👩‍🔧', 'acme', 'a-very-long-word-without-any-space', 'é', '고객'), {
      maxLength: 8,
    })
    .map((words) => words.join(' ')),
)
const columns: Column[] = [
  state('LEVEL'),
  whole('HUB ID'),
  named('SERIES'),
  prose('WHY'),
  number('HOW FULL'),
  spare(whole('AT')),
  spare('RULE'),
]
const rows = fc.array(fc.array(word, { minLength: columns.length, maxLength: columns.length }), { maxLength: 6 })
const width = fc.integer({ min: 20, max: 130 })

/** Each line as the terminal shows it. */
function shown(columnsOfTerminal: number, print: (io: Io) => void, hasColours = true): string[] {
  const io = anIo({ isTerminal: true, columns: columnsOfTerminal, hasColours })
  print(io)
  return stripVTControlCharacters(io.text()).split('\n').slice(0, -1)
}

const widest = (lines: readonly string[]) => lines.reduce((most, line) => Math.max(most, displayWidth(line)), 0)

describe('no line is longer than the terminal, whatever stands in it', () => {
  test('of a table', () => {
    fc.assert(
      fc.property(rows, width, (cells, room) => {
        expect(widest(shown(room, (io) => printTable(io, columns, cells)))).toBeLessThanOrEqual(room)
      }),
    )
  })

  test('of facts and sentences', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(word, word), { minLength: 1, maxLength: 5 }), width, (facts, room) => {
        const named = facts.map(([name, value]) => [name.replaceAll(/\s/g, ' '), value] as const)
        const lines = shown(room, (io) => {
          printFacts(io, named)
          say(io, ...named.map(([name]) => name))
        })
        expect(widest(lines)).toBeLessThanOrEqual(room)
      }),
    )
  })
})

test('colours change nothing but the colour, and are on levels and states alone', () => {
  const cells = [['critical', '1', 'critical', 'x', '96 %', '', '']]
  const print = (io: Io) => printTable(io, columns, cells)
  expect(shown(100, print)).toEqual(shown(100, print, false))
  const io = anIo({ isTerminal: true, columns: 100, hasColours: true })
  print(io)
  expect(io.text().split('\u001b[31m')).toHaveLength(2)
  expect(io.text()).toContain('\u001b[31mcritical\u001b[39m')
})

test('wide letters take two columns, so that what stands beside them stands in line', () => {
  const lines = shown(60, (io) =>
    printTable(
      io,
      ['DOMAIN', number('USAGE')],
      [
        ['顧客.jp', '7'],
        ['acme.com', '1,000'],
      ],
    ),
  )
  expect(lines).toEqual(['DOMAIN    USAGE', '顧客.jp       7', 'acme.com  1,000'])
})

test('where whole cells have no room beside each other, each row is a list of facts, and nothing is left out', () => {
  const table = (io: Io) =>
    printTable(
      io,
      [state('LEVEL'), whole('ID'), 'WHY', spare('RULE')],
      [
        ['critical', '1f0c9a7be2d45a63', 'it is nearly full', 'overall'],
        ['warning', '2f0c9a7be2d45a63', '', 'overall'],
      ],
    )
  expect(shown(30, table)).toEqual([
    'level  critical',
    'id     1f0c9a7be2d45a63',
    'why    it is nearly full',
    'rule   overall',
    '',
    'level  warning',
    'id     2f0c9a7be2d45a63',
    'rule   overall',
  ])
})

test('sentences go on below instead of being cut, up to three lines', () => {
  const why = 'the provider answered that a scope is missing, and names some that would do: contacts, companies, deals'
  expect(
    shown(44, (io) =>
      printTable(
        io,
        [whole('HUB ID'), state('STATE'), prose('WHY')],
        [
          ['7', 'failing', why],
          ['8', 'ok', ''],
        ],
      ),
    ),
  ).toEqual([
    'HUB ID  STATE    WHY',
    '7       failing  the provider answered that',
    '                 a scope is missing, and',
    '                 names some that would do: …',
    '8       ok',
  ])
})

test.each([
  ['a terminal has colours', [], {}, true, true],
  ['a pipe has none', [], {}, false, false],
  ['a terminal that can show none has none', [], { TERM: 'dumb' }, true, false],
  ['NO_COLOR takes them away', [], { NO_COLOR: '1' }, true, false],
  ['an empty NO_COLOR says nothing', [], { NO_COLOR: '' }, true, true],
  ['FORCE_COLOR brings them into a pipe', [], { FORCE_COLOR: '1' }, false, true],
  ['FORCE_COLOR=0 takes them away', [], { FORCE_COLOR: '0' }, true, false],
  ['NO_COLOR wins over FORCE_COLOR', [], { NO_COLOR: '1', FORCE_COLOR: '1' }, true, false],
  ['--no-color wins over all of it', ['status', '--no-color'], { FORCE_COLOR: '1' }, true, false],
  ['--color wins over NO_COLOR', ['--color', 'status'], { NO_COLOR: '1' }, false, true],
  ['what stands after -- is no option', ['status', '--', '--no-color'], {}, true, true],
] as const)('%s', (_, args, env, isTerminal, wanted) => {
  expect(wantsColours(args, env, isTerminal)).toBe(wanted)
})
