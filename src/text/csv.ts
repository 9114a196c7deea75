import { cleanText } from './clean-text.ts'

/** One line of CSV. Cells may hold strangers' words: none breaks the line, none is a formula where a sheet opens it. */
export function csvLine(cells: readonly (string | number | null)[]): string {
  return `${cells.map((cell) => (typeof cell === 'string' ? quoted(harmless(cell)) : String(cell ?? ''))).join(',')}\n`
}

function harmless(cell: string): string {
  const text = cleanText(cell, 500)
  return /^[=+\-@]/.test(text) ? `'${text}` : text
}

function quoted(text: string): string {
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
