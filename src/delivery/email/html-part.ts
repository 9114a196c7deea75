import { formatPercent } from '../../text/format-number.ts'
import { Html, html } from '../../text/html.ts'
import type { DescribedAlert, DescribedRecord } from './describe-alert.ts'
import type { MailContent } from './mail-content.ts'

/**
 * Mail programs are browsers of twenty years ago: layout by tables, styles on each element, no pictures and nothing
 * loaded from elsewhere. The style sheet only adds what is lost without harm: dark colours and small screens.
 */
const STYLE_SHEET = new Html(`
:root { color-scheme: light dark; supported-color-schemes: light dark; }
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
  .link { color: #8ab8ff !important; }
}`)

const FONT = "font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"
const TEXT = `${FONT};color:#1c2430`
const QUIET_COLOUR = '#5a6575'
const QUIET = `${FONT};color:${QUIET_COLOUR}`
const TABLE = `${TEXT};word-break:break-word`
const LABEL = `color:${QUIET_COLOUR};font-weight:400;vertical-align:top`
const LINE = 'border-top:1px solid #e2e6eb'
const CELL = 'padding:20px 28px'
const LINK_COLOUR = '#0b5cc4'
const LINK = `${FONT};color:${LINK_COLOUR}`

const COLOURS: Record<string, string> = { CRITICAL: '#c0271d', WARNING: '#b25000', RESOLVED: '#14764a' }
const OTHER_COLOUR = '#2a5bb8'

const NOTHING = html``

export function htmlPart({ badge, subject, summary, sections, rows, omitted, footer }: MailContent): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<meta name="format-detection" content="telephone=no, date=no, address=no, email=no, url=no">
<title>${subject}</title>
<style>${STYLE_SHEET}
</style>
</head>
<body class="page" style="margin:0;padding:0;background:#f1f3f6">
<table role="presentation" class="page" width="100%" cellpadding="0" cellspacing="0" border="0" style="background:#f1f3f6">
<tr><td class="page" align="center" style="padding:24px 12px">
<table role="presentation" class="card" width="640" cellpadding="0" cellspacing="0" border="0" style="width:100%;max-width:640px;background:#ffffff;border:1px solid #e2e6eb;border-top:4px solid ${colourOf(badge)}">
${summary === undefined ? NOTHING : summaryRow(summary, sections.length === 0 ? html`${badgeMark(badge)} &nbsp;` : NOTHING)}
${sections.map((section, index) => sectionRow(section, index > 0 || summary !== undefined))}
${rows.length === 0 ? NOTHING : rankedTable(rows)}
${omitted === undefined ? NOTHING : html`<tr><td class="cell text" style="${CELL};${TEXT};font-size:14px">${omitted}</td></tr>`}
<tr><td class="cell line quiet" style="padding:14px 28px;${LINE};${QUIET};font-size:12px">${footer}</td></tr>
</table>
</td></tr>
</table>
</body>
</html>
`.toString()
}

function summaryRow(summary: string, mark: Html): Html {
  return html`<tr><td class="cell text" style="${CELL};${TEXT};font-size:15px;line-height:22px">${mark}${summary}</td></tr>`
}

function sectionRow({ badge, subject, happened, percent, facts, records, url }: DescribedAlert, below: boolean): Html {
  return html`<tr><td class="cell line" style="${CELL}${below ? `;${LINE}` : ''}">
<div class="text" style="${TEXT};font-size:14px;line-height:22px">${badgeMark(badge)} &nbsp;<b><bdi>${subject}</bdi></b></div>
<div class="text" style="${TEXT};font-size:18px;line-height:26px;padding-top:10px;word-break:break-word">${happened}</div>
${percent === undefined ? NOTHING : fullnessBar(percent, badge)}
${facts.length === 0 ? NOTHING : factsTable(facts)}
${records === undefined ? NOTHING : recordsTable(records)}
${url === undefined ? NOTHING : html`<div style="padding-top:16px"><a class="link" href="${url}" style="${LINK};font-size:14px;font-weight:600">${linkText(url)}</a></div>`}
</td></tr>
`
}

function fullnessBar(percent: number, badge: string): Html {
  const filled = Math.min(100, Math.max(percent > 0 ? 1 : 0, Math.floor(percent)))
  const full = html`<td width="${filled}%" height="10" style="width:${filled}%;height:10px;background:${colourOf(badge)};font-size:0;line-height:0">&nbsp;</td>`
  const empty = html`<td class="track" width="${100 - filled}%" height="10" style="width:${100 - filled}%;height:10px;background:#e2e6eb;font-size:0;line-height:0">&nbsp;</td>`
  return html`<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="margin-top:14px"><tr>
<td><table role="img" aria-label="${formatPercent(percent)} full" width="100%" cellpadding="0" cellspacing="0" border="0"><tr>${filled > 0 ? full : NOTHING}${filled < 100 ? empty : NOTHING}</tr></table></td>
<td class="text" align="right" width="64" style="width:64px;${TEXT};font-size:14px;font-weight:600;white-space:nowrap">${formatPercent(percent)}</td>
</tr></table>`
}

function factsTable(facts: DescribedAlert['facts']): Html {
  const rows = facts.map(
    ({
      name,
      value,
    }) => html`<tr><th class="quiet" align="left" width="84" style="${LABEL}">${name}</th><td>${value}</td></tr>
`,
  )
  return html`<table class="text" width="100%" cellpadding="3" cellspacing="0" border="0" style="${TABLE};margin:14px 0 0 -3px;font-size:14px;line-height:20px">${rows}</table>`
}

function recordsTable({ rows, note }: { rows: DescribedRecord[]; note: string }): Html {
  const lines = rows.map(
    ({
      label,
      id,
      usage,
    }) => html`<tr>${label === undefined ? NOTHING : html`<td class="line" style="${LINE}"><bdi>${label}</bdi></td>`}<td class="line quiet" style="${LINE};color:${QUIET_COLOUR}">${id}</td><td class="line" align="right" style="${LINE}">${usage}</td></tr>
`,
  )
  return html`<div class="text" style="${TEXT};font-size:14px;font-weight:600;padding-top:18px">Records <span class="quiet" style="${QUIET};font-weight:400">(${note})</span></div>
<table class="text" width="100%" cellpadding="5" cellspacing="0" border="0" style="${TABLE};margin-top:4px;font-size:14px;line-height:20px">
<tr>${rows.every(({ label }) => label === undefined) ? NOTHING : heading('Record')}${heading('Id')}${heading('Associations', 'right')}</tr>
${lines}</table>`
}

/** One row for each alert. Kept short, with what cells can inherit on the table: there may be hundreds of them. */
function rankedTable(rows: DescribedAlert[]): Html {
  const lines = rows.map(
    ({
      badge,
      subject,
      topic,
      percent,
      limit,
      url,
    }) => html`<tr class="line" valign="top" style="${LINE}"><td>${accountCell(subject, url)}</td><td><bdi>${topic}</bdi></td><td align="right" nowrap>${percent === undefined ? NOTHING : fullness(percent, limit)}</td><td align="right">${badgeMark(badge)}</td></tr>
`,
  )
  return html`<tr><td class="cell line" style="${CELL};${LINE}"><table class="text" width="100%" cellpadding="6" cellspacing="0" border="0" style="${TABLE};border-collapse:collapse;font-size:13px;line-height:18px">
<tr>${heading('Account')}${heading('What')}${heading('Fullness', 'right')}${heading('Level', 'right')}</tr>
${lines}</table></td></tr>`
}

function heading(name: string, align: 'left' | 'right' = 'left'): Html {
  return html`<th class="quiet" scope="col" align="${align}" style="${LABEL};font-size:12px">${name}</th>`
}

function accountCell(subject: string, url: string | undefined): Html {
  if (url === undefined) return html`<bdi>${subject}</bdi>`
  return html`<a class="link" href="${url}" style="color:${LINK_COLOUR}"><bdi>${subject}</bdi></a>`
}

function fullness(percent: number, limit: string | undefined): Html {
  const of =
    limit === undefined ? NOTHING : html`<br><span class="quiet" style="color:${QUIET_COLOUR}">of ${limit}</span>`
  return html`${formatPercent(percent)}${of}`
}

function badgeMark(badge: string): Html {
  return html`<b style="background:${colourOf(badge)};color:#ffffff;font-size:11px;padding:2px 6px;white-space:nowrap">${badge}</b>`
}

function colourOf(badge: string): string {
  return COLOURS[badge] ?? OTHER_COLOUR
}

function linkText(url: string): string {
  return url.includes('/accounts/') ? 'Open the account in Plimsoll' : 'Open in Plimsoll'
}
