const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const

type Unit = keyof typeof UNITS

/** The form of a written duration; also given to editors. */
export const DURATION_PATTERN = '^(\\d+(\\.\\d+)?)(ms|s|m|h|d|w)$'

const DURATION = new RegExp(DURATION_PATTERN)

/** `15m` in milliseconds; undefined for anything that is not a number with its unit. */
export function parseDuration(text: string): number | undefined {
  const [, amount, , unit] = DURATION.exec(text.trim()) ?? []
  if (amount === undefined || unit === undefined) return undefined
  const milliseconds = Math.round(Number(amount) * UNITS[unit as Unit])
  return Number.isSafeInteger(milliseconds) ? milliseconds : undefined
}

/** Milliseconds as they would be written in the file, in the largest unit that needs no fraction: `90d`, `1500ms`. */
export function formatDuration(milliseconds: number): string | number {
  if (milliseconds === 0) return 0
  const unit = (['d', 'h', 'm', 's'] as const).find((candidate) => milliseconds % UNITS[candidate] === 0) ?? 'ms'
  return `${milliseconds / UNITS[unit]}${unit}`
}
