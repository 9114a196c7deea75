import type { UninstallAnnouncer } from '../../accounts/uninstall.ts'
import { NO_ALERT_WRITES } from '../../redis/steps.ts'
import { formatMoment } from '../../text/format-time.ts'
import { UNREADABLE_ANSWER } from '../../tokens/after-failure.ts'
import type { AnnouncedAccount, AnnouncedSubject, TokenAnnouncer } from '../../tokens/refresh-account.ts'
import { UNINSTALL_RULE } from '../alert.ts'
import { TOKEN_FIELD } from '../alert-state.ts'
import { closeAlert, linkCommand, type NotifiedSubject, notifyAlert, openState } from './notified-alert.ts'

export interface TokenAlertSettings {
  pageOf: (hubId: number) => string
}

/** Causes after which a refresh may work without a new connection. */
const MAY_WORK: readonly unknown[] = ['failing', UNREADABLE_ANSWER]

/** An account's token alert is about one thing at a time: each is opened once, and closed when it is over. */
export type TokenAlerts = TokenAnnouncer & UninstallAnnouncer

/** Alerts about an account's tokens: failing for long, to be reconnected, another account's, not deleted. */
export function tokenAnnouncer(settings: TokenAlertSettings): TokenAlerts {
  return {
    failing: (account, reason) => {
      if (account.tokenAlert !== '') return NO_ALERT_WRITES
      const expires = account.expiresAt > account.now ? 'expires' : 'expired'
      const message =
        `This account's tokens can't be refreshed for now (${reason}). Its access token ${expires} ` +
        `${timeOf(account.expiresAt)}, tokens last worked ${timeOf(account.refreshedAt)}. Plimsoll keeps trying.`
      return notifyAlert(about(settings, account), { level: 'critical', cause: 'failing', message })
    },
    reauthorize: (account, refusal) => {
      const subject = about(settings, account)
      const open = openState(subject)
      if (open?.level === 'critical' && !MAY_WORK.includes(open.cause)) return NO_ALERT_WRITES
      const why = refusal.isElsewhere
        ? refusal.message
        : `the provider refuses its refresh token (${refusal.message}). Either ${whyRefused(account)}`
      const message =
        `This account's tokens can't be refreshed: ${why}. Tokens last worked ${timeOf(account.refreshedAt)}. ` +
        `Only a new connection helps: ${linkCommand(account)}`
      return notifyAlert(subject, { level: 'critical', message })
    },
    foreign: (account, owner) => {
      if (account.tokenAlert !== '') return NO_ALERT_WRITES
      const message =
        `The refresh token that was imported for this account belongs to account ${owner}: it is neither refreshed nor ` +
        `polled under this name. Import it with its own token (--replace), or connect it: ${linkCommand(account)}`
      return notifyAlert(about(settings, account), { level: 'critical', cause: 'foreign', message })
    },
    unreadable: (account, reason) => {
      const subject = about(settings, account)
      if (openState(subject)?.cause === UNREADABLE_ANSWER) return NO_ALERT_WRITES
      const message =
        `This account's tokens can't be refreshed: ${reason}. Its refresh token is not used again until an operator ` +
        `decides: plimsoll accounts refresh ${account.hubId} tries again.`
      return notifyAlert(subject, { level: 'critical', cause: UNREADABLE_ANSWER, message })
    },
    recovered: (account) => closeAlert(about(settings, account), "The account's tokens are refreshed again."),
    undeleted: (account, { askedAt, reason }) => {
      if (account.tokenAlert !== '') return NO_ALERT_WRITES
      const message =
        `The uninstall of this account was asked for ${timeOf(askedAt)}, but its refresh token could not be deleted at ` +
        `the provider so far (${reason}). It is tried again until it works.`
      return notifyAlert(about(settings, account), { level: 'warning', rule: UNINSTALL_RULE, message })
    },
    deleted: (account) => closeAlert(about(settings, account), 'The refresh token is deleted: the uninstall is done.'),
  }
}

/** Uninstalled, revoked - or lost by us: that must not be kept quiet. */
function whyRefused({ interruptedAt }: AnnouncedAccount): string {
  if (interruptedAt === null) return 'the app was uninstalled, or its access revoked'
  return (
    `a refresh of this account broke off at ${timeOf(interruptedAt)}, its worker killed or the answer lost, so the new ` +
    'refresh token that the provider gave out may have been lost with it; or the app was uninstalled, or its access revoked'
  )
}

function timeOf(at: number): string {
  return at > 0 ? formatMoment(at) : 'never yet'
}

function about(settings: TokenAlertSettings, { hubId, hubDomain, tokenAlert, now }: AnnouncedSubject): NotifiedSubject {
  const account = { hubId, hubDomain }
  return { field: TOKEN_FIELD, stored: tokenAlert, account, url: settings.pageOf(hubId), now }
}
