/** Hosts of the provider's own site, one for each of its regions. */
const HOST = 'app(?:-[a-z0-9]+)?\\.hubspot\\.com'
const SITE = new RegExp(`^${HOST}$`)
const ON_SITE = new RegExp(`^https://${HOST}(?:[/?#][\\x21-\\x5b\\x5d-\\x7e]*)?$`)

/**
 * The provider's site, for links to it; undefined where the app is installed from another host, such as a stand-in. `hublet`: the
 * data center of an account, where it is known; else it is taken to be that of the install page.
 */
export function crmSite(installUrl: string, hublet: string | undefined): string | undefined {
  const { protocol, hostname, origin } = new URL(installUrl)
  if (protocol !== 'https:' || !SITE.test(hostname)) return undefined
  if (hublet === undefined) return origin
  const host = hublet === 'na1' ? 'app.hubspot.com' : `app-${hublet}.hubspot.com`
  return SITE.test(host) ? `https://${host}` : origin
}

/**
 * An address that leads back to the provider's site. Text from outside: it counts only where https, the exact host and no
 * port or user stand in it letter by letter, whatever an URL parser would make of it.
 */
export function readReturnUrl(text: string | undefined): string | undefined {
  if (text === undefined || !ON_SITE.test(text)) return undefined
  const url = URL.parse(text)
  return url !== null && SITE.test(url.host) ? url.href : undefined
}

/** The address with one more parameter; the others stay as they are. */
export function withParameter(address: string, name: string, value: string): string {
  const [page = '', ...fragment] = address.split('#')
  const joined = `${page}${page.includes('?') ? '&' : '?'}${name}=${encodeURIComponent(value)}`
  return [joined, ...fragment].join('#')
}
