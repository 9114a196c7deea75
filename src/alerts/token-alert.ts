import { type AlertWrites, NO_ALERT_WRITES } from '../redis/steps.ts'
import type { AnnouncedAccount, TokenAnnouncer } from '../tokens/refresh-account.ts'
import type { Alert } from './alert.ts'
import { decodeState, encodeState, TOKEN_FIELD, transitionId } from './alert-state.ts'
import type { SeriesState } from './evaluate.ts'
import { encodeEntry } from './outbox-entry.ts'

export interface TokenAlertSettings {
  /** Where the customer connects again. */
  installPage: string
  pageOf: (hubId: number) => string
}

/** The alert about an account that must be authorised again: opened once, closed when its tokens work again. */
export function tokenAnnouncer(settings: TokenAlertSettings): TokenAnnouncer {
  return {
    reauthorize: (account, reason) => {
      const lastGood = account.refreshedAt > 0 ? new Date(account.refreshedAt).toISOString() : 'never'
      const message =
        `The provider no longer accepts this account's refresh token (${reason}): the app was uninstalled, or its ` +
        `access revoked. Tokens last worked ${lastGood}. To connect it again: ${settings.installPage}`
      return opened(settings, account, message)
    },
    foreign: (account, owner) => {
      const message =
        `The refresh token that was imported for this account belongs to account ${owner}: it is neither refreshed nor ` +
        `polled under this name. Import it with its own token (--replace), or connect it: ${settings.installPage}`
      return opened(settings, account, message)
    },
    recovered: (account) => {
      if (account.tokenAlert === '') return NO_ALERT_WRITES
      const before = decodeState(account.tokenAlert)
      const state = { ...before, messages: before.messages + 1, messageAt: account.now }
      const message = 'The account is connected again and its tokens work.'
      return {
        changes: [[TOKEN_FIELD, account.tokenAlert, '']],
        messages: [encodeEntry({ alert: tokenAlert(settings, account, state, 'recovered', message) })],
      }
    },
  }
}

function opened(settings: TokenAlertSettings, account: AnnouncedAccount, message: string): AlertWrites {
  if (account.tokenAlert !== '') return NO_ALERT_WRITES
  const state: SeriesState = {
    level: 'critical',
    rule: 'token',
    since: account.now,
    messages: 1,
    messageAt: account.now,
    said: null,
    pending: null,
  }
  return {
    changes: [[TOKEN_FIELD, '', encodeState(state)]],
    messages: [encodeEntry({ alert: tokenAlert(settings, account, state, 'entered', message) })],
  }
}

function tokenAlert(
  settings: TokenAlertSettings,
  account: AnnouncedAccount,
  state: SeriesState,
  reason: 'entered' | 'recovered',
  message: string,
): Alert {
  const { hubId, hubDomain } = account
  return {
    id: transitionId(hubId, TOKEN_FIELD, state),
    kind: 'token',
    status: reason === 'entered' ? 'firing' : 'resolved',
    level: 'critical',
    reason,
    rule: 'token',
    account: { hubId, hubDomain },
    measuredAt: new Date(account.now).toISOString(),
    since: new Date(state.since).toISOString(),
    message,
    url: settings.pageOf(hubId),
  }
}
