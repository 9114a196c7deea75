import { cleanText } from '../text/clean-text.ts'
import type { Io } from './io.ts'

/**
 * A table that fits the terminal: the widest columns give way. Cells may hold strangers' words, so they are made one
 * harmless line first. Without headings it is a list of facts.
 */
export function printTable(io: Io, headings: readonly string[], rows: readonly (readonly string[])[]): void {
  const lines = [headings, ...rows.map((row) => row.map((cell) => cleanText(cell, 200)))]
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => widthOf(line[column]))))
  shrink(widths, io.columns - 2 * (headings.length - 1))
  const hasHeadings = headings.some((heading) => heading !== '')
  for (const line of hasHeadings ? lines : lines.slice(1)) {
    const cells = widths.map((width, column) => padded(line[column] ?? '', width))
    io.out(`${cells.join('  ').trimEnd()}\n`)
  }
}

/** A moment (ISO 8601, UTC) as a cell; empty for none. */
export function timeCell(at: string | null): string {
  return at?.slice(0, 19).replace('T', ' ') ?? ''
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
