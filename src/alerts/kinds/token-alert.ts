import type { UninstallAnnouncer } from '../../accounts/uninstall.ts'
import { NO_ALERT_WRITES } from '../../redis/steps.ts'
import { formatMoment } from '../../text/format-time.ts'
import { UNREADABLE_ANSWER } from '../../tokens/after-failure.ts'
import type { AnnouncedAccount, AnnouncedSubject, TokenAnnouncer } from '../../tokens/refresh-account.ts'
import { UNINSTALL_RULE } from '../alert.ts'
import { TOKEN_FIELD } from '../alert-state.ts'
import { linkCommand } from '../alert-title.ts'
import { asHubSpot } from '../unread-text.ts'
import { closeAlert, type NotifiedSubject, notifyAlert, openState } from './notified-alert.ts'

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
      const message = `Tokens can't be refreshed (${asHubSpot(reason)}). ${expiryOf(account)} ${lastWorked(account)} Plimsoll tries again.`
      return notifyAlert(about(settings, account), { level: 'critical', cause: 'failing', message })
    },
    reauthorize: (account, refusal) => {
      const subject = about(settings, account)
      const open = openState(subject)
      if (open?.level === 'critical' && !MAY_WORK.includes(open.cause)) return NO_ALERT_WRITES
      const why = refusal.isElsewhere
        ? `Tokens can't be refreshed: ${refusal.message}.`
        : `HubSpot refuses the refresh token (${asHubSpot(refusal.message)}). ${whyRefused(account)}`
      const message = `${why} ${lastWorked(account)} Only a new connection helps. ${linkCommand(account)}`
      return notifyAlert(subject, { level: 'critical', message })
    },
    foreign: (account, owner) => {
      if (account.tokenAlert !== '') return NO_ALERT_WRITES
      const message =
        `The imported refresh token belongs to account ${owner}. Plimsoll neither refreshes nor polls it under this name. ` +
        `Import the account's own token (--replace), or connect the account. ${linkCommand(account)}`
      return notifyAlert(about(settings, account), { level: 'critical', cause: 'foreign', message })
    },
    unreadable: (account, reason) => {
      const subject = about(settings, account)
      if (openState(subject)?.cause === UNREADABLE_ANSWER) return NO_ALERT_WRITES
      const message =
        `Tokens can't be refreshed: ${reason}. The refresh token is not used again until an operator decides. ` +
        `plimsoll accounts refresh ${account.hubId} tries again.`
      return notifyAlert(subject, { level: 'critical', cause: UNREADABLE_ANSWER, message })
    },
    recovered: (account) => closeAlert(about(settings, account), 'Tokens are refreshed again.'),
    undeleted: (account, { askedAt, reason }) => {
      if (account.tokenAlert !== '') return NO_ALERT_WRITES
      const message =
        `The uninstall was requested ${formatMoment(askedAt)}. HubSpot has not deleted the refresh token so far (${asHubSpot(reason)}). ` +
        'Plimsoll tries until it works.'
      return notifyAlert(about(settings, account), { level: 'warning', rule: UNINSTALL_RULE, message })
    },
    deleted: (account) => closeAlert(about(settings, account), 'Uninstall is done. The refresh token is deleted.'),
  }
}

/** Uninstalled, revoked - or lost by us: that must not be kept quiet. */
function whyRefused({ interruptedAt }: AnnouncedAccount): string {
  if (interruptedAt === null) return 'The app was uninstalled, or its access was revoked.'
  return (
    `A refresh broke off at ${formatMoment(interruptedAt)}: its worker was killed, or the answer was lost. The new refresh ` +
    'token may have been lost with it. Or the app was uninstalled, or its access was revoked.'
  )
}

function expiryOf({ expiresAt, now }: Pick<AnnouncedAccount, 'expiresAt' | 'now'>): string {
  if (expiresAt <= 0) return 'There is no access token.'
  return `The access token ${expiresAt > now ? 'expires' : 'expired'} ${formatMoment(expiresAt)}.`
}

function lastWorked({ refreshedAt }: Pick<AnnouncedAccount, 'refreshedAt'>): string {
  return refreshedAt > 0 ? `Tokens last worked ${formatMoment(refreshedAt)}.` : 'No refresh has worked yet.'
}

function about(settings: TokenAlertSettings, { hubId, hubDomain, tokenAlert, now }: AnnouncedSubject): NotifiedSubject {
  const account = { hubId, hubDomain }
  return { field: TOKEN_FIELD, stored: tokenAlert, account, url: settings.pageOf(hubId), now }
}
