import type { GrantedAccount, ScopesAnnouncer } from '../../accounts/connect-account.ts'
import type { LastRefresh } from '../../limits/poll.ts'
import { failingAfter, type PollOutcome, type PollRecord, type Refused } from '../../limits/polling/poll-outcome.ts'
import { type AlertWrites, NO_ALERT_WRITES } from '../../redis/steps.ts'
import { countOf, formatCount } from '../../text/format-number.ts'
import type { PollCause } from '../alert.ts'
import { POLL_FIELD } from '../alert-state.ts'
import { CHECK_REQUEST, IF_IT_LASTS, linkCommand } from '../alert-title.ts'
import { asHubSpot, unreadText } from '../unread-text.ts'
import { closeAlert, isDueAgain, type NotifiedSubject, notifyAlert, openState } from './notified-alert.ts'

export interface GrantAlertSettings {
  /** Scopes that the app asks for. */
  scopes: readonly string[]
  pageOf: (hubId: number) => string
}

export interface PollAlertSettings extends GrantAlertSettings {
  /** True where the scopes that the app asks for let limits be read. */
  opensLimits: boolean
  /** How often it repeats, ms. */
  repeatEveryMs: number
}

/** An account that was just polled. */
export interface AttemptedAccount extends PollRecord {
  hubId: number
  hubDomain: string
  outcome: PollOutcome
  /** State of the account's poll alert as stored, '' = none. */
  pollAlert: string
  /** Polls of the account have failed for so long with this one that an alert opens. */
  failsForLong: boolean
  /** Read where they fail for long. */
  refreshes?: LastRefresh
  /** So many accounts fail that the fleet's alert speaks for them. */
  isFleetTrouble: boolean
  now: number
}

/** Changes of the account's poll alert by a poll. */
export type PollAnnouncer = (account: AttemptedAccount) => AlertWrites

type Subject = Pick<AttemptedAccount, 'hubId' | 'hubDomain' | 'pollAlert' | 'now'>

/**
 * The alert about an account whose scopes don't let its limits be read, as its metadata shows when it is connected. It is
 * the poll's own alert: a new connection with better scopes resolves it at once, and it opens anew if the next
 * poll is refused all the same. What else keeps polls from working is for polls to find.
 */
export function grantAnnouncer(settings: GrantAlertSettings): ScopesAnnouncer {
  return (account) => {
    const { opensLimits } = account
    const subject = about(settings, account)
    const before = openState(subject)
    if (before === undefined && !opensLimits) {
      return notifyAlert(subject, { level: 'warning', cause: 'scopes', message: describeGrant(settings, account) })
    }
    if (!opensLimits || before?.cause !== 'scopes') return NO_ALERT_WRITES
    return closeAlert(subject, 'The missing permission was granted. Limits are read with the next poll.')
  }
}

/**
 * An account has one poll alert, with one cause at a time: polls that fail for long, or else scopes that don't let
 * everything be read. It is closed by the first poll that reads everything that is there.
 */
export function pollAnnouncer(settings: PollAlertSettings): PollAnnouncer {
  return (account) => {
    const { outcome, failsForLong, isFleetTrouble, now } = account
    const subject = about(settings, account)
    const before = openState(subject)
    if (failsForLong) {
      const { cause, message } = describeFailing(account)
      // A cause that only a new connection fixes is news among polls that fail; any other change of the reason is not.
      const isKnown = before !== undefined && (before.cause === cause || before.cause === 'unauthorized')
      const isNews = !isKnown || isDueAgain(before, now, settings.repeatEveryMs)
      return isNews && !isFleetTrouble ? notifyAlert(subject, { level: 'warning', cause, message }) : NO_ALERT_WRITES
    }
    if (outcome.failures.length > 0) return NO_ALERT_WRITES
    if (outcome.refused !== undefined) {
      // Granted or not: a message every day would help no operator.
      if (before?.cause === 'scopes') return NO_ALERT_WRITES
      const message = describeRefused(settings, account, outcome.refused)
      return notifyAlert(subject, { level: 'warning', cause: 'scopes', message })
    }
    return closeAlert(subject, describeOver(outcome))
  }
}

function describeOver({ lacking }: PollOutcome): string {
  if (lacking.length === 0) return 'Limits are read again. All limits of this account are up to date.'
  return `Polls work again, but ${lacking.join(' and ')} are not available for this account. All other limits are up to date.`
}

/** The alert about what could not be read of an account, and was put aside; the first poll that reads everything closes it. */
export type UnreadableAnnouncer = (account: Subject, what: string) => AlertWrites

export function unreadableAnnouncer(settings: Pick<GrantAlertSettings, 'pageOf'>): UnreadableAnnouncer {
  return (account, what) => {
    const subject = about(settings, account)
    if (openState(subject)?.cause === 'unreadable') return NO_ALERT_WRITES
    const message = `${what} Plimsoll continues without it: the next poll reads all numbers and alerts again.`
    return notifyAlert(subject, { level: 'warning', cause: 'unreadable', message })
  }
}

function about(
  settings: Pick<GrantAlertSettings, 'pageOf'>,
  { hubId, hubDomain, pollAlert, now }: Subject,
): NotifiedSubject {
  const account = { hubId, hubDomain }
  return { field: POLL_FIELD, stored: pollAlert, account, url: settings.pageOf(hubId), now }
}

function describeGrant({ scopes }: GrantAlertSettings, account: GrantedAccount): string {
  const missing = scopes.filter((scope) => !account.scopes.includes(scope))
  const lacks = missing.length === 0 ? ' Nor do those that the app asks for.' : ` Missing: ${someOf(missing)}.`
  return `The granted scopes do not allow to read limits.${lacks} Connect the account again to grant them. ${linkCommand(account)}`
}

function describeRefused(settings: PollAlertSettings, account: AttemptedAccount, { what }: Refused): string {
  const app = settings.opensLimits ? '' : ' The app asks for none of these: add one to provider.scopes.'
  return (
    `HubSpot does not show the ${what.join(' and ')} of this account, because a scope was not granted.` +
    `${account.outcome.readAnything ? ' All other limits are up to date.' : ''} Any crm.objects.*.read scope will do, or tickets.${app} ` +
    `Connect the account again to grant it. ${linkCommand(account)}`
  )
}

const MOST_NAMED = 3

function someOf(scopes: readonly string[]): string {
  const more = scopes.length - MOST_NAMED
  return `${scopes.slice(0, MOST_NAMED).join(', ')}${more > 0 ? ` and ${formatCount(more)} more` : ''}`
}

interface WhyFailing {
  cause: PollCause
  message: string
}

function describeFailing(account: AttemptedAccount): WhyFailing {
  const { outcome, now } = account
  const failing = failingAfter(account, outcome, now)
  const [failure] = outcome.failures
  const { cause, message } = whyFailing(account, failure?.class, failing?.since ?? now)
  const what = failing === undefined ? '' : unreadText(failing, now)
  return { cause, message: `${what} ${countOf(failing?.count ?? 1, 'poll')} failed in a row. ${message}` }
}

function whyFailing(account: AttemptedAccount, failureClass: string | undefined, since: number): WhyFailing {
  const failing = (message: string) => ({ cause: 'failing' as const, message })
  switch (failureClass) {
    case 'unauthorized':
      return whyUnauthorized(account, since)
    case 'rejected':
      return { cause: 'unauthorized', message: `Only a new connection helps. ${linkCommand(account)}` }
    case 'client':
      return failing(`HubSpot refuses the request itself. ${CHECK_REQUEST}`)
    default:
      return failing(`Plimsoll tries again. ${IF_IT_LASTS}`)
  }
}

/** A new connection is the advice only where a refresh since then is known to be no help. */
function whyUnauthorized({ hubId, refreshes }: AttemptedAccount, since: number): WhyFailing {
  const { at = 0, failure } = refreshes ?? {}
  const says =
    failure !== undefined
      ? `The last refresh failed too (${asHubSpot(failure.reason)}).`
      : at >= since
        ? 'A newly refreshed token is refused, too.'
        : 'No refresh has brought another token since then.'
  const isNoHelp = failure === undefined ? at >= since : failure.class === 'rejected'
  const toDo = isNoHelp ? `Connect the account again. ${linkCommand({ hubId })}` : 'Plimsoll tries again.'
  return {
    cause: isNoHelp ? 'unauthorized' : 'failing',
    message: isNoHelp ? `${says} ${toDo}` : `HubSpot refuses the access token. ${says} ${toDo}`,
  }
}
