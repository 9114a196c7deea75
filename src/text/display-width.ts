import { graphemes } from './graphemes.ts'

/** How many columns of a terminal text takes: Chinese, Japanese, Korean and emoji take two each, accents none. */

const PRINTABLE_ASCII = /^[\x20-\x7e]*$/
const ZERO = /^[\p{Mn}\p{Me}\p{Cf}\p{Cc}\u1160-\u11ff\ud7b0-\ud7fb]$/u
/** East Asian Width W and F, in blocks; what is not assigned in them counts as its neighbours do. */
const WIDE =
  /^[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1aff0}-\u{1b2ff}\u{1d300}-\u{1d376}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]$/u
/** Shown as a picture by itself, or because a selector or a keycap asks for it. */
const EMOJI = /^(?:\p{Emoji_Presentation}|\p{Emoji}\ufe0f|[0-9#*]\u20e3)/u

export function displayWidth(text: string): number {
  if (PRINTABLE_ASCII.test(text)) return text.length
  let width = 0
  for (const segment of graphemes(text)) width += graphemeWidth(segment)
  return width
}

function graphemeWidth(grapheme: string): number {
  if (EMOJI.test(grapheme)) return 2
  let width = 0
  for (const point of grapheme) width += ZERO.test(point) ? 0 : WIDE.test(point) ? 2 : 1
  return width
}

/** The beginning, as far as there is room; no letter or emoji is torn. */
export function headWithin(text: string, room: number): string {
  if (displayWidth(text) <= room) return text
  let head = ''
  let width = 0
  for (const segment of graphemes(text)) {
    width += graphemeWidth(segment)
    if (width > room) break
    head += segment
  }
  return head
}

const ELLIPSIS = '…'

/** Cut at the end. */
export function cutToWidth(text: string, room: number): string {
  if (displayWidth(text) <= room) return text
  if (room < 1) return ''
  return `${headWithin(text, room - 1)}${ELLIPSIS}`
}

/** Broken between words; a word that has no room on a line of its own is broken too. */
export function wrapToWidth(text: string, room: number): string[] {
  const width = Math.max(2, room)
  const lines: string[] = []
  let line: string | undefined
  for (const word of text.split(' ')) {
    if (line !== undefined && displayWidth(line) + 1 + displayWidth(word) <= width) {
      line = `${line} ${word}`
      continue
    }
    if (line !== undefined) lines.push(line)
    line = word
    while (displayWidth(line) > width) {
      const head = headWithin(line, width)
      lines.push(head)
      line = line.slice(head.length)
    }
  }
  return [...lines, line ?? '']
}
