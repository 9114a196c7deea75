import { countOf, formatPercent } from '../../../text/format-number.ts'
import { Html, html } from '../../../text/html.ts'
import type { MailFact } from '../../describe/describe-alert.ts'
import { changeLine, type DescribedChanges } from '../../describe/describe-changes.ts'
import type { DescribedRecords } from '../../describe/describe-records.ts'
import { RECONNECT } from '../../describe/mail-links.ts'
import { eachWord } from '../../templates/own-links.ts'
import type { ListedAlert, MailContent } from './mail-content.ts'
import { buttons, CELL, LINE, mailPage, QUIET, QUIET_COLOR, TEXT } from './mail-page.ts'
import { barOf } from './text-part.ts'

const TABLE = `${TEXT};word-break:break-word`
const LABEL = `color:${QUIET_COLOR};font-weight:400;vertical-align:top`

const COLORS: Record<string, string> = { CRITICAL: '#c0271d', WARNING: '#b25000', RESOLVED: '#14764a' }
const OTHER_COLOR = '#2a5bb8'

const BADGE_STYLES = `
.badge { font-size: 11px; padding: 2px 6px; white-space: nowrap; }
.rows b { color: #ffffff; background: ${OTHER_COLOR}; }
${Object.entries(COLORS)
  .map(([badge, color]) => `.rows .${badge} { background: ${color}; }`)
  .join('\n')}`

/** Mail programs cut off a mail of more than about 100 kB, with its links and its end. In bytes, in this order. */
const ROOM_FOR_SECTIONS = 38_000
const ROOM_FOR_ROWS = 92_000

export function htmlPart(content: MailContent): string {
  const { badge, subject, own, footer } = content
  return mailPage(
    subject,
    colorOf(badge),
    html`${own === undefined ? alertRows(content) : ownRow(own)}
<tr><td class="cell line quiet" style="padding:14px 28px;${LINE};${QUIET};font-size:12px">${footer}</td></tr>`,
    BADGE_STYLES,
  )
}

function alertRows(content: MailContent): Html {
  const { badge, changes, summary, overview, omitted } = content
  const { sections, rows, left } = whatFits(content)
  return html`${summary === undefined ? undefined : noteRow(summary, sections.length === 0 ? html`${badgeMark(badge)} &nbsp;` : undefined)}
${overviewRow(overview)}
${sections}
${rows.length === 0 ? undefined : rankedTable(rows)}
${left === 0 ? undefined : noteRow(`${countOf(left, 'more alert')} in the plain text of this mail.`)}
${omitted === undefined ? undefined : noteRow(omitted)}
${changes === undefined ? undefined : changesRow(changes)}`
}

/** Text by a template of the config: its lines stay, its addresses can be followed, and nothing of it is markup. */
function ownRow(own: string): Html {
  const lines = own.split('\n').map((line, n) => {
    return html`${n === 0 ? undefined : html`<br>\n`}${withLinks(line)}`
  })
  return html`<tr><td class="cell text" style="${CELL};${TEXT};font-size:15px;line-height:22px;word-break:break-word">${lines}</td></tr>`
}

function withLinks(line: string): Html {
  const words = eachWord(line, (word) => (/^https?:\/\//.test(word) ? html`<a href="${word}">${word}</a>` : word))
  return html`${words.map((word) => html`${word}`)}`
}

/** The sections and rows that a mail program shows: a section that doesn't fit becomes a row, a row is only counted. */
function whatFits(content: MailContent): { sections: Html[]; rows: Html[]; left: number } {
  const { changes, summary, overview, sections, rows } = content
  const before = [changes === undefined ? undefined : changesRow(changes), overviewRow(overview)]
  let size = before.reduce((sum, row) => sum + (row === undefined ? 0 : Buffer.byteLength(row.toString())), 0)
  const take = (alerts: ListedAlert[], room: number, partOf: (alert: ListedAlert, n: number) => Html): Html[] => {
    const parts: Html[] = []
    for (const [n, alert] of alerts.entries()) {
      const part = partOf(alert, n)
      const bytes = Buffer.byteLength(part.toString())
      if (size + bytes > room) break
      size += bytes
      parts.push(part)
    }
    return parts
  }
  const whole = take(sections, ROOM_FOR_SECTIONS, (alert, n) => sectionRow(alert, n > 0 || summary !== undefined))
  const others = [...sections.slice(whole.length), ...rows]
  const lines = take(others, ROOM_FOR_ROWS, tableRow)
  return { sections: whole, rows: lines, left: others.length - lines.length }
}

function noteRow(note: string, mark?: Html): Html {
  return html`<tr><td class="cell text" style="${CELL};${TEXT};font-size:15px;line-height:22px">${mark}${note}</td></tr>`
}

/** A line for each alert, before the sections. */
function overviewRow(overview: MailContent['overview']): Html | undefined {
  if (overview.length === 0) return undefined
  return html`<tr><td class="cell text rows" style="padding:0 28px 12px;${TEXT};font-size:14px;line-height:20px;word-break:break-word">${overview.map(
    ({ badge, line, url }) =>
      html`<div style="padding-bottom:8px">${badgeMark(badge)} &nbsp;${linked(line, url)}</div>\n`,
  )}</td></tr>`
}

/** The end of a digest. */
function changesRow({ line, note, groups, more }: DescribedChanges): Html {
  const end = withLinks([more, note ?? []].flat().join(' '))
  const quiet = html`<div class="quiet" style="${QUIET};font-size:13px;padding-top:8px">${end}</div>`
  const lists = groups.map(
    ({ title, accounts }) => html`<div style="padding-top:10px"><b>${title}</b></div>
${accounts.map((one) => html`<div style="word-break:break-word"><bdi>${changeLine(one)}</bdi></div>\n`)}`,
  )
  return html`<tr><td class="cell line text" style="${CELL};${TEXT};font-size:14px;line-height:21px;${LINE}"><div style="font-size:15px">${line}</div>
${lists}${quiet}</td></tr>`
}

function sectionRow(alert: ListedAlert, below: boolean): Html {
  const { badge, heading, headline, details, percent, facts, records, actions } = alert
  return html`<tr><td class="cell line" style="${CELL}${below ? `;${LINE}` : ''}">
${heading === undefined ? undefined : html`<div class="text" style="${TEXT};font-size:15px;line-height:22px;padding-bottom:12px;word-break:break-word"><b><bdi>${heading}</bdi></b></div>`}
<div class="text" style="${TEXT};font-size:18px;line-height:26px;word-break:break-word">${badgeMark(badge)} &nbsp;<bdi>${headline}.</bdi></div>
${details === '' ? undefined : html`<div class="text" style="${TEXT};font-size:15px;line-height:22px;padding-top:8px;word-break:break-word">${details}</div>`}
${percent === undefined ? undefined : fullnessBar(percent, badge)}
${facts.length === 0 ? undefined : factsTable(facts)}
${buttons(actions)}
${records === undefined ? undefined : recordsTable(records)}
</td></tr>
`
}

/** A bar of fullness; the part over the limit is behind a gap. */
function fullnessBar(percent: number, badge: string): Html {
  const { filled, over, empty } = barOf(percent)
  const part = (width: number, look: string, kind = '') =>
    width === 0
      ? undefined
      : html`<td${new Html(kind)} width="${width}%" height="10" style="width:${width}%;height:10px;${look};font-size:0;line-height:0">&nbsp;</td>`
  return html`<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="margin-top:14px"><tr>
<td><table role="img" aria-label="${formatPercent(percent)} used" width="100%" cellpadding="0" cellspacing="0" border="0" style="table-layout:fixed"><tr>${part(filled, `background:${colorOf(badge)}`)}${part(over, `background:${colorOf(badge)};border-left:3px solid #ffffff`)}${part(empty, 'background:#e2e6eb', ' class="track"')}</tr></table></td>
<td class="text" align="right" width="64" style="width:64px;${TEXT};font-size:14px;font-weight:600;white-space:nowrap">${formatPercent(percent)}</td>
</tr></table>`
}

function factsTable(facts: MailFact[]): Html {
  const rows = facts.map((fact) => {
    const name = html`<th class="quiet" align="left" width="84" style="${LABEL}">${fact.name}</th>`
    return html`<tr>${name}<td>${fact.value}</td></tr>\n`
  })
  return html`<table class="text" width="100%" cellpadding="3" cellspacing="0" border="0" style="${TABLE};margin:14px 0 0 -3px;font-size:14px;line-height:20px">${rows}</table>`
}

function recordsTable({ rows, note, left }: DescribedRecords): Html {
  const areNamed = rows.some(({ label }) => label !== undefined)
  const lines = rows.map(
    ({ label, id, usage, isNew, url }) =>
      html`<tr>${areNamed ? html`<td><bdi>${label ?? ''}</bdi>${isNew ? NEW : undefined}</td>` : undefined}<td nowrap>${url === undefined ? html`<i>${id}</i>` : linked(id, url)}${isNew && !areNamed ? NEW : undefined}</td><td align="right" nowrap>${usage}</td></tr>
`,
  )
  const table = html`
<table class="text rows" width="100%" cellpadding="5" cellspacing="0" border="0" style="${TABLE};margin-top:4px;font-size:14px;line-height:20px">
<tr>${areNamed ? heading('Record') : undefined}${heading('Id')}${heading('Associations', 'right')}</tr>
${lines}</table>`
  return html`<div class="text" style="${TEXT};font-size:14px;font-weight:600;padding-top:18px">Records <span class="quiet" style="${QUIET};font-weight:400">(${note})</span></div>${rows.length === 0 ? undefined : table}${left === undefined ? undefined : html`<div class="quiet" style="${QUIET};font-size:13px;line-height:18px;padding-top:6px;word-break:break-word">${left}</div>`}`
}

const NEW = html` <b class="badge">NEW</b>`

/** A row for each account and each alert. Kept short, with what cells can inherit on the table: there may be hundreds of them. */
function rankedTable(rows: Html[]): Html {
  return html`<tr><td class="cell line" style="${CELL};${LINE}"><table class="text rows" width="100%" cellpadding="6" cellspacing="0" border="0" style="${TABLE};border-collapse:collapse;font-size:13px;line-height:18px">
<tr>${heading('What')}${heading('Used', 'right')}${heading('Days left', 'right')}</tr>
${rows}</table></td></tr>`
}

function tableRow({ badge, heading, topic, percent, limit, daysLeft, url, actions }: ListedAlert): Html {
  const account =
    heading === undefined ? undefined : html`<tr><th align="left" colspan="3">${linked(heading, url)}</th></tr>`
  const what = html`<b class="badge ${badge}">${badge}</b> <bdi>${topic}</bdi>${actions.flatMap(({ name, url }) => (name === RECONNECT ? [html` ${linked(name, url)}`] : []))}`
  // A row without a share has the width of the numbers for its words.
  if (percent === undefined && daysLeft === undefined) {
    return html`${account}<tr valign="top"><td colspan="3">${what}</td></tr>
`
  }
  return html`${account}<tr valign="top"><td>${what}</td><td align="right" nowrap>${percent === undefined ? undefined : fullness(percent, limit)}</td><td align="right" nowrap>${daysLeft ?? ''}</td></tr>
`
}

function heading(name: string, align: 'left' | 'right' = 'left'): Html {
  return html`<th class="quiet" scope="col" align="${align}" style="${LABEL};font-size:12px;white-space:nowrap">${name}</th>`
}

function linked(text: string, url: string | undefined): Html {
  const name = html`<bdi>${text}</bdi>`
  return url === undefined ? name : html`<a href="${url}">${name}</a>`
}

function fullness(percent: number, limit: string | undefined): Html {
  return html`${formatPercent(percent)}${limit === undefined ? undefined : html`<br><i>of ${limit}</i>`}`
}

function badgeMark(badge: string): Html {
  return html`<b class="badge" style="background:${colorOf(badge)};color:#ffffff">${badge}</b>`
}

function colorOf(badge: string): string {
  return COLORS[badge] ?? OTHER_COLOR
}
