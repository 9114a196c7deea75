import type { GrantedAccount, ScopesAnnouncer } from '../../accounts/connect-account.ts'
import type { LastRefresh } from '../../limits/poll-store.ts'
import { failingAfter, type PollOutcome, type PollRecord, type Refused } from '../../limits/polling/poll-outcome.ts'
import { type AlertWrites, NO_ALERT_WRITES } from '../../redis/steps.ts'
import { countOf, formatCount } from '../../text/format-number.ts'
import { formatMoment } from '../../text/format-time.ts'
import type { PollCause } from '../alert.ts'
import { POLL_FIELD } from '../alert-state.ts'
import { closeAlert, isDueAgain, linkCommand, type NotifiedSubject, notifyAlert, openState } from './notified-alert.ts'

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
  if (lacking.length === 0) return 'Limits are read again. Everything that is watched of this account was read.'
  return `Polls no longer fail, but ${lacking.join(' and ')} are not available for this account. The rest was read.`
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
  return (
    'The scopes that were granted for this account do not let its limits be read' +
    `${missing.length === 0 ? ', nor do those that the app asks for' : ''}. To grant them, connect it again: ` +
    `${linkCommand(account)}${missing.length === 0 ? '' : ` Missing: ${someOf(missing)}.`}`
  )
}

/** The remedy comes first: mails cut a long message. */
function describeRefused(settings: PollAlertSettings, account: AttemptedAccount, { what, scopes }: Refused): string {
  const named = scopes.length === 0 ? '' : ` The provider asks for ${someOf(scopes)}, which need not be right.`
  const app = settings.opensLimits ? '' : ' The app asks for none of these: add one to provider.scopes.'
  return (
    `The provider does not show the ${what.join(' and ')} of this account, because a scope was not granted` +
    `${account.outcome.readAnything ? '; the rest is read as usual' : ''}. Any crm.objects.*.read scope will do, or tickets.${app} ` +
    `To grant it, connect the account again: ${linkCommand(account)}${named}`
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
  const { count, since } = failingAfter(account, outcome, now)
  const [failure] = outcome.failures
  const what = outcome.readAnything ? 'A part of the limits of this account' : 'The limits of this account'
  const { cause, message } = whyFailing(account, failure?.class, since)
  const polls = countOf(count, 'poll')
  return {
    cause,
    message: `${what} could not be read in ${polls} in a row, since ${formatMoment(since)} (${failure?.message}). ${message}`,
  }
}

function whyFailing(account: AttemptedAccount, failureClass: string | undefined, since: number): WhyFailing {
  const failing = (message: string) => ({ cause: 'failing' as const, message })
  switch (failureClass) {
    case 'unauthorized':
      return whyUnauthorized(account, since)
    case 'rejected':
      return { cause: 'unauthorized', message: `Only a new connection helps: ${linkCommand(account)}` }
    case 'client':
      return failing("The provider does not take the request itself: see provider.api and the provider's own changes.")
    default:
      return failing("Plimsoll keeps trying. If it lasts, see the provider's status page.")
  }
}

/** A new connection is the advice only where a refresh since then is known to be no help. */
function whyUnauthorized({ hubId, refreshes }: AttemptedAccount, since: number): WhyFailing {
  const { at = 0, failure } = refreshes ?? {}
  const says =
    failure !== undefined
      ? `and its last refresh failed (${failure.reason})`
      : at >= since
        ? `also the one that a refresh brought at ${formatMoment(at)}`
        : `and no refresh has brought another one since then`
  const isNoHelp = failure === undefined ? at >= since : failure.class === 'rejected'
  const toDo = isNoHelp ? `Connect the account again: ${linkCommand({ hubId })}` : 'Plimsoll keeps trying.'
  return { cause: isNoHelp ? 'unauthorized' : 'failing', message: `Its access token is refused, ${says}. ${toDo}` }
}
