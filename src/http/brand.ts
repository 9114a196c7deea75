import type { Asset } from './assets/serve-assets.ts'

/** The app, as customers' pages show it. */
export interface Brand {
  name?: string
  logo?: { type: string; bytes: Buffer }
  /** A mail address for questions of customers. */
  support?: string
  /** `#rrggbb` */
  color?: string
}

export const BRAND_STYLE = '/assets/brand.css'
export const BRAND_LOGO = '/assets/logo'

/** An SVG that is opened as a page of its own runs no script, and loads nothing. */
const ONLY_A_PICTURE = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; sandbox"

export function brandAssets({ logo, color }: Brand): Asset[] {
  const picture = logo && {
    path: BRAND_LOGO,
    type: logo.type,
    content: logo.bytes,
    headers: { 'content-security-policy': ONLY_A_PICTURE },
  }
  const style = color && { path: BRAND_STYLE, type: 'text/css; charset=utf-8', content: styleOf(color) }
  return [picture, style].filter((asset) => asset !== undefined && asset !== '')
}

function styleOf(color: string): string {
  // The edge alone: text in a brand's color may be unreadable.
  return `body {
  border-top: 0.4rem solid ${color};
}
`
}
