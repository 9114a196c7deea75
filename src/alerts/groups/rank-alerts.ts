import type { Alert } from '../alert.ts'

/** What must be seen first comes first: what fires, at the worse level, with fewer days left, fuller. */
export function byUrgency(a: Alert, b: Alert): number {
  return (
    Number(a.status === 'resolved') - Number(b.status === 'resolved') ||
    Number(a.level === 'warning') - Number(b.level === 'warning') ||
    daysOf(a) - daysOf(b) ||
    (b.percent ?? 0) - (a.percent ?? 0)
  )
}

/** No forecast is no hurry: further away than any that has one. */
function daysOf({ daysLeft }: Alert): number {
  return daysLeft ?? Number.MAX_SAFE_INTEGER
}
