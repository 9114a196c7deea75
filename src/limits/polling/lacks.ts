/** Reports that an account does not have, and until when they are not asked for, ms: `pipelines:1763719200000`, one after the other. */
export function encodeLacks(lacks: Readonly<Record<string, number>>): string {
  return Object.entries(lacks)
    .map(([name, until]) => `${name}:${Math.round(until)}`)
    .join(' ')
}

/** Of nearly all accounts. */
export const LACKS_NONE: Record<string, number> = {}

/** What is none is left out: the report is asked for then. */
export function decodeLacks(stored: string): Record<string, number> {
  if (stored === '') return LACKS_NONE
  const each = stored.split(' ').map((one) => /^(\w{1,40}):(\d{1,16})$/.exec(one))
  return Object.fromEntries(each.flatMap((one) => (one === null ? [] : [[one[1] ?? '', Number(one[2])]])))
}
