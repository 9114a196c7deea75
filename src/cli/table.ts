import { cleanText } from '../text/clean-text.ts'
import { type Column, type KnownColumn, known } from '../text/columns.ts'
import { cutToWidth, displayWidth, wrapToWidth } from '../text/display-width.ts'
import { type Cell, textOfCell } from '../text/shown.ts'
import type { Io } from './io.ts'
import { coloured } from './output.ts'
import { printFacts, roomOf } from './say.ts'

/**
 * A table that fits the terminal: empty columns and spare ones are left out, then the widest give way, sentences by going on below; where that is not
 * enough, each row is a list of facts. Cells may hold strangers' words, so they are made one harmless line first.
 */
export function printTable(io: Io, columns: readonly Column[], rows: readonly (readonly Cell[])[]): void {
  const clean = rows.map((row) => row.map((cell) => cleanText(textOfCell(cell), LONGEST_CELL)))
  const all = columns.map((column, n): Laid => {
    const { title, ...rest } = known(column)
    const cells = [title, ...clean.map((row) => row[n] ?? '')]
    return { title, ...rest, cells, width: cells.reduce((most, cell) => Math.max(most, displayWidth(cell)), 0) }
  })
  const room = roomOf(io)
  const apart = fits(all, widthOf, room) ? undefined : all.find(({ isBelow }) => isBelow)
  const beside = all.filter((column) => column !== apart)
  const shown = shrunk(chosen(beside, room, apart === undefined ? leastWidth : widthOf), room)
  if (!fits(shown, widthOf, room)) {
    printRecords(io, all, rows.length)
    return
  }
  for (let row = 0; row <= clean.length; row++) {
    for (const line of linesOf(io, shown, row)) io.out(`${line}\n`)
    const sentences = row === 0 ? '' : (apart?.cells[row] ?? '')
    if (sentences !== '') for (const line of wrapToWidth(sentences, room - 2)) io.out(`  ${line}\n`)
  }
}

const LONGEST_CELL = 200

/** A column with its cells, the heading first. */
interface Laid extends KnownColumn {
  cells: string[]
  width: number
}

/** `least`: the least width of each column. */
function chosen(all: readonly Laid[], room: number, least: (column: Laid) => number): Laid[] {
  if (fits(all, widthOf, room)) return [...all]
  const some = all.filter(({ cells }) => cells.length === 1 || cells.slice(1).some((cell) => cell !== ''))
  for (;;) {
    const last = some.findLastIndex(({ isSpare }) => isSpare)
    if (last === -1 || fits(some, least, room)) return some
    some.splice(last, 1)
  }
}

function shrunk(shown: readonly Laid[], room: number): Laid[] {
  const columns = shown.map((column) => ({ ...column }))
  while (!fits(columns, widthOf, room)) {
    const cuttable = columns.filter(({ isWhole, isProse, width }) => !isWhole && width > (isProse ? PROSE : NARROWEST))
    const spacious = cuttable.toSorted((a, b) => toSpare(b) - toSpare(a))[0]
    if (spacious === undefined) break
    spacious.width--
  }
  return columns
}

function fits(columns: readonly Laid[], widthIn: (column: Laid) => number, room: number): boolean {
  return columns.reduce((sum, column) => sum + widthIn(column), 2 * (columns.length - 1)) <= room
}

function widthOf({ width }: Laid): number {
  return width
}

/** The least width of a column, before a spare one must make room for it. */
function leastWidth({ width, isWhole, isNamed, isProse }: Laid): number {
  return isWhole ? width : Math.min(width, isProse ? PROSE : isNamed ? NAME : READABLE)
}

/** Names and sentences give way later than columns with a word each. */
function toSpare({ width, isNamed, isProse }: Laid): number {
  return width - (isNamed || isProse ? PROSE : READABLE)
}

const NARROWEST = 8
const READABLE = 10
const NAME = 16
const PROSE = 24
/** More lines of prose than these belong to a command that shows one thing in full. */
const MOST_LINES = 3

function linesOf(io: Io, columns: readonly Laid[], row: number): string[] {
  const cells = columns.map((column) => cellOf(io, column, row))
  const height = Math.max(...cells.map(({ length }) => length))
  const line = (n: number) => columns.map(({ width }, at) => cells[at]?.[n] ?? ' '.repeat(width))
  return Array.from({ length: height }, (_, n) => line(n).join('  ').trimEnd())
}

function cellOf(io: Io, { cells, width, isNamed, isNumber, isColoured, isProse }: Laid, row: number): string[] {
  const cell = cells[row] ?? ''
  const lines = isProse || isNamed ? proseLines(cell, width) : [cutToWidth(cell, width)]
  return lines.map((line) => {
    const shown = isColoured && row > 0 ? coloured(io, cell, line) : line
    const gap = ' '.repeat(Math.max(0, width - displayWidth(line)))
    return isNumber ? gap + shown : shown + gap
  })
}

function proseLines(cell: string, width: number): string[] {
  if (displayWidth(cell) <= width) return [cell]
  const lines = wrapToWidth(cell, width)
  if (lines.length <= MOST_LINES) return lines
  return [...lines.slice(0, MOST_LINES - 1), cutToWidth(lines.slice(MOST_LINES - 1).join(' '), width)]
}

/** One row below the other, all that is known of each: nothing is left out or cut. */
function printRecords(io: Io, columns: readonly Laid[], count: number): void {
  for (let line = 1; line <= count; line++) {
    if (line > 1) io.out('\n')
    printFacts(
      io,
      columns.map(({ title, cells }) => [title.toLowerCase(), cells[line] ?? '']),
    )
  }
}
