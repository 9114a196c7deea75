import { formatPercent } from '../../../text/format-number.ts'
import { Html, html } from '../../../text/html.ts'
import type { Action } from '../../describe/mail-links.ts'
import { eachWord } from '../../templates/own-links.ts'
import type { MailBlock, MailContent, MailLine } from './mail-content.ts'

const FONTS = "-apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"
const COLOR = '#1c2430'
const QUIET = '#5a6575'
const LINE = 'border-top:1px solid #e2e6eb'
const LINK = '#0b5cc4'
const BUTTON = `display:inline-block;margin:10px 6px 0 0;padding:11px 12px;font-size:14px;line-height:20px;font-weight:600;text-decoration:none;border:1px solid ${LINK}`
const COLORS: Record<string, string> = { CRITICAL: '#c0271d', WARNING: '#b25000', RESOLVED: '#14764a' }
const OTHER_COLOR = '#2a5bb8'

/**
 * Mail programs are browsers of twenty years ago: layout by tables, styles on each element, no pictures and nothing
 * loaded from elsewhere. The style sheet only adds what is lost without harm: dark colors, small screens, and what would
 * make each row of a long table longer.
 */
const STYLE_SHEET = new Html(`
:root { color-scheme: light dark; supported-color-schemes: light dark; }
td, th, div, a { font-family: ${FONTS}; }
.badge { font-size: 11px; padding: 2px 6px; white-space: nowrap; }
.lines a { color: ${LINK}; }
.lines .badge { color: #ffffff; background: ${OTHER_COLOR}; }
${Object.entries(COLORS)
  .map(([badge, color]) => `.lines .${badge} { background: ${color}; }`)
  .join('\n')}
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
  .text a { color: #8ab8ff !important; }
  .plain { border-color: #4a5566 !important; color: #8ab8ff !important; }
}`)

/** Mail programs cut off a mail of more than about 100 kB, with its links and its end. In bytes. */
const ROOM = 92_000
const ROOM_FOR_LINES = 76_000

export function htmlPart({ subject, badge, sections, footer }: MailContent): string {
  const parts: Html[] = []
  let size = 0
  for (const blocks of sections) {
    const part = sectionHtml(blocks, parts.length > 0, ROOM_FOR_LINES - size)
    size += Buffer.byteLength(part.toString())
    if (size <= ROOM) parts.push(part)
  }
  if (size > ROOM) parts.push(sectionHtml([{ is: 'text', text: 'The plain text of this mail has more.' }], true, 0))
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
<table role="presentation" class="card" width="640" cellpadding="0" cellspacing="0" border="0" style="width:100%;max-width:640px;font-family:${FONTS};background:#ffffff;border:1px solid #e2e6eb;border-top:4px solid ${colorOf(badge)}">
${parts}
<tr><td class="cell line quiet" style="padding:14px 28px;${LINE};color:${QUIET};font-size:12px">${withBreaks(footer)}</td></tr>
</table>
</td></tr>
</table>
</body>
</html>
`.toString()
}

function sectionHtml(blocks: readonly MailBlock[], isBelow: boolean, room: number): Html {
  return html`<tr><td class="cell line" style="padding:14px 28px 20px${isBelow ? `;${LINE}` : ''}">
${blocks.map((block) => blockHtml(block, room))}</td></tr>
`
}

function blockHtml(block: MailBlock, room: number): Html {
  switch (block.is) {
    case 'text': {
      const { text, look, hasLinks } = block
      const words = withBreaks(text, hasLinks)
      return box(look === 'strong' ? html`<b>${words}</b>` : words, look === 'quiet' ? 13 : 15, look === 'quiet')
    }
    case 'headline': {
      const details = block.details === '' ? undefined : box(html`${block.details}`)
      return html`${box(html`${badgeMark(block.badge)} &nbsp;<bdi>${block.text}</bdi>`, 18)}${details}`
    }
    case 'bar':
      return barHtml(block.percent, block.badge)
    case 'facts':
      return factsHtml(block.facts)
    case 'links':
      return buttonsHtml(block.actions)
    case 'lines':
      return linesHtml(block, room)
  }
}

function box(content: Html, size = 15, isQuiet = false): Html {
  const [kind, color] = isQuiet ? ['quiet', QUIET] : ['text', COLOR]
  return html`<div class="${kind}" style="color:${color};font-size:${size}px;line-height:1.45;padding-top:6px;word-break:break-word">${content}</div>
`
}

/** Kept short, with what lines can inherit around them: there may be hundreds. */
function linesHtml({ title, lines }: Extract<MailBlock, { is: 'lines' }>, room: number): Html {
  const shown: Html[] = title === undefined ? [] : [html`<div><b>${title}</b></div>`]
  let size = 0
  for (const line of lines.map(lineHtml)) {
    size += Buffer.byteLength(line.toString())
    if (size <= room) shown.push(line)
  }
  const more = size > room ? html`<div>The plain text of this mail has more.</div>` : undefined
  return html`<div class="text lines" style="color:${COLOR};font-size:14px;line-height:22px;padding-top:8px;word-break:break-word">${shown}${more}</div>
`
}

function lineHtml({ badge, text, url, below = [] }: MailLine): Html {
  const mark = badge === undefined ? undefined : html`<b class="badge ${badge}">${badge}</b> `
  const deeper = below.length === 0 ? undefined : html`<div style="padding-left:16px">${below.map(lineHtml)}</div>`
  return html`<div>${mark}${linked(text, url)}</div>${deeper}
`
}

/** Lines stay, and nothing is markup. */
function withBreaks(text: string, hasLinks = false): Html {
  const words = (line: string) =>
    eachWord(line, (word) => (hasLinks && /^https?:\/\//.test(word) ? html`<a href="${word}">${word}</a>` : word)).map(
      (word) => html`${word}`,
    )
  return html`${text.split('\n').map((line, n) => html`${n === 0 ? undefined : html`<br>\n`}<bdi>${words(line)}</bdi>`)}`
}

/** A bar of fullness: full only at 100 %, empty only at 0. The part over the limit is behind a gap. */
function barHtml(percent: number, badge: string): Html {
  const least = percent > 0 ? 1 : 0
  const filled = Math.min(
    percent > 100 ? 99 : 100,
    Math.max(least, Math.floor(percent > 100 ? 10_000 / percent : percent)),
  )
  const [over, empty] = percent > 100 ? [100 - filled, 0] : [0, 100 - filled]
  const part = (width: number, look: string, kind = '') =>
    width === 0
      ? undefined
      : html`<td${new Html(kind)} width="${width}%" height="10" style="width:${width}%;height:10px;${look};font-size:0;line-height:0">&nbsp;</td>`
  return html`<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="margin-top:14px"><tr>
<td><table role="img" aria-label="${formatPercent(percent)} used" width="100%" cellpadding="0" cellspacing="0" border="0" style="table-layout:fixed"><tr>${part(filled, `background:${colorOf(badge)}`)}${part(over, `background:${colorOf(badge)};border-left:3px solid #ffffff`)}${part(empty, 'background:#e2e6eb', ' class="track"')}</tr></table></td>
<td class="text" align="right" width="64" style="width:64px;color:${COLOR};font-size:14px;font-weight:600;white-space:nowrap">${formatPercent(percent)}</td>
</tr></table>
`
}

function factsHtml(facts: readonly { name: string; value: string }[]): Html {
  const rows = facts.map(({ name, value }) => {
    return html`<tr><th class="quiet" align="left" valign="top" width="84" style="color:${QUIET};font-weight:400">${name}</th><td>${value}</td></tr>\n`
  })
  return html`<table class="text" width="100%" cellpadding="3" cellspacing="0" border="0" style="color:${COLOR};word-break:break-word;margin:14px 0 0 -3px;font-size:14px;line-height:20px">${rows}</table>
`
}

/** Large enough for a thumb; the first is what to do first. */
function buttonsHtml(actions: readonly Action[]): Html {
  const links = actions.map(({ name, url }, n) => {
    const [look, kind] = n === 0 ? [`color:#ffffff;background:${LINK}`, ''] : [`color:${LINK}`, ' plain']
    return html`<a class="button${kind}" href="${url}" style="${BUTTON};${look}">${name}</a> `
  })
  return html`<div style="padding-top:6px">${links}</div>
`
}

function linked(text: string, url: string | undefined): Html {
  const name = html`<bdi>${text}</bdi>`
  return url === undefined ? name : html`<a href="${url}">${name}</a>`
}

function badgeMark(badge: string): Html {
  return html`<b class="badge" style="background:${colorOf(badge)};color:#ffffff">${badge}</b>`
}

function colorOf(badge: string): string {
  return COLORS[badge] ?? OTHER_COLOR
}
