import { html } from '../../../text/html.ts'
import type { CustomerMessage } from '../../describe/customer-message.ts'
import { buttons, CELL, LINE, LINK_COLOR, mailPage, TEXT } from './mail-page.ts'

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
  return mailPage(
    subject,
    LINK_COLOR,
    html`<tr><td class="cell text" style="${CELL};${TEXT};font-size:15px;line-height:22px;word-break:break-word">
<p style="margin:0 0 16px">Hello,</p>
${happened.map((sentence) => html`<p style="margin:0 0 12px">${sentence}</p>\n`)}
${rows.length === 0 ? undefined : html`<table class="text rows" width="100%" cellpadding="0" cellspacing="0" border="0" aria-label="Limits" style="${TEXT};font-size:15px;line-height:22px">${rows}</table>`}
${toDo.length === 0 ? undefined : list}
${button === undefined ? undefined : buttons([button])}
<p style="margin:16px 0">Questions? Reply to this mail.</p>
<p style="margin:0">${sender}<br>${from}</p>
</td></tr>`,
  )
}
