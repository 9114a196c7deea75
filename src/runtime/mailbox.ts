/** One address and nothing else: no name, no comment, no second one, and nothing that could begin another header. */
const MAILBOX = /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[\p{L}\p{N}]([\p{L}\p{N}.-]*[\p{L}\p{N}])?$/u

/** No server takes a longer one (RFC 5321, 4.5.3.1.3). */
export const LONGEST_MAILBOX = 254

export function isMailbox(text: string): boolean {
  return text.length <= LONGEST_MAILBOX && MAILBOX.test(text) && !/@.*\.\./.test(text)
}

/** The rule for mailboxes, for people. */
export const MUST_BE_MAILBOX = 'must be one e-mail address, like ada@example.com'
