/**
 * Labels, domains and names come from strangers' accounts. Before they are shown they are made one line of
 * bounded length first, without characters that hide or reorder the text around them.
 */
import { graphemes } from './graphemes.ts'

/** All format characters but the joiners that emoji and some scripts are written with. */
const INVISIBLE = /(?!\u200c|\u200d|[\u{e0020}-\u{e007f}])\p{Cf}/gu
const BREAKS_AND_CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}\s]+/gu
/** Accents can be stacked over all the lines around them; no script needs more of them on one letter. */
const STACKED = /([\p{M}\u200c\u200d]{5})[\p{M}\u200c\u200d]+/gu
const ELLIPSIS = '…'

export function cleanText(text: string, maxLength = 120): string {
  // Ten kilobytes are as hostile as one: read only what could be shown.
  const start = text.slice(0, 8 * maxLength).toWellFormed()
  const line = start.replace(INVISIBLE, '').replace(BREAKS_AND_CONTROLS, ' ').replace(STACKED, '$1').trim()
  return shorten(line, maxLength)
}

/** At most `maxLength` code points, cut where no emoji or accented letter is torn. */
export function shorten(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  const points = Array.from(text)
  if (points.length <= maxLength) return text
  let kept = ''
  let length = 0
  for (const segment of graphemes(points.slice(0, maxLength).join(''))) {
    length += Array.from(segment).length
    if (length >= maxLength) break
    kept += segment
  }
  return `${kept === '' ? points.slice(0, maxLength - 1).join('') : kept.trimEnd()}${ELLIPSIS}`
}
