import { type AlertWrites, NO_ALERT_WRITES } from '../redis/steps.ts'
import type { AnnouncedAccount, TokenAnnouncer } from '../tokens/refresh-account.ts'
import type { Alert, AlertLevel } from './alert.ts'
import { decodeState, encodeState, transitionId } from './alert-state.ts'
import type { SeriesState } from './evaluate.ts'
import { encodeEntry } from './outbox-entry.ts'

/** The field of an account's token alert among its alert states. */
export const TOKEN_FIELD = 'token'

export interface TokenAlertSettings {
  /** Where the customer connects again. */
  installPage: string
  pageOf: (hubId: number) => string
}

/** Of an account that is being uninstalled nothing else is told. */
type SubjectAccount = Omit<AnnouncedAccount, 'refreshedAt'>

/** An account's token alert is about one thing at a time: each is opened once, and closed when it is over. */
export interface TokenAlerts extends TokenAnnouncer {
  /** An uninstall that was asked for long ago, and whose refresh token can't be deleted. */
  undeleted(account: SubjectAccount, uninstall: { askedAt: number; reason: string }): AlertWrites
  deleted(account: SubjectAccount): AlertWrites
}

/** The rule of a token alert that is about an uninstall. */
const UNINSTALL_RULE = 'uninstall'

export function tokenAnnouncer(settings: TokenAlertSettings): TokenAlerts {
  return {
    reauthorize: (account, reason) => {
      const lastGood = account.refreshedAt > 0 ? new Date(account.refreshedAt).toISOString() : 'never'
      const message =
        `The provider no longer accepts this account's refresh token (${reason}): the app was uninstalled, or its ` +
        `access revoked. Tokens last worked ${lastGood}. To connect it again: ${settings.installPage}`
      return opened(settings, account, { level: 'critical', rule: 'token' }, message)
    },
    recovered: (account) => closed(settings, account, 'The account is connected again and its tokens work.'),
    undeleted: (account, { askedAt, reason }) => {
      const message =
        `The uninstall of this account was asked for ${new Date(askedAt).toISOString()}, but its refresh token could ` +
        `not be deleted at the provider so far (${reason}). It is tried again and again until it works.`
      return opened(settings, account, { level: 'warning', rule: UNINSTALL_RULE }, message)
    },
    deleted: (account) => closed(settings, account, 'The refresh token is deleted: the uninstall is done.'),
  }
}

function opened(
  settings: TokenAlertSettings,
  account: SubjectAccount,
  about: { level: AlertLevel; rule: string },
  message: string,
): AlertWrites {
  if (account.tokenAlert !== '') return NO_ALERT_WRITES
  const { now } = account
  const state: SeriesState = { ...about, since: now, messages: 1, messageAt: now, said: null, pending: null }
  return {
    changes: [[TOKEN_FIELD, '', encodeState(state)]],
    messages: [encodeEntry({ alert: tokenAlert(settings, account, state, 'entered', message) })],
  }
}

function closed(settings: TokenAlertSettings, account: SubjectAccount, message: string): AlertWrites {
  if (account.tokenAlert === '') return NO_ALERT_WRITES
  const before = decodeState(account.tokenAlert)
  const state = { ...before, messages: before.messages + 1, messageAt: account.now }
  return {
    changes: [[TOKEN_FIELD, account.tokenAlert, '']],
    messages: [encodeEntry({ alert: tokenAlert(settings, account, state, 'recovered', message) })],
  }
}

function tokenAlert(
  settings: TokenAlertSettings,
  account: SubjectAccount,
  state: SeriesState,
  reason: 'entered' | 'recovered',
  message: string,
): Alert {
  const { hubId, hubDomain } = account
  return {
    id: transitionId(hubId, TOKEN_FIELD, state),
    kind: 'token',
    status: reason === 'entered' ? 'firing' : 'resolved',
    level: state.level as AlertLevel,
    reason,
    rule: state.rule,
    account: { hubId, hubDomain },
    measuredAt: new Date(account.now).toISOString(),
    since: new Date(state.since).toISOString(),
    message,
    url: settings.pageOf(hubId),
  }
}
