/** Reports that an account does not have, and until when they are not asked for, ms: `pipelines:1763719200000`, one after the other. */
export function encodeNotAvailable(notAvailable: Readonly<Record<string, number>>): string {
  return Object.entries(notAvailable)
    .map(([name, until]) => `${name}:${Math.round(until)}`)
    .join(' ')
}

/** Of nearly all accounts. */
export const ALL_AVAILABLE: Record<string, number> = {}

/** What is none is left out: the report is asked for then. */
export function decodeNotAvailable(stored: string): Record<string, number> {
  if (stored === '') return ALL_AVAILABLE
  const each = stored.split(' ').map((one) => /^(\w{1,40}):(\d{1,16})$/.exec(one))
  return Object.fromEntries(each.flatMap((one) => (one === null ? [] : [[one[1] ?? '', Number(one[2])]])))
}
