import { cleanText } from '../text/clean-text.ts'
import { formatCount, formatPercent } from '../text/format-number.ts'
import type { Io } from './io.ts'

/** A column is its heading, or what else is to be known of it where a terminal is too narrow. */
export type Column = string | NarrowColumn

interface NarrowColumn {
  title: string
  /** Never cut: half an id or half a number helps nobody. */
  isWhole?: boolean
  /** Cut in the middle: what tells one from the others stands at the end. */
  isNamed?: boolean
  /** Left out where there is no room for all, the last ones first. */
  isSpare?: boolean
}

export function whole(title: string): Column {
  return { title, isWhole: true }
}

export function named(title: string): Column {
  return { title, isNamed: true }
}

export function spare(title: string): Column {
  return { title, isSpare: true }
}

/**
 * A table that fits the terminal: empty columns and spare ones are left out, then the widest give way. Cells may hold
 * strangers' words, so they are made one harmless line first.
 */
export function printTable(io: Io, columns: readonly Column[], rows: readonly (readonly string[])[]): void {
  const clean = rows.map((row) => row.map((cell) => cleanText(cell, 200)))
  const all = columns.map((column, n): Laid => {
    const known = typeof column === 'string' ? { title: column } : column
    const cells = [known.title, ...clean.map((row) => row[n] ?? '')]
    return { ...known, cells, width: Math.max(...cells.map(widthOf)) }
  })
  const shown = shrunk(chosen(all, roomOf(io)), roomOf(io))
  for (let line = 0; line <= clean.length; line++) {
    const cells = shown.map(({ cells: own, width, isNamed }) => padded(own[line] ?? '', width, isNamed))
    io.out(`${cells.join('  ').trimEnd()}\n`)
  }
}

/** A column with its cells, the heading first. */
interface Laid extends NarrowColumn {
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

/** What is known, a line each: long values go on below, so that nothing of them is lost. Made harmless as in a table. */
export function printFacts(io: Io, facts: readonly (readonly [name: string, value: string])[]): void {
  const indent = Math.max(...facts.map(([name]) => widthOf(name))) + 2
  for (const [name, value] of facts) {
    const [first = '', ...more] = wrapped(cleanText(value, LONGEST_FACT), roomOf(io) - indent)
    io.out(
      `${`${padded(name, indent)}${first}`.trimEnd()}\n${more.map((line) => `${' '.repeat(indent)}${line}\n`).join('')}`,
    )
  }
}

const LONGEST_FACT = 400

/** Broken between words; a word that is too long stays whole. */
function wrapped(text: string, room: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last === undefined || widthOf(last) + 1 + widthOf(word) > room) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}

/** Where no terminal sets a width: a reason that is cut off helps nobody who reads a mail. */
const WIDE = 300

function roomOf({ isTerminal, columns }: Io): number {
  return isTerminal ? columns : WIDE
}

/** A moment (ISO 8601, UTC) as a cell; empty for none. */
export function timeCell(at: string | null): string {
  return at?.slice(0, 19).replace('T', ' ') ?? ''
}

const NARROWEST = 8
/** A column that would be cut below this takes the place of a spare one. */
const READABLE = 10

function padded(cell: string, width: number, isNamed = false): string {
  const points = Array.from(cell)
  if (points.length <= width) return cell + ' '.repeat(width - points.length)
  const head = isNamed ? Math.floor((width - 1) / 3) : width - 1
  const tail = points.slice(points.length - (width - 1 - head))
  return `${points.slice(0, head).join('')}…${isNamed ? tail.join('') : ''}`
}

function widthOf(cell: string | undefined): number {
  return Array.from(cell ?? '').length
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
