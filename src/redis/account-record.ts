import { isMailbox } from '../runtime/mailbox.ts'
import { LAST_MOMENT } from '../runtime/moment.ts'
import { ACCOUNT_STATES } from './keys.ts'

/** Fields of an account's record are not what Plimsoll wrote. The message names them. */
export class UnreadableRecord extends Error {}

type Form = (text: string) => boolean

/** No number of a record is larger than a moment. */
const NUMBER: Form = (text) => /^-?\d{1,16}(\.\d+)?$/.test(text) && Math.abs(Number(text)) <= LAST_MOMENT
const moments = ['connectedAt', 'firstConnectedAt', 'obtainedAt', 'expiresAt', 'refreshedAt', 'retryAt'] as const
const ofRefreshes = ['failures', 'failureAt', 'failingSince', 'rejectedAt', 'parkedUntil', 'interruptedAt'] as const
const ofUninstalls = [
  'uninstallAskedAt',
  'uninstallAttempts',
  'uninstallFailureAt',
  'uninstalledAt',
  'purgeAt',
] as const
const others = ['tokenOf', 'tokenDriftMs', 'tokenServedAt'] as const
const numbers = [...moments, ...ofRefreshes, ...ofUninstalls, ...others]

/** Fields of an account's record that are no text. */
const FORMS: Readonly<Record<string, Form>> = {
  ...Object.fromEntries(numbers.map((name) => [name, NUMBER])),
  version: (text) => /^\d{1,16}$/.test(text) && NUMBER(text),
  state: (text) => (ACCOUNT_STATES as readonly string[]).includes(text),
  refreshing: (text) => /^\S+ \d{1,15} \d{1,15}$/.test(text),
  contact: isMailbox,
}

/** Names of the fields that are not what they should be. */
export function unreadableFields(record: Readonly<Record<string, string | undefined>>): string[] {
  const found: string[] = []
  for (const name in record) {
    const text = record[name]
    if (text !== undefined && FORMS[name]?.(text) === false) found.push(name)
  }
  return found
}
