import { Html, html } from '../../../text/html.ts'

const FONTS = "-apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"

export const TEXT = 'color:#1c2430'
export const QUIET_COLOR = '#5a6575'
export const QUIET = `color:${QUIET_COLOR}`
const LINE_STYLE = '1px solid #e2e6eb'
export const LINE = `border-top:${LINE_STYLE}`
export const CELL = 'padding:20px 28px'
export const LINK_COLOR = '#0b5cc4'
const BUTTON = `display:inline-block;margin:10px 6px 0 0;padding:11px 12px;font-size:14px;line-height:20px;font-weight:600;text-decoration:none;border:1px solid ${LINK_COLOR}`

/**
 * Mail programs are browsers of twenty years ago: layout by tables, styles on each element, no pictures and nothing
 * loaded from elsewhere. The style sheet only adds what is lost without harm: dark colors, small screens, and what would
 * make each row of a long table longer.
 */
const STYLE_SHEET = `
:root { color-scheme: light dark; supported-color-schemes: light dark; }
td, th, div, a { font-family: ${FONTS}; }
.rows td, .rows th[colspan] { border-top: ${LINE_STYLE}; }
.rows a { color: ${LINK_COLOR}; }
.rows i { color: ${QUIET_COLOR}; font-style: normal; }
@media (max-width: 480px) {
  .page { padding: 0 !important; }
  .cell { padding-left: 16px !important; padding-right: 16px !important; }
}
@media (prefers-color-scheme: dark) {
  .page { background: #14171c !important; }
  .card { background: #1e232b !important; border-left-color: #333b47 !important; border-right-color: #333b47 !important; border-bottom-color: #333b47 !important; }
  .text { color: #e8eaee !important; }
  .quiet { color: #a3acb9 !important; }
  .line { border-color: #333b47 !important; }
  .track { background: #333b47 !important; }
  .rows td, .rows th { border-color: #333b47; }
  .rows a { color: #8ab8ff; }
  .rows i { color: #a3acb9; }
  .plain { border-color: #4a5566 !important; color: #8ab8ff !important; }
}`

/** A mail as one card; `rows` are those of its table, `styles` what they need beside the common ones. */
export function mailPage(subject: string, color: string, rows: Html, styles = ''): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<meta name="format-detection" content="telephone=no, date=no, address=no, email=no, url=no">
<title>${subject}</title>
<style>${new Html(STYLE_SHEET + styles)}
</style>
</head>
<body class="page" style="margin:0;padding:0;background:#f1f3f6">
<table role="presentation" class="page" width="100%" cellpadding="0" cellspacing="0" border="0" style="background:#f1f3f6">
<tr><td class="page" align="center" style="padding:24px 12px">
<table role="presentation" class="card" width="640" cellpadding="0" cellspacing="0" border="0" style="width:100%;max-width:640px;font-family:${FONTS};background:#ffffff;border:1px solid #e2e6eb;border-top:4px solid ${color}">
${rows}
</table>
</td></tr>
</table>
</body>
</html>
`.toString()
}

/** Large enough for a thumb; the first is what to do first. */
export function buttons(actions: readonly { name: string; url: string }[]): Html | undefined {
  const links = actions.map(({ name, url }, n) => {
    const [look, kind] = n === 0 ? [`color:#ffffff;background:${LINK_COLOR}`, ''] : [`color:${LINK_COLOR}`, ' plain']
    return html`<a class="button${kind}" href="${url}" style="${BUTTON};${look}">${name}</a> `
  })
  return actions.length === 0 ? undefined : html`<div style="padding-top:6px">${links}</div>`
}
