import { type AlertWrites, NO_ALERT_WRITES, NOBODY } from '../redis/steps.ts'
import type { FleetTrouble } from '../tokens/endpoint/state.ts'
import type { FleetAnnouncer } from '../tokens/endpoint/token-endpoint.ts'
import type { AnnouncedAccount, AnnouncedSubject, TokenAnnouncer } from '../tokens/refresh-account.ts'
import type { Alert, AlertLevel } from './alert.ts'
import { decodeState, encodeState, TOKEN_FIELD, transitionId } from './alert-state.ts'
import type { SeriesState } from './evaluate.ts'
import { encodeEntry } from './outbox-entry.ts'

export interface TokenAlertSettings {
  /** Where the customer connects again. */
  installPage: string
  pageOf: (hubId: number) => string
  /** How often a trouble of the fleet is told again, ms. */
  repeatEveryMs: number
}

/** An account's token alert is about one thing at a time: each is opened once, and closed when it is over. */
export interface TokenAlerts extends TokenAnnouncer, FleetAnnouncer {
  /** An uninstall that was asked for long ago, and whose refresh token can't be deleted. */
  undeleted(account: AnnouncedSubject, uninstall: { askedAt: number; reason: string }): AlertWrites
  deleted(account: AnnouncedSubject): AlertWrites
}

/** The rule of a token alert that is about an uninstall. */
export const UNINSTALL_RULE = 'uninstall'

/** Alerts about an account's tokens - failing for long, to be authorised again, not deleted - and about the fleet's. */
export function tokenAnnouncer(settings: TokenAlertSettings): TokenAlerts {
  return {
    failing: (account, reason) => {
      if (account.tokenAlert !== '') return NO_ALERT_WRITES
      const message =
        `This account's tokens can't be refreshed for a while (${reason}). Its access token expired ` +
        `${timeOf(account.expiresAt)}, tokens last worked ${timeOf(account.refreshedAt)}. Plimsoll goes on trying.`
      return change(settings, account, opened(account.now, 'warning', 'token'), 'entered', message)
    },
    reauthorize: (account, reason) => {
      const before = account.tokenAlert === '' ? undefined : decodeState(account.tokenAlert)
      if (before?.level === 'critical') return NO_ALERT_WRITES
      const state =
        before === undefined
          ? opened(account.now, 'critical', 'token')
          : { ...said(before, account.now), level: 'critical' as const }
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
      return change(settings, account, opened(account.now, 'critical', 'token'), 'entered', message)
    },
    recovered: (account) => closed(settings, account, "The account's tokens work again."),
    undeleted: (account, { askedAt, reason }) => {
      if (account.tokenAlert !== '') return NO_ALERT_WRITES
      const message =
        `The uninstall of this account was asked for ${timeOf(askedAt)}, but its refresh token could not be deleted at ` +
        `the provider so far (${reason}). It is tried again and again until it works.`
      return change(settings, account, opened(account.now, 'warning', UNINSTALL_RULE), 'entered', message)
    },
    deleted: (account) => closed(settings, account, 'The refresh token is deleted: the uninstall is done.'),
    fleet: (trouble, is, stored, message, now) => {
      const before = stored === '' ? undefined : decodeState(stored)
      if (is === 'over') {
        if (before === undefined) return { writes: NO_ALERT_WRITES, stored }
        const state = said(before, now)
        return {
          writes: fleetWrites(trouble, stored, '', fleetAlert(trouble, state, 'recovered', message, now)),
          stored: '',
        }
      }
      if (before !== undefined && now - (before.messageAt ?? 0) < settings.repeatEveryMs) {
        return { writes: NO_ALERT_WRITES, stored }
      }
      const state = before === undefined ? opened(now, 'critical', 'fleet') : said(before, now)
      const alert = fleetAlert(trouble, state, before === undefined ? 'entered' : 'repeat', message, now)
      return { writes: fleetWrites(trouble, stored, encodeState(state), alert), stored: encodeState(state) }
    },
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

function opened(now: number, level: AlertLevel, rule: string): SeriesState {
  return { level, rule, since: now, messages: 1, messageAt: now, said: null, pending: null }
}

function said(before: SeriesState, now: number): SeriesState {
  return { ...before, messages: before.messages + 1, messageAt: now }
}

function closed(settings: TokenAlertSettings, account: AnnouncedSubject, message: string): AlertWrites {
  if (account.tokenAlert === '') return NO_ALERT_WRITES
  return change(settings, account, said(decodeState(account.tokenAlert), account.now), 'recovered', message)
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
    messages: [encodeEntry({ alert: tokenAlert(settings, account, state, reason, message) })],
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

function fleetAlert(
  trouble: FleetTrouble,
  state: SeriesState,
  reason: 'entered' | 'repeat' | 'recovered',
  message: string,
  now: number,
): Alert {
  return {
    id: transitionId(NOBODY, trouble, state),
    kind: 'fleet',
    status: reason === 'recovered' ? 'resolved' : 'firing',
    level: levelOf(state),
    reason,
    rule: 'fleet',
    measuredAt: new Date(now).toISOString(),
    since: new Date(state.since).toISOString(),
    message,
  }
}

function fleetWrites(trouble: FleetTrouble, before: string, after: string, alert: Alert): AlertWrites {
  return { changes: [[trouble, before, after]], messages: [encodeEntry({ alert })] }
}

function levelOf({ level }: SeriesState): AlertLevel {
  return level === 'critical' ? 'critical' : 'warning'
}
