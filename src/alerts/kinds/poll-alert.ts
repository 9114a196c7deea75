import type { GrantedAccount, ScopesAnnouncer } from '../../accounts/metadata.ts'
import { failingAfter, type PollOutcome, type PollRecord, type Refused } from '../../limits/polling/poll-outcome.ts'
import { type AlertWrites, NO_ALERT_WRITES } from '../../redis/steps.ts'
import { countOf } from '../../text/format-number.ts'
import { formatTime } from '../../text/format-time.ts'
import type { Alert, PollCause } from '../alert.ts'
import { decodeState, encodeState, openedState, POLL_FIELD, toldState, transitionId } from '../alert-state.ts'
import { encodeEntry } from '../outbox/outbox-entry.ts'
import type { SeriesState } from '../series-state.ts'

export interface GrantAlertSettings {
  /** What the app asks for. */
  scopes: readonly string[]
  /** Where the customer connects again. */
  installPage: string
  pageOf: (hubId: number) => string
}

export interface PollAlertSettings extends GrantAlertSettings {
  /** Whether the scopes that the app asks for would let limits be read. */
  opensLimits: boolean
  /** Polls in a row that must fail before that is told. */
  alertAfter: number
  /** How often it is told again, ms. */
  repeatEveryMs: number
}

/** An account that was just polled. */
export interface AttemptedAccount extends PollRecord {
  hubId: number
  hubDomain: string
  outcome: PollOutcome
  /** State of the account's poll alert as stored, '' = none. */
  pollAlert: string
  /** So many accounts fail that the fleet's alert speaks for them. */
  isFleetTrouble: boolean
  now: number
}

/** What a poll says of the account's poll alert. */
export type PollAnnouncer = (account: AttemptedAccount) => AlertWrites

type Subject = Pick<AttemptedAccount, 'hubId' | 'hubDomain' | 'pollAlert' | 'now'>

/**
 * The alert about an account whose scopes don't let its limits be read, as its metadata tells when it is connected. It is
 * the poll's own alert: whoever connects the account again with better scopes is told at once, and told anew if the next
 * poll is refused all the same. What else keeps polls from working is for polls to say.
 */
export function grantAnnouncer(settings: GrantAlertSettings): ScopesAnnouncer {
  return (account) => {
    const { opensLimits, pollAlert } = account
    if (pollAlert === '') {
      return opensLimits ? NO_ALERT_WRITES : tell(settings, account, 'scopes', describeGrant(settings, account))
    }
    const before = decodeState(pollAlert)
    if (!opensLimits || before.cause !== 'scopes') return NO_ALERT_WRITES
    return closed(
      settings,
      account,
      before,
      'The scopes that were granted for this account let its limits be read again.',
    )
  }
}

/**
 * An account has one poll alert, with one cause at a time: polls that fail in a row, or else scopes that don't let
 * everything be read. It is closed by the first poll that reads everything that is watched.
 */
export function pollAnnouncer(settings: PollAlertSettings): PollAnnouncer {
  return (account) => {
    const { outcome, pollAlert, isFleetTrouble, now } = account
    const before = pollAlert === '' ? undefined : decodeState(pollAlert)
    const { count, since } = failingAfter(account, outcome, now)
    if (count >= settings.alertAfter) {
      const isNews = before?.cause !== 'failing' || now - before.toldAt >= settings.repeatEveryMs
      if (!isNews || isFleetTrouble) return NO_ALERT_WRITES
      return tell(settings, account, 'failing', describeFailing(settings, outcome, count, since))
    }
    if (outcome.failures.length > 0) return NO_ALERT_WRITES
    if (outcome.refused !== undefined) {
      // Granted or not: nobody is helped by hearing it every day.
      if (before?.cause === 'scopes') return NO_ALERT_WRITES
      return tell(settings, account, 'scopes', describeRefused(settings, outcome.refused, outcome.readAnything))
    }
    if (before === undefined) return NO_ALERT_WRITES
    return closed(settings, account, before, 'Everything that is watched of this account was read again.')
  }
}

function tell(settings: GrantAlertSettings, account: Subject, cause: PollCause, message: string): AlertWrites {
  const before = account.pollAlert === '' ? undefined : decodeState(account.pollAlert)
  const told = before === undefined ? openedState('warning', 'poll', account.now) : toldState(before, account.now)
  const state = { ...told, cause }
  return {
    changes: [[POLL_FIELD, account.pollAlert, encodeState(state)]],
    entries: [
      encodeEntry({ alert: pollAlert(settings, account, state, before === undefined ? 'entered' : 'repeat', message) }),
    ],
  }
}

function closed(settings: GrantAlertSettings, account: Subject, before: SeriesState, message: string): AlertWrites {
  const state = toldState(before, account.now)
  return {
    changes: [[POLL_FIELD, account.pollAlert, '']],
    entries: [encodeEntry({ alert: pollAlert(settings, account, state, 'recovered', message) })],
  }
}

function describeGrant({ scopes, installPage }: GrantAlertSettings, account: GrantedAccount): string {
  const missing = scopes.filter((scope) => !account.scopes.includes(scope))
  return (
    'The scopes that were granted for this account do not let its limits be read' +
    `${missing.length === 0 ? ', nor do those that the app asks for' : `: missing ${missing.join(', ')}`}. ` +
    `To grant them, connect it again: ${installPage}`
  )
}

function describeRefused(settings: PollAlertSettings, { what, scopes }: Refused, readAnything: boolean): string {
  const named = scopes.length === 0 ? '' : ` It asks for ${scopes.join(', ')}, which need not be right.`
  const app = settings.opensLimits ? '' : ' The app asks for none of these: add one to provider.scopes.'
  return (
    `The provider does not show the ${what.join(' and ')} of this account, because a scope was not granted` +
    `${readAnything ? '; the rest is read as usual' : ''}.${named} ` +
    `Any crm.objects.*.read scope will do, or tickets.${app} To grant it, connect the account again: ` +
    settings.installPage
  )
}

function describeFailing(settings: PollAlertSettings, outcome: PollOutcome, count: number, since: number): string {
  const [failure] = outcome.failures
  const what = outcome.readAnything ? 'A part of the limits of this account' : 'The limits of this account'
  return (
    `${what} could not be read in ${countOf(count, 'poll')} in a row, since ${formatTime(new Date(since).toISOString())} ` +
    `(${failure?.message}). ${whatToDo(settings, failure?.class)}`
  )
}

function whatToDo({ installPage }: PollAlertSettings, failureClass: string | undefined): string {
  switch (failureClass) {
    case 'unauthorized':
      return `Its access token is refused although it was refreshed: connect the account again: ${installPage}`
    case 'client':
      return "The provider does not take the request itself: see provider.api and the provider's own changes."
    default:
      return "Plimsoll goes on trying. If it lasts, see the provider's status page."
  }
}

function pollAlert(
  settings: GrantAlertSettings,
  { hubId, hubDomain, now }: Subject,
  state: SeriesState,
  reason: 'entered' | 'repeat' | 'recovered',
  message: string,
): Alert {
  return {
    id: transitionId(hubId, POLL_FIELD, state),
    kind: 'poll',
    status: reason === 'recovered' ? 'resolved' : 'firing',
    level: 'warning',
    reason,
    rule: 'poll',
    ...(state.cause === undefined ? {} : { cause: state.cause }),
    account: { hubId, hubDomain },
    measuredAt: new Date(now).toISOString(),
    since: new Date(state.since).toISOString(),
    message,
    url: settings.pageOf(hubId),
  }
}
