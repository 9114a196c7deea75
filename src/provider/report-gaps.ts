/** Of an account's last reports, what could not be read of them, by report: `custom properties`, or a pair (`from/to`). */
export type ReportGaps = Readonly<Record<string, readonly string[]>>

/** As the account's record keeps them; '' = none. */
export function encodeGaps(gaps: ReportGaps): string {
  return Object.keys(gaps).length === 0 ? '' : JSON.stringify(gaps)
}

export function decodeGaps(stored: string): ReportGaps {
  return stored === '' ? {} : (JSON.parse(stored) as ReportGaps)
}

/** One line for each, for people. */
export function gapLines(gaps: ReportGaps): string[] {
  return Object.entries(gaps).flatMap(([report, found]) => found.map((what) => `${report}: ${what}`))
}
