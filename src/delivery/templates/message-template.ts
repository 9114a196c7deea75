import { inOrder, type Message } from '../../alerts/alert.ts'
import { cleanText, shorten } from '../../text/clean-text.ts'
import { countOf } from '../../text/format-number.ts'
import type { AttemptOutcome } from '../receiver.ts'
import type { BodyContext } from '../receivers/receiver-kind.ts'
import { readTemplate, type Template, TemplateFault, type TemplateOptions } from './liquid.ts'
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
    try {
      const shown = title && oneLine(title.text(messageScope(message, context)))
      const text = body && bodyOf(body, message, context, mostBytes)
      // One that is empty says nothing: the message is what it would be without.
      return { ...(shown && { title: shown }), ...(text && { body: text }) }
    } catch (error) {
      if (!(error instanceof TemplateFault)) throw error
      return { fault: `its template ${error.message}` }
    }
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
  const all = message.data.alerts.length
  for (let shown = all; ; shown = Math.floor(shown / 2)) {
    try {
      const text = body.text(messageScope(withFirst(message, shown), context)).trim()
      const note = shown === all || text === '' ? '' : leftNote(all - shown, context)
      if (Buffer.byteLength(text + note) <= mostBytes) return text + note
      if (shown <= 1) return cutTo(text, mostBytes - Buffer.byteLength(note)) + note
    } catch (error) {
      if (shown <= 1) throw error
    }
  }
}

function leftNote(left: number, { home, links }: TemplateContext): string {
  return `\n\n${countOf(left, 'more alert')} not shown${links?.isForCustomer ? '.' : `: ${home}`}`
}

/** The same with so many of its alerts. */
export function withFirst(message: Message, count: number): Message {
  const { data } = message
  const left = data.alerts.length - count
  if (left <= 0) return message
  return { ...message, data: { ...data, truncated: data.truncated + left, alerts: inOrder(message).slice(0, count) } }
}

function cutTo(text: string, mostBytes: number): string {
  for (let most = mostBytes; ; most = Math.floor(most * 0.8)) {
    const cut = shorten(text, most)
    if (Buffer.byteLength(cut) <= mostBytes) return cut
  }
}
