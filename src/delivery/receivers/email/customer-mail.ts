import { html } from '../../../text/html.ts'
import type { CustomerMessage } from '../../describe/customer-message.ts'
import { buttons, CELL, LINE, LINK_COLOR, mailPage, QUIET, TEXT } from './mail-page.ts'

/** Both parts of a customer's mail say the same; `from` is where a reply goes. */
export function customerText({ happened, limits, toDo, button, sender }: CustomerMessage, from: string): string {
  const blocks = [
    'Hello,',
    happened.join('\n'),
    limits.map(limitText).join('\n'),
    toDo.length === 0 ? '' : ['What to do:', ...toDo.map((one) => `  - ${one}`)].join('\n'),
    button === undefined ? '' : `${button.name}:\n${button.url}`,
    `${because(sender)}\nQuestions? Reply to this mail.`,
    `- ${sender}\n  ${addressIn(from)}`,
  ]
  return `${blocks.filter((block) => block !== '').join('\n\n')}\n`
}

function limitText({ name, used, consequence, records }: CustomerMessage['limits'][number]): string {
  const lines = records.flatMap(({ text, url }) => [`    ${text}`, url === undefined ? [] : `    ${url}`].flat())
  return [`  ${name}: ${used}`, consequence === '' ? [] : `    ${consequence}`, lines].flat().join('\n')
}

function because(sender: string): string {
  return `You get this mail because ${sender} was connected to your HubSpot account.`
}

/** Without the name, which is above it. */
function addressIn(from: string): string {
  return from.replace(/^.*<(.+)>$/, '$1')
}

export function customerHtml(message: CustomerMessage, from: string): string {
  const { subject, happened, limits, toDo, button, sender } = message
  const rows = limits.map(
    ({ name, used, consequence, records }) =>
      html`<tr valign="top"><td style="padding:8px 12px 8px 0;${LINE}"><b><bdi>${name}</bdi></b></td><td style="padding:8px 0;${LINE}">${used}${consequence === '' ? undefined : html`<br>${consequence}`}${records.map(({ text, url }) => html`<br>${url === undefined ? html`<bdi>${text}</bdi>` : html`<a href="${url}"><bdi>${text}</bdi></a>`}`)}</td></tr>\n`,
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
<p style="margin:0 0 16px">${sender}<br>${addressIn(from)}</p>
<p class="quiet" style="margin:0;${QUIET};font-size:12px">${because(sender)}</p>
</td></tr>`,
  )
}
