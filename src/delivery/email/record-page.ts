import type { RecordPage } from './mail-links.ts'

/** The provider's own site, for links to it; undefined where the app is installed from another host, say a stand-in for the provider. */
export function crmSite(installUrl: string): string | undefined {
  const { protocol, hostname, origin } = new URL(installUrl)
  return protocol === 'https:' && /^app(-[a-z0-9]+)?\.hubspot\.com$/.test(hostname) ? origin : undefined
}

/**
 * The provider's page of a record, as its API names it in the `url` of an object
 * (https://developers.hubspot.com/docs/guides/crm/using-object-apis).
 */
export function recordPages(installUrl: string): RecordPage {
  const site = crmSite(installUrl)
  if (site === undefined) return () => undefined
  return (hubId, objectTypeId, objectId) =>
    /^\d{1,4}-\d{1,15}$/.test(objectTypeId) && [hubId, objectId].every((id) => /^[1-9]\d{0,19}$/.test(String(id)))
      ? `${site}/contacts/${hubId}/record/${objectTypeId}/${objectId}`
      : undefined
}
