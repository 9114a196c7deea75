import { type Alert, UNINSTALL_RULE } from '../../alerts/alert.ts'
import { crmSite } from '../../text/provider-site.ts'

type LinkOf = (alert: Alert) => string | undefined

/** Links of a mail; absent ones are not in the mail. */
export interface MailLinks {
  /** The alert's page. */
  open?: LinkOf
  /** Connects the alert's account, and no other. */
  reconnect?: LinkOf
  /** A signed address that acknowledges the alert. */
  acknowledge?: LinkOf
  /** The form of a silence, filled in. */
  silence?: LinkOf
  /** The provider's page of a record. */
  record?: RecordPage
  /** The provider's site, where the alert's account is. */
  site?: LinkOf
  /** Place of a rule in the config: `thresholds line 31`. */
  rule?: (name: string) => string | undefined
  /** The page of changes. */
  changes?: string
  /** Name of the app, as customers know it. */
  appName?: string
  /** The reader is the customer of the account: nothing in the mail is for operators. */
  isForCustomer?: true
}

export interface Action {
  name: string
  url: string
}

/** The action that is sent on to the customer. */
export const RECONNECT = 'Reconnect link'

/** Actions on an alert, the most useful first. */
export function actionsOf(alert: Alert, links: MailLinks): Action[] {
  const { kind, status } = alert
  const isFiring = status === 'firing' && kind !== 'test'
  // A limit that moved stays not open: it has no page, and nothing to acknowledge.
  const isOpen = isFiring && kind !== 'limit-changed'
  const open = isOpen ? links.open?.(alert) : undefined
  const actions: [name: string, url: string | undefined][] = [
    open === undefined ? [alert.account === undefined ? 'Open page' : 'Open account', alert.url] : ['Open alert', open],
    [RECONNECT, isFiring && wantsReconnect(alert) ? links.reconnect?.(alert) : undefined],
    ['Acknowledge', isOpen ? links.acknowledge?.(alert) : undefined],
    ['Silence', isFiring ? links.silence?.(alert) : undefined],
  ]
  return actions.flatMap(([name, given]) => {
    const url = safeUrl(given)
    return url === undefined ? [] : [{ name, url }]
  })
}

/** A token is refused for good, or a scope is missing: only the customer can help. */
export function wantsReconnect({ kind, cause, rule }: Pick<Alert, 'kind' | 'cause' | 'rule'>): boolean {
  if (kind === 'token') return cause !== 'failing' && rule !== UNINSTALL_RULE
  return kind === 'poll' && (cause === 'scopes' || cause === 'unauthorized')
}

export type RecordPage = (
  account: NonNullable<Alert['account']>,
  objectTypeId: string,
  objectId: number | string,
) => string | undefined

/**
 * The provider's page of a record, as its API names it in the `url` of an object
 * (https://developers.hubspot.com/docs/guides/crm/using-object-apis).
 */
export function recordPages(installUrl: string): RecordPage {
  return ({ hubId, hublet }, objectTypeId, objectId) => {
    const site = crmSite(installUrl, hublet)
    const isPage =
      /^\d{1,4}-\d{1,15}$/.test(objectTypeId) && [hubId, objectId].every((id) => /^[1-9]\d{0,19}$/.test(String(id)))
    return site !== undefined && isPage ? `${site}/contacts/${hubId}/record/${objectTypeId}/${objectId}` : undefined
  }
}

/** The provider's site, in the data center of the account. */
export function sitePages(installUrl: string): LinkOf {
  return ({ account }) => {
    const site = account && crmSite(installUrl, account.hublet)
    return site === undefined ? undefined : `${site}/`
  }
}

/** Only addresses that a browser opens: names from outside may be part of one. */
export function safeUrl(url: string | undefined): string | undefined {
  const parsed = url === undefined ? null : URL.parse(url)
  return parsed !== null && /^https?:$/.test(parsed.protocol) ? parsed.href : undefined
}
