import type { Message } from '../../alerts/alert.ts'
import { cleanText } from '../../text/clean-text.ts'
import { countOf } from '../../text/format-number.ts'
import { cutToFit, fitAlerts } from '../describe/fit-alerts.ts'
import type { AttemptOutcome } from '../receiver.ts'
import type { BodyContext } from '../receivers/receiver-kind.ts'
import { orFault, readTemplate, type Template, TemplateFault, type TemplateOptions } from './liquid.ts'
import { messageScope } from './template-fields.ts'

/** Texts in place of those of a message's receiver. */
export interface TemplateTexts {
  /** The subject or title: one line. */
  title?: string
  body?: string
  /** Why a text is missing: the message goes out without it. */
  fault?: string
}

/** A subject and a title are the same thing: mails have the one, services the other. */
export interface TemplateSettings {
  subject?: string | undefined
  title?: string | undefined
  body?: string | undefined
}

export type TemplateContext = Omit<BodyContext, 'groupBy'>
/** The context is that of one reader. */
export type TextsOf = (message: Message, context: TemplateContext) => TemplateTexts

const MOST_TITLE = 180

/** Texts of a receiver's messages in words of its config. `mostBytes`: of the body. */
export function messageTemplate(
  given: TemplateSettings | undefined,
  { escapeField, mostBytes }: TemplateOptions & { mostBytes: number },
): TextsOf {
  const line = given?.subject ?? given?.title
  const title = line === undefined ? undefined : readTemplate(line)
  const body = given?.body === undefined ? undefined : readTemplate(given.body, escapeField && { escapeField })
  if (title === undefined && body === undefined) return () => ({})
  return (message, context) => {
    const texts = orFault(() => {
      const shown = title && oneLine(title.text(messageScope(message, context)))
      const text = body && bodyOf(body, message, context, mostBytes)
      // One that is empty says nothing: the message is what it would be without.
      return { ...(shown && { title: shown }), ...(text && { body: text }) }
    })
    return texts instanceof TemplateFault ? { fault: `its template ${texts.message}` } : texts
  }
}

/** Sent all the same, and the log shows what was wrong. */
export function withFault(outcome: AttemptOutcome, fault: string | undefined): AttemptOutcome {
  if (fault === undefined || outcome.outcome !== 'delivered') return outcome
  return { ...outcome, detail: [outcome.detail ?? [], `sent without its template: ${fault}`].flat().join('; ') }
}

/**
 * Mail programs decode `=?utf-8?q?...?=` wherever it is: a text from outside could bring back with it what cleaning
 * took out.
 */
function oneLine(text: string): string {
  return cleanText(text, MOST_TITLE).replaceAll('=?', '= ?')
}

/** With as many alerts as fit; one that does not fit alone is cut. */
function bodyOf(body: Template, message: Message, context: TemplateContext, mostBytes: number): string {
  const make = (shown: Message) =>
    orFault(() => {
      const text = body.text(messageScope(shown, context)).trim()
      const left = message.data.alerts.length - shown.data.alerts.length
      return { text, note: left === 0 || text === '' ? '' : leftNote(left, context) }
    })
  const made = fitAlerts(message, make, (one) => !(one instanceof TemplateFault) && bytesOf(one) <= mostBytes, 1)
  if (made instanceof TemplateFault) throw made
  const { text, note } = made
  return cutToFit(text, (cut) => bytesOf({ text: cut, note }) <= mostBytes) + note
}

const bytesOf = ({ text, note }: { text: string; note: string }) => Buffer.byteLength(text + note)

function leftNote(left: number, { home, links }: TemplateContext): string {
  return `\n\n${countOf(left, 'more alert')} not shown${links?.isForCustomer ? '.' : `: ${home}`}`
}
