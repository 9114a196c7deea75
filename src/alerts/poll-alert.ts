import type { GrantedAccount, ScopesAnnouncer } from '../accounts/metadata.ts'
import { type AlertWrites, NO_ALERT_WRITES } from '../redis/steps.ts'
import type { Alert } from './alert.ts'
import { decodeState, encodeState, openedState, POLL_FIELD, toldState, transitionId } from './alert-state.ts'
import type { SeriesState } from './evaluate.ts'
import { encodeEntry } from './outbox-entry.ts'

export interface PollAlertSettings {
  /** What the app asks for. */
  scopes: readonly string[]
  /** Where the customer connects again. */
  installPage: string
  pageOf: (hubId: number) => string
}

/** The alert about an account whose scopes don't let its limits be read: opened once, closed when they do. */
export function pollAnnouncer(settings: PollAlertSettings): ScopesAnnouncer {
  return (account) => {
    if (account.opensLimits === (account.pollAlert === '')) return NO_ALERT_WRITES
    return account.opensLimits ? closed(settings, account) : opened(settings, account)
  }
}

function opened(settings: PollAlertSettings, account: GrantedAccount): AlertWrites {
  const state = openedState('warning', 'poll', account.now)
  const missing = settings.scopes.filter((scope) => !account.scopes.includes(scope))
  const message =
    'The scopes that were granted for this account do not let its limits be read' +
    `${missing.length === 0 ? ', nor do those that the app asks for' : `: missing ${missing.join(', ')}`}. ` +
    `To grant them, connect it again: ${settings.installPage}`
  return {
    changes: [[POLL_FIELD, '', encodeState(state)]],
    messages: [encodeEntry({ alert: pollAlert(settings, account, state, 'entered', message) })],
  }
}

function closed(settings: PollAlertSettings, account: GrantedAccount): AlertWrites {
  const state = toldState(decodeState(account.pollAlert), account.now)
  const message = 'The scopes that were granted for this account let its limits be read again.'
  return {
    changes: [[POLL_FIELD, account.pollAlert, '']],
    messages: [encodeEntry({ alert: pollAlert(settings, account, state, 'recovered', message) })],
  }
}

function pollAlert(
  settings: PollAlertSettings,
  { hubId, hubDomain, now }: GrantedAccount,
  state: SeriesState,
  reason: 'entered' | 'recovered',
  message: string,
): Alert {
  return {
    id: transitionId(hubId, POLL_FIELD, state),
    kind: 'poll',
    status: reason === 'entered' ? 'firing' : 'resolved',
    level: 'warning',
    reason,
    rule: 'poll',
    account: { hubId, hubDomain },
    measuredAt: new Date(now).toISOString(),
    since: new Date(state.since).toISOString(),
    message,
    url: settings.pageOf(hubId),
  }
}
