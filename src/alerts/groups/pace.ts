import type { Alert } from '../alert.ts'

/** How soon a group closes once an alert has joined it. */
export type Pace = 'digest' | 'urgent' | 'normal'

/** What the group told lately. */
export interface ToldLately {
  /** The same matter was told at this level within the group's interval. */
  sameLevel: boolean
  /** How many alerts of the group's last message had made it hurry. */
  hurried: number
}

/** So many at once are one event: what follows them is told together, when the interval is over. */
const MASS = 20

/** Whether a message told of so many that hurried that what follows it need not. */
export function isMass(hurried: number): boolean {
  return hurried >= MASS
}

/** What just got worse is not held back by a message that the same group sent a minute ago. */
export function hurries({ status, reason, level }: Alert): boolean {
  return status === 'firing' && (reason === 'escalated' || (reason === 'entered' && level === 'critical'))
}

/**
 * What got worse hurries, unless it did so just now and is only flapping. What begins waits after a message that was full of
 * such: it is the same event. What escalates never does.
 */
export function paceOf(alert: Alert, isDigest: boolean, { sameLevel, hurried }: ToldLately): Pace {
  if (isDigest) return 'digest'
  const isSameEvent = alert.reason === 'entered' && isMass(hurried)
  return hurries(alert) && !sameLevel && !isSameEvent ? 'urgent' : 'normal'
}
