import { cleanText } from '../text/clean-text.ts'
import { cutToWidth, displayWidth } from '../text/display-width.ts'
import { formatCount, formatPercent } from '../text/format-number.ts'
import { formatMoment } from '../text/format-time.ts'
import { coloured } from './colours.ts'
import { type Fact, printFacts } from './facts.ts'
import type { Io } from './io.ts'
import { roomOf } from './say.ts'

/** A column is its heading, or what else is to be known of it where a terminal is too narrow. */
export type Column = string | KnownColumn

interface KnownColumn {
  title: string
  /** Never cut: half an id or half a number helps nobody. */
  isWhole?: boolean
  /** Cut in the middle: what tells one from the others stands at the end. */
  isNamed?: boolean
  /** Left out where there is no room for all, the last ones first. */
  isSpare?: boolean
  /** Stands at the right, so that digits of one worth stand below each other. */
  isNumber?: boolean
  /** A level or a state, shown in its colour. */
  isColoured?: boolean
}

function known(column: Column): KnownColumn {
  return typeof column === 'string' ? { title: column } : column
}

export function whole(column: Column): Column {
  return { ...known(column), isWhole: true }
}

export function named(title: string): Column {
  return { title, isNamed: true }
}

export function spare(column: Column): Column {
  return { ...known(column), isSpare: true }
}

export function number(title: string): Column {
  return { title, isNumber: true, isWhole: true }
}

export function state(title: string): Column {
  return { title, isColoured: true, isWhole: true }
}

/**
 * A table that fits the terminal: empty columns and spare ones are left out, then the widest give way; where that is not
 * enough, each row is a list of facts. Cells may hold strangers' words, so they are made one harmless line first.
 */
export function printTable(io: Io, columns: readonly Column[], rows: readonly (readonly string[])[]): void {
  const clean = rows.map((row) => row.map((cell) => cleanText(cell, LONGEST_CELL)))
  const all = columns.map((column, n): Laid => {
    const { title, ...rest } = known(column)
    const cells = [title, ...clean.map((row) => row[n] ?? '')]
    return { title, ...rest, cells, width: cells.reduce((most, cell) => Math.max(most, displayWidth(cell)), 0) }
  })
  const room = roomOf(io)
  const shown = shrunk(chosen(all, room), room)
  if (!fits(shown, ({ width }) => width, room)) {
    printRecords(io, all, rows.length)
    return
  }
  for (let line = 0; line <= clean.length; line++) {
    io.out(
      `${shown
        .map((column) => cellOf(io, column, line))
        .join('  ')
        .trimEnd()}\n`,
    )
  }
}

const LONGEST_CELL = 200

/** A column with its cells, the heading first. */
interface Laid extends KnownColumn {
  cells: string[]
  width: number
}

function chosen(all: readonly Laid[], room: number): Laid[] {
  if (fits(all, ({ width }) => width, room)) return [...all]
  const some = all.filter(({ cells }) => cells.length === 1 || cells.slice(1).some((cell) => cell !== ''))
  for (;;) {
    const last = some.findLastIndex(({ isSpare }) => isSpare)
    if (last === -1 || fits(some, ({ width, isWhole }) => (isWhole ? width : Math.min(width, READABLE)), room))
      return some
    some.splice(last, 1)
  }
}

function shrunk(shown: readonly Laid[], room: number): Laid[] {
  const columns = shown.map((column) => ({ ...column }))
  while (!fits(columns, ({ width }) => width, room)) {
    const cuttable = columns.filter(({ isWhole, width }) => !isWhole && width > NARROWEST)
    const widest = cuttable.toSorted((a, b) => b.width - a.width)[0]
    if (widest === undefined) break
    widest.width--
  }
  return columns
}

function fits(columns: readonly Laid[], widthIn: (column: Laid) => number, room: number): boolean {
  return columns.reduce((sum, column) => sum + widthIn(column), 2 * (columns.length - 1)) <= room
}

const NARROWEST = 8
/** A column that would be cut below this takes the place of a spare one. */
const READABLE = 10

function cellOf(io: Io, { cells, width, isNamed, isNumber, isColoured }: Laid, line: number): string {
  const cell = cells[line] ?? ''
  const cut = cutToWidth(cell, width, isNamed ? 'middle' : 'end')
  const shown = isColoured && line > 0 ? coloured(io, cell, cut) : cut
  const gap = ' '.repeat(Math.max(0, width - displayWidth(cut)))
  return isNumber ? gap + shown : shown + gap
}

/** One row below the other, all that is known of each: nothing is left out or cut. */
function printRecords(io: Io, columns: readonly Laid[], count: number): void {
  for (let line = 1; line <= count; line++) {
    if (line > 1) io.out('\n')
    const facts = columns.map(({ title, cells }): Fact => [title.toLowerCase(), cells[line] ?? ''])
    printFacts(
      io,
      facts.filter(([, value]) => value !== ''),
    )
  }
}

/** A moment (ISO 8601) as a cell, as pages and mails show it; empty for none. */
export function timeCell(at: string | null): string {
  return at === null ? '' : momentCell(Date.parse(at))
}

/** The same of a moment in ms. */
export function momentCell(at: number | null): string {
  return at === null ? '' : formatMoment(at)
}

/** The columns HUB ID and DOMAIN of an alert. */
export function accountCells({ hubId, hubDomain = '' }: { hubId: number | null; hubDomain?: string }): string[] {
  return hubId === null ? ['', 'the whole fleet'] : [String(hubId), hubDomain]
}

/** The column HOW FULL: the share of the limit, or a number where there is none. */
export function howFull({ percent, usage }: { percent?: number; usage?: number }): string {
  if (percent !== undefined) return formatPercent(percent)
  return usage === undefined ? '' : formatCount(usage)
}
