import type { LoggedAttempt } from '../delivery/deliveries.ts'
import { iso } from '../text/format-time.ts'
import type { AttemptShape } from './shapes/delivery.ts'

/** An attempt as pages and programs are told of it: times in ISO 8601. */
export type TimedAttempt = AttemptShape

export function timedAttempt(attempt: LoggedAttempt): TimedAttempt {
  return { ...attempt, at: iso(attempt.at), nextAt: iso(attempt.nextAt) }
}
