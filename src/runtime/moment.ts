/** The latest moment that is a date, ms since 1970; the earliest lies as far before. */
export const LAST_MOMENT = 8.64e15

/** Whether it can be a moment, ms: what is beyond takes down whatever shows it as a date. */
export function isMoment(value: unknown): value is number {
  return Number.isInteger(value) && Math.abs(value as number) <= LAST_MOMENT
}
