import type { Alert } from '../alert.ts'
import type { GroupBy, GroupSettings } from '../deps.ts'
import type { OutboxEntry } from '../outbox.ts'

/** The group of what new accounts' first readings show. */
export const DIGEST = 'digest'

/** Everything of one group is one message for a receiver. */
function ownGroup({ alert, firstReading }: OutboxEntry, by: readonly GroupBy[]): string {
  return firstReading === true ? DIGEST : by.map((field) => `${field}=${fieldOf(alert, field)}`).join('|')
}

/** A message to an account's contact is about that account alone: it is in no mass, however others are grouped. */
export function groupingFor({ by, contacts = [] }: GroupSettings, receiver: string): readonly GroupBy[] {
  return contacts.includes(receiver) ? ['kind', 'account'] : by
}

/**
 * Grouping by account makes one message for each account: a trouble that many share would be a storm. Other groupings
 * are kept as configured.
 */
function gathersMasses(by: readonly GroupBy[]): boolean {
  return by.length === 1 && by[0] === 'account'
}

/** The group of an alert, and the one of all of its rule where many accounts have the same trouble at once ('': never). */
export function homesOf(entry: OutboxEntry, by: readonly GroupBy[]): [own: string, mass: string] {
  const { alert, firstReading } = entry
  const hasMass = gathersMasses(by) && alert.account !== undefined && firstReading !== true
  return [ownGroup(entry, by), hasMass ? `rule=${alert.rule}` : '']
}

function fieldOf(alert: Alert, field: GroupBy): string {
  switch (field) {
    case 'rule':
      return alert.rule
    case 'account':
      return String(alert.account?.hubId ?? '')
    case 'level':
      return alert.level
    case 'kind':
      return alert.kind
  }
}
