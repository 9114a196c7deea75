import type { UninstallAnnouncer } from '../../accounts/uninstall.ts'
import { type AlertWrites, NO_ALERT_WRITES } from '../../redis/steps.ts'
import type { AnnouncedAccount, AnnouncedSubject, TokenAnnouncer } from '../../tokens/refresh-account.ts'
import { type Alert, type AlertLevel, UNINSTALL_RULE } from '../alert.ts'
import { decodeState, encodeState, openedState, TOKEN_FIELD, toldState, transitionId } from '../alert-state.ts'
import { encodeEntry } from '../outbox/outbox-entry.ts'
import type { SeriesState } from '../series-state.ts'

export interface TokenAlertSettings {
  /** Where the customer connects again. */
  installPage: string
  pageOf: (hubId: number) => string
}

/** An account's token alert is about one thing at a time: each is opened once, and closed when it is over. */
export type TokenAlerts = TokenAnnouncer & UninstallAnnouncer

/** Alerts about an account's tokens: failing for long, to be authorised again, another account's, not deleted. */
export function tokenAnnouncer(settings: TokenAlertSettings): TokenAlerts {
  return {
    failing: (account, reason) => {
      if (account.tokenAlert !== '') return NO_ALERT_WRITES
      const message =
        `This account's tokens can't be refreshed for a while (${reason}). Its access token expired ` +
        `${timeOf(account.expiresAt)}, tokens last worked ${timeOf(account.refreshedAt)}. Plimsoll goes on trying.`
      return change(settings, account, openedState('warning', 'token', account.now), 'entered', message)
    },
    reauthorize: (account, reason) => {
      const before = account.tokenAlert === '' ? undefined : decodeState(account.tokenAlert)
      if (before?.level === 'critical') return NO_ALERT_WRITES
      const state =
        before === undefined
          ? openedState('critical', 'token', account.now)
          : { ...toldState(before, account.now), level: 'critical' as const }
      const message =
        `The provider no longer accepts this account's refresh token (${reason}): ${whyRefused(account)}. Tokens last ` +
        `worked ${timeOf(account.refreshedAt)}. To connect it again: ${settings.installPage}`
      return change(settings, account, state, before === undefined ? 'entered' : 'escalated', message)
    },
    foreign: (account, owner) => {
      if (account.tokenAlert !== '') return NO_ALERT_WRITES
      const message =
        `The refresh token that was imported for this account belongs to account ${owner}: it is neither refreshed nor ` +
        `polled under this name. Import it with its own token (--replace), or connect it: ${settings.installPage}`
      return change(settings, account, openedState('critical', 'token', account.now), 'entered', message)
    },
    recovered: (account) => closed(settings, account, "The account's tokens work again."),
    undeleted: (account, { askedAt, reason }) => {
      if (account.tokenAlert !== '') return NO_ALERT_WRITES
      const message =
        `The uninstall of this account was asked for ${timeOf(askedAt)}, but its refresh token could not be deleted at ` +
        `the provider so far (${reason}). It is tried again and again until it works.`
      return change(settings, account, openedState('warning', UNINSTALL_RULE, account.now), 'entered', message)
    },
    deleted: (account) => closed(settings, account, 'The refresh token is deleted: the uninstall is done.'),
  }
}

/** Uninstalled, revoked - or lost by us: that must not be kept quiet. */
function whyRefused({ interruptedAt }: AnnouncedAccount): string {
  if (interruptedAt === null) return 'the app was uninstalled, or its access revoked'
  return (
    `a worker was killed at ${timeOf(interruptedAt)} while it refreshed this account, so the new refresh token that ` +
    'the provider gave out may have been lost with it; or the app was uninstalled, or its access revoked'
  )
}

function timeOf(at: number): string {
  return at > 0 ? new Date(at).toISOString() : 'never'
}

function closed(settings: TokenAlertSettings, account: AnnouncedSubject, message: string): AlertWrites {
  if (account.tokenAlert === '') return NO_ALERT_WRITES
  return change(settings, account, toldState(decodeState(account.tokenAlert), account.now), 'recovered', message)
}

function change(
  settings: TokenAlertSettings,
  account: AnnouncedSubject,
  state: SeriesState,
  reason: 'entered' | 'escalated' | 'recovered',
  message: string,
): AlertWrites {
  const after = reason === 'recovered' ? '' : encodeState(state)
  return {
    changes: [[TOKEN_FIELD, account.tokenAlert, after]],
    entries: [encodeEntry({ alert: tokenAlert(settings, account, state, reason, message) })],
  }
}

function tokenAlert(
  settings: TokenAlertSettings,
  account: AnnouncedSubject,
  state: SeriesState,
  reason: 'entered' | 'escalated' | 'recovered',
  message: string,
): Alert {
  const { hubId, hubDomain } = account
  return {
    id: transitionId(hubId, TOKEN_FIELD, state),
    kind: 'token',
    status: reason === 'recovered' ? 'resolved' : 'firing',
    level: levelOf(state),
    reason,
    rule: state.rule,
    account: { hubId, hubDomain },
    measuredAt: new Date(account.now).toISOString(),
    since: new Date(state.since).toISOString(),
    message,
    url: settings.pageOf(hubId),
  }
}

function levelOf({ level }: SeriesState): AlertLevel {
  return level === 'critical' ? 'critical' : 'warning'
}
