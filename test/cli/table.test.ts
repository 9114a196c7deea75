import { describe, expect, test } from 'vitest'
import type { Io } from '../../src/cli/io.ts'
import { printFacts, printTable } from '../../src/cli/table.ts'
import { HandClock } from '../support/hand-clock.ts'

const LONG = 'it was due earlier, but limits.callsPerHour had no room'

function printed(isTerminal: boolean, print: (io: Io) => void): string[] {
  let text = ''
  const out = (more: string) => {
    text += more
  }
  print({
    ...{ env: {}, cwd: '/', out, err: out, isTerminal, errIsTerminal: isTerminal, columns: 30 },
    ...{ stop: new AbortController().signal, onHangUp: () => {}, clock: new HandClock(), random: () => 0 },
  })
  return text.split('\n').slice(0, -1)
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
