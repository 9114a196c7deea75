import { cleanText } from '../text/clean-text.ts'
import type { Io } from './io.ts'

/**
 * A table that fits the terminal: the widest columns give way. Cells may hold strangers' words, so they are made one
 * harmless line first.
 */
export function printTable(io: Io, headings: readonly string[], rows: readonly (readonly string[])[]): void {
  const lines = [headings, ...rows.map((row) => row.map((cell) => cleanText(cell, 200)))]
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => widthOf(line[column]))))
  shrink(widths, roomOf(io) - 2 * (headings.length - 1))
  for (const line of lines) {
    const cells = widths.map((width, column) => padded(line[column] ?? '', width))
    io.out(`${cells.join('  ').trimEnd()}\n`)
  }
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

const NARROWEST = 8

function shrink(widths: number[], room: number): void {
  for (;;) {
    const widest = Math.max(...widths)
    if (widths.reduce((sum, width) => sum + width, 0) <= room || widest <= NARROWEST) return
    widths[widths.indexOf(widest)] = widest - 1
  }
}

function padded(cell: string, width: number): string {
  const points = Array.from(cell)
  return points.length > width ? `${points.slice(0, width - 1).join('')}…` : cell + ' '.repeat(width - points.length)
}

function widthOf(cell: string | undefined): number {
  return Array.from(cell ?? '').length
}

/** The columns HUB ID and DOMAIN of an alert. */
export function accountCells({ hubId, hubDomain = '' }: { hubId: number | null; hubDomain?: string }): string[] {
  return hubId === null ? ['', 'the whole fleet'] : [String(hubId), hubDomain]
}
