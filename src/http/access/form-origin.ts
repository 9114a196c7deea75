/** What a browser says of where a form comes from. */
export interface FormOrigin {
  /** The header Sec-Fetch-Site. */
  site: string | undefined
  /** The header Origin. */
  origin: string | undefined
  /** The header Host. */
  host: string | undefined
  publicUrl: string
}

/**
 * Whether a form was sent from a page of this very server. A neighbouring port or host counts as the same site, cookie
 * and all, so only the same origin will do. Browsers say Sec-Fetch-Site to https and to this machine, Origin always;
 * who says neither is no browser that a stranger's page could use.
 */
export function isFromOurPage({ site, origin, host, publicUrl }: FormOrigin): boolean {
  if (site !== undefined) return site === 'same-origin'
  if (origin === undefined) return true
  const given = URL.parse(origin)
  // Behind a proxy the Host may be another one than the address that people know.
  return given !== null && (given.origin === new URL(publicUrl).origin || given.host === host)
}
