import { cleanText } from './clean-text.ts'

/**
 * One line of CSV. Cells may hold text from outside: none breaks the line, none is a formula where a sheet opens it.
 */
export function csvLine(cells: readonly (string | number | null)[]): string {
  return `${cells.map((cell) => (typeof cell === 'string' ? quoted(harmless(cell)) : String(cell ?? ''))).join(',')}\n`
}

/**
 * A sheet takes for a formula what begins with one of these, also in their wide form, and in some countries it begins
 * another cell at a semicolon. Apostrophes of its own get one more, so that the one of ours can be taken away again.
 */
const FORMULA = /(^|;)([\s"]*)(?='*[=+\-@＝＋－＠])/gu
const HARMLESS = /(^|;)([\s"]*)'(?='*[=+\-@＝＋－＠])/gu

/** A cell as it was before it was made harmless. */
export function cellAsWritten(cell: string): string {
  return cell.replace(HARMLESS, '$1$2')
}

function harmless(cell: string): string {
  return cleanText(cell, 500).replace(FORMULA, "$1$2'")
}

function quoted(text: string): string {
  return /[",;]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
