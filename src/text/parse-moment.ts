const ISO = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?$/
/** The range that a date can have. */
const LATEST = 8.64e15

/** ISO 8601, or milliseconds since 1970; undefined for anything else. */
export function parseMoment(text: string): number | undefined {
  if (/^\d{1,16}$/.test(text)) return Number(text) <= LATEST ? Number(text) : undefined
  if (!ISO.test(text)) return undefined
  const utc = text.includes('T') && !/(Z|[+-]\d\d:\d\d)$/.test(text) ? `${text}Z` : text
  const at = Date.parse(utc)
  return Number.isNaN(at) ? undefined : at
}
