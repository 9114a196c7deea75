import type { Alert } from './alert.ts'

/**
 * What must be seen first comes first: what fires, at the worse level, about all accounts, full sooner, fuller. The one
 * ranking: what a message is cut at, what a mail shows and what a digest lists agree.
 */
export function byUrgency(a: Alert, b: Alert): number {
  return (
    Number(a.status === 'resolved') - Number(b.status === 'resolved') ||
    Number(a.level === 'warning') - Number(b.level === 'warning') ||
    Number(a.account !== undefined) - Number(b.account !== undefined) ||
    daysUntilFull(a) - daysUntilFull(b) ||
    (b.percent ?? -1) - (a.percent ?? -1) ||
    (b.usage ?? -1) - (a.usage ?? -1)
  )
}

/** What is about no number, such as a lost token, is not going to happen some day: it has happened. No forecast is no hurry. */
function daysUntilFull({ series, percent, daysLeft }: Alert): number {
  const isFull = series === undefined || series.metric === 'associations.atLimit' || (percent ?? 0) >= 100
  return isFull ? 0 : (daysLeft ?? Number.MAX_SAFE_INTEGER)
}
