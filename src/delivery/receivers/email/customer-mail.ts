import { html } from '../../../text/html.ts'
import type { CustomerMessage } from '../../describe/customer-message.ts'

const FONTS = "-apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"
const LINE = 'border-top:1px solid #e2e6eb'

/** Both parts of a customer's mail say the same; `from` is where a reply goes. */
export function customerText({ happened, limits, toDo, button, sender }: CustomerMessage, from: string): string {
  const blocks = [
    'Hello,',
    happened.join('\n'),
    limits.flatMap(({ name, used, records }) => [`  ${name}: ${used}`, ...records.map(recordText)]).join('\n'),
    toDo.length === 0 ? '' : ['What to do:', ...toDo.map((one) => `  - ${one}`)].join('\n'),
    button === undefined ? '' : `${button.name}:\n${button.url}`,
    'Questions? Reply to this mail.',
    `- ${sender}\n  ${from}`,
  ]
  return `${blocks.filter((block) => block !== '').join('\n\n')}\n`
}

function recordText({ text, url }: CustomerMessage['limits'][number]['records'][number]): string {
  return `    ${text}${url === undefined ? '' : `\n    ${url}`}`
}

export function customerHtml(message: CustomerMessage, from: string): string {
  const { subject, happened, limits, toDo, button, sender } = message
  const rows = limits.map(
    ({ name, used, records }) =>
      html`<tr valign="top"><td style="padding:8px 12px 8px 0;${LINE}"><b><bdi>${name}</bdi></b></td><td style="padding:8px 0;${LINE}">${used}${records.map(({ text, url }) => html`<br>${url === undefined ? html`<bdi>${text}</bdi>` : html`<a href="${url}"><bdi>${text}</bdi></a>`}`)}</td></tr>\n`,
  )
  const list = html`<p style="margin:16px 0 4px"><b>What to do</b></p>
<ul style="margin:0 0 16px;padding-left:20px">${toDo.map((one) => html`<li>${one}</li>`)}</ul>`
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${subject}</title>
<style>
:root { color-scheme: light dark; }
@media (prefers-color-scheme: dark) {
  .page { background: #14171c !important; }
  .card { background: #1e232b !important; border-color: #333b47 !important; }
  .card, .card td, .card p, .card li { color: #e8eaee !important; border-color: #333b47 !important; }
}
</style>
</head>
<body class="page" style="margin:0;padding:0;background:#f1f3f6">
<table role="presentation" class="page" width="100%" cellpadding="0" cellspacing="0" border="0" style="background:#f1f3f6">
<tr><td align="center" style="padding:24px 12px">
<table role="presentation" class="card" width="600" cellpadding="0" cellspacing="0" border="0" style="width:100%;max-width:600px;font-family:${FONTS};font-size:15px;line-height:22px;color:#1c2430;background:#ffffff;border:1px solid #e2e6eb">
<tr><td style="padding:24px 28px;word-break:break-word">
<p style="margin:0 0 16px">Hello,</p>
${happened.map((sentence) => html`<p style="margin:0 0 12px">${sentence}</p>\n`)}
${rows.length === 0 ? undefined : html`<table width="100%" cellpadding="0" cellspacing="0" border="0" aria-label="Limits" style="font-size:15px;line-height:22px">${rows}</table>`}
${toDo.length === 0 ? undefined : list}
${button === undefined ? undefined : html`<p style="margin:20px 0"><a href="${button.url}" style="display:inline-block;padding:12px 20px;font-weight:600;text-decoration:none;color:#ffffff;background:#0b5cc4">${button.name}</a></p>`}
<p style="margin:16px 0">Questions? Reply to this mail.</p>
<p style="margin:0">${sender}<br>${from}</p>
</td></tr>
</table>
</td></tr>
</table>
</body>
</html>
`.toString()
}
