import type { Account, Uninstall, UninstallBy } from '../accounts/account.ts'
import { alertTitle } from '../alerts/alert-title.ts'
import type { OpenAlert } from '../alerts/open-alerts.ts'
import { asHubSpot } from '../alerts/unread-text.ts'
import { defined } from '../runtime/defined.ts'
import { countOf } from '../text/format-number.ts'
import { formatMoment, iso } from '../text/format-time.ts'
import type { StoryEventShape } from './shapes/account.ts'

/** An account with when its uninstall is due next. */
type TimedAccount = Account & { nextUninstallAt: number | null }

/** An account's life in order of time, by its record and its open alerts. */
export function accountStory(account: TimedAccount, alerts: readonly OpenAlert[]): StoryEventShape[] {
  const events = [
    ...connections(account),
    ...refreshes(account),
    // The level at the time may have been another one.
    ...alerts.map((alert) => one(Date.parse(alert.since), 'alert opened', `${alertTitle(alert)}, now ${alert.level}`)),
    ...(account.uninstall === null ? [] : departure(account, account.uninstall)),
  ]
  const known = events.filter((event) => event !== undefined)
  return known.toSorted((a, b) => a.at.localeCompare(b.at))
}

/** Nothing where the moment is not known: it never was, or the record is of a time before it was noted. */
function one(at: number | null, event: string, detail?: string) {
  const moment = iso(at)
  return moment === null ? undefined : { at: moment, event, ...defined({ detail }) }
}

function connections({ connectedAt, firstConnectedAt }: Account) {
  if (firstConnectedAt === connectedAt) return [one(connectedAt, 'connected')]
  return [one(firstConnectedAt, 'connected'), one(connectedAt, 'reconnected')]
}

function refreshes({ token, connectedAt, refreshFailure, refusedSince }: Account) {
  // Connecting brought tokens too: only what came after that is a refresh.
  const refreshedAt = token.refreshedAt !== null && token.refreshedAt > connectedAt ? token.refreshedAt : null
  return [
    one(refreshedAt, 'last refresh'),
    refreshFailure === null
      ? undefined
      : one(refreshFailure.since, 'refreshes started to fail', failing(refreshFailure)),
    one(refusedSince, 'refresh token refused'),
  ]
}

function failing({ reason, count, at }: NonNullable<Account['refreshFailure']>): string {
  return `${asHubSpot(reason)} (${countOf(count, 'failure')} in a row, the last ${formatMoment(at)})`
}

const ASKED_BY: Record<UninstallBy, string> = { cli: 'command line', api: 'API', evidence: 'evidence' }

/** The provider's answer to the deletion. */
export const ENDING = { deleted: 'HubSpot confirmed it', 'was-gone': 'HubSpot no longer knew it' }

function departure({ state, nextUninstallAt }: TimedAccount, uninstall: Uninstall) {
  const { askedAt, reason, by, attempts, failure, failureAt, at, ending, purgeAt } = uninstall
  const failures = countOf(at === null ? attempts : attempts - 1, 'failed attempt')
  const next = state === 'uninstalling' && nextUninstallAt !== null ? `, the next ${formatMoment(nextUninstallAt)}` : ''
  return [
    one(askedAt, 'uninstall requested', `${reason} (by ${ASKED_BY[by]})`),
    failure === null ? undefined : one(failureAt, 'deletion failed', `${failure} (${failures}${next})`),
    ending === null ? undefined : one(at, 'refresh token deleted', ENDING[ending]),
    one(purgeAt, 'record deleted', 'planned'),
  ]
}
