import { parseSeriesId } from '../../limits/series.ts'
import type { AlertWrites } from '../../redis/steps.ts'
import type { Alert } from '../alert.ts'
import { decodeState, kindOf, toldState, transitionId } from '../alert-state.ts'
import { encodeEntry, entryOf } from '../outbox/outbox-entry.ts'

/** Closes whatever is open for an account that is being uninstalled: not recovered, but nobody's business any more. */
export function closeAlerts(
  pageOf: (hubId: number) => string,
  account: { hubId: number; hubDomain: string },
  states: Record<string, string>,
  now: number,
): AlertWrites {
  const writes: AlertWrites = { changes: [], entries: [] }
  for (const [field, stored] of Object.entries(states)) {
    writes.changes.push([field, stored, ''])
    const before = decodeState(stored)
    if (before.level === 'ok') continue
    const state = toldState(before, now)
    const series = parseSeriesId(field)
    const alert: Alert = {
      id: transitionId(account.hubId, field, state),
      kind: kindOf(field),
      status: 'resolved',
      level: before.level,
      reason: 'uninstalled',
      rule: before.rule,
      ...(before.cause === undefined ? {} : { cause: before.cause }),
      account,
      ...(series === undefined ? {} : { series }),
      ...(before.said === null ? {} : { usage: before.said.usage }),
      measuredAt: new Date(now).toISOString(),
      since: new Date(before.since).toISOString(),
      message: 'The app was uninstalled from this account.',
      url: pageOf(account.hubId),
    }
    writes.entries.push(encodeEntry(entryOf(alert, before)))
  }
  return writes
}
