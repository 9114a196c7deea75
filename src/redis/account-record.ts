import { ACCOUNT_STATES } from './keys.ts'

/** Stored data of an account is not what Plimsoll wrote. The next work on it puts that aside. */
export class UnreadableData extends Error {}

/** Numbers that work on an account computes with; all others are only shown. */
const NUMBERS = [
  'obtainedAt',
  'expiresAt',
  'refreshedAt',
  'retryAt',
  'failures',
  'rejectedAt',
  'interruptedAt',
  'parkedUntil',
  'uninstallAttempts',
  'purgeAt',
]

/** True for a record by which an account can be worked on; each such one passes `READABLE` in `token-store.ts`, too. */
export function isReadableRecord(record: Readonly<Record<string, string>>): boolean {
  const { state = '', version = '', obtainedAt, expiresAt } = record
  return (
    (ACCOUNT_STATES as readonly string[]).includes(state) &&
    /^\d{1,16}$/.test(version) &&
    obtainedAt !== undefined &&
    expiresAt !== undefined &&
    NUMBERS.every((name) => /^(\d{1,16}(\.\d+)?)?$/.test(record[name] ?? ''))
  )
}
