import { isoOf, parseLocalTime } from '../../../text/format-time.ts'

/** A time as texts have it, outside of tags and of what may contain no element. */
const SHOWN =
  /(\d{4}-\d\d-\d\d) (\d\d:\d\d(?::\d\d)?) [A-Z]{2,5}(?:[+-]\d{1,2}(?::\d\d)?)?(?=[^<>]*<)(?![^<>]*<\/(?:time|text|title|option|textarea))/g

/** Marks each time of a page, so that a script can show it in the reader's zone. */
export function markTimes(page: string): string {
  return page.replace(SHOWN, (shown, date: string, time: string) => {
    const at = parseLocalTime(`${date}T${time}`)
    return at === undefined ? shown : `<time datetime="${isoOf(at)}">${shown}</time>`
  })
}
