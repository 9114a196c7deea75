import { describe, expect, test } from 'vitest'
import type { Io } from '../../src/cli/io.ts'
import { printFacts } from '../../src/cli/say.ts'
import { named, printTable, spare, whole } from '../../src/cli/table.ts'
import { anIo } from '../support/an-io.ts'

const LONG = 'it was due earlier, but limits.callsPerHour had no room'

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
      '         limits.callsPerHour',
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

test('an id is never cut, a name is cut in the middle, and what is empty or spare is left out first', () => {
  const columns = [whole('ID'), named('WHAT'), 'SILENCED', spare('LIMIT'), spare('RULE')]
  const rows = [
    ['e7d740100b21339e', 'custom properties of Deals', '', '1,000', 'a rule with a name'],
    ['357f34acc386dd72', 'custom properties of Tasks', '', '1,000', 'a rule with a name'],
  ]
  expect(printed(true, (io) => printTable(io, columns, rows))).toEqual([
    'ID                WHAT',
    'e7d740100b21339e  cus…of Deals',
    '357f34acc386dd72  cus…of Tasks',
  ])
  expect(printed(false, (io) => printTable(io, columns, rows))[1]).toMatch(
    /^e7d7\S+ +custom properties of Deals +1,000 /,
  )
})
