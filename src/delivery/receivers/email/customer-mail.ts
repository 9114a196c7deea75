import type { CustomerMessage } from '../../describe/customer-message.ts'
import type { MailBlock, MailContent, MailLine } from './mail-content.ts'

/** A mail in a customer's words; `from` is where a reply goes. */
export function customerContent(message: CustomerMessage, from: string): MailContent {
  const { subject, happened, limits, toDo, button, sender } = message
  const lines = limits.map(({ name, used, consequence, records }): MailLine => {
    const below = consequence === '' ? records : [{ text: consequence }, ...records]
    return { text: `${name}: ${used}`, below }
  })
  const blocks: (MailBlock | undefined)[] = [
    { is: 'text', text: ['Hello,', ...happened].join('\n\n') },
    lines.length === 0 ? undefined : { is: 'lines', title: 'Limits', lines },
    toDo.length === 0 ? undefined : { is: 'lines', title: 'What to do', lines: toDo.map((text) => ({ text })) },
    button === undefined ? undefined : { is: 'links', actions: [button] },
    { is: 'text', text: 'Questions? Reply to this mail.' },
  ]
  return {
    subject,
    badge: '',
    sections: [blocks.filter((block) => block !== undefined)],
    footer: `${sender}, ${addressIn(from)}\nYou get this mail because ${sender} was connected to your HubSpot account.`,
  }
}

/** Without the name, which is before it. */
export function addressIn(from: string): string {
  return from.replace(/^.*<(.+)>$/, '$1')
}
