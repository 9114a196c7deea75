/** The latest moment that is a date, ms since 1970; the earliest lies as far before. */
export const LAST_MOMENT = 8.64e15

/** True for a number that can be a moment, ms: one beyond can't be shown as a date. */
export function isMoment(value: unknown): value is number {
  return Number.isInteger(value) && Math.abs(value as number) <= LAST_MOMENT
}
