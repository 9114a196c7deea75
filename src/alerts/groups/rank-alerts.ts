import type { Alert } from '../alert.ts'

/** What must be seen first comes first: what fires, at the worse level, about all accounts, full sooner, fuller. */
export function byUrgency(a: Alert, b: Alert): number {
  return (
    Number(a.status === 'resolved') - Number(b.status === 'resolved') ||
    Number(a.level === 'warning') - Number(b.level === 'warning') ||
    Number(a.account !== undefined) - Number(b.account !== undefined) ||
    daysUntilFull(a) - daysUntilFull(b) ||
    (b.percent ?? 0) - (a.percent ?? 0)
  )
}

/** What is about no number is not going to happen some day: it has happened. No forecast is no hurry. */
function daysUntilFull({ series, percent, daysLeft }: Alert): number {
  return series === undefined || (percent ?? 0) >= 100 ? 0 : (daysLeft ?? Number.MAX_SAFE_INTEGER)
}
