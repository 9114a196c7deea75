import * as z from 'zod'
import type { Message } from '../../../alerts/alert.ts'
import { countOf } from '../../../text/format-number.ts'
import { formatTime } from '../../../text/format-time.ts'
import { fitAlerts } from '../../describe/fit-alerts.ts'
import type { Action } from '../../describe/mail-links.ts'
import { type OutlinePart, outlineOf, withoutMarkup } from '../../describe/outline.ts'
import { subjectLine } from '../../describe/subject.ts'
import type { AttemptOutcome } from '../../receiver.ts'
import type { TemplateTexts } from '../../templates/message-template.ts'
import { escapeMarkup } from '../../templates/own-links.ts'
import { createBodyReceiver } from '../body-receiver.ts'
import { messageSettings, postAddress, posted } from '../common-settings.ts'
import { createPost, type PostAnswer, postWayOut, readService } from '../http-post.ts'
import { reachAddress } from '../reach-address.ts'
import type { BodyContext, ReceiverKind, SettingsOf } from '../receiver-kind.ts'

/** Teams refuses 28,672 bytes, counted after it has expanded what was sent by up to a fifth. */
const MOST_BYTES = 20_000
/** Longest body by a template: in JSON each of its characters may become two. */
const MOST_OWN_BODY = 8_000
/** Teams shows so many buttons. */
const MOST_ACTIONS = 6

const teamsSettings = posted(
  z.strictObject({
    type: z.literal('teams').describe('A card per group of alerts, by a workflow of Microsoft Teams.'),
    url: postAddress().describe(
      'The address of a workflow that posts to a channel "when a webhook request is received".',
    ),
    ...messageSettings(),
  }),
)

export const teams = {
  settings: teamsSettings,
  create: ({ url, template }, context) =>
    createBodyReceiver(context, {
      type: 'teams',
      template,
      bodyOf: teamsBody,
      post: createPost({ name: context.receiver, proxyFor: context.proxyFor, url }, readTeams),
      texts: { escapeField: escapeMarkup(context.home), mostBytes: MOST_OWN_BODY },
    }),
  reach: reachAddress,
  wayOut: (place, answer) =>
    answer === 400
      ? 'turn the workflow on in Teams'
      : answer === 401 || answer === 404
        ? `make a workflow in Teams, and put its address into ${place}.url`
        : postWayOut(place, answer),
} satisfies ReceiverKind<SettingsOf<typeof teamsSettings>>

const meaningOf = readService(
  { status: 404, says: /WorkflowNotFound/, is: 'final' },
  { status: 400, says: /WorkflowTriggerIsNotEnabled/, is: 'final' },
  { status: 401, is: 'final' },
  { status: 400, says: /TriggerInputSchemaMismatch|InvalidRequestContent/, is: 'message' },
  { status: 413, is: 'message' },
  { status: [200, 299], says: /HTTP error 413/i, is: 'message' },
  { status: [200, 299], says: /HTTP error \d{3}/i, is: 'later' },
)

function readTeams(answer: PostAnswer): AttemptOutcome {
  const outcome = meaningOf(answer)
  return outcome.outcome === 'delivered'
    ? { ...outcome, detail: 'accepted: the channel shows whether it arrived' }
    : outcome
}

/** One adaptive card. Without `fallbackText` its notice would be empty. */
function teamsBody(message: Message, { home, links = {} }: BodyContext, texts: TemplateTexts = {}): string {
  const subject = withoutMarkup(texts.title ?? subjectLine(message))
  const title = text(subject, { weight: 'Bolder', size: 'Medium' })
  const footer = text(`Sent by Plimsoll, ${formatTime(message.timestamp)}.`, { isSubtle: true, size: 'Small' })
  if (texts.body !== undefined) return cardOf(subject, [title, text(texts.body), footer], [])
  const isOne = message.data.alerts.length === 1
  const render = (shown: Message) => {
    const left = shown.data.truncated
    const more = text(`${countOf(left, 'more alert')} not shown: ${link({ name: 'status page', url: home })}`)
    const parts = outlineOf(shown, links)
    const body = [title, ...parts.flatMap((part) => blocksOf(part, isOne, home)), ...(left > 0 ? [more] : []), footer]
    const actions = isOne ? parts.flatMap((part) => part.actions).slice(0, MOST_ACTIONS) : []
    return cardOf(subject, body, actions)
  }
  return fitAlerts(message, render, (card) => Buffer.byteLength(card) < MOST_BYTES)
}

function cardOf(fallbackText: string, body: object[], actions: readonly Action[]): string {
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.2',
    fallbackText,
    body,
    actions: actions.map(({ name, url }) => ({ type: 'Action.OpenUrl', title: name, url })),
    msteams: { width: 'full' },
  }
  const contentType = 'application/vnd.microsoft.card.adaptive'
  return JSON.stringify({ type: 'message', attachments: [{ contentType, contentUrl: null, content }] })
}

function blocksOf({ lines, facts, actions }: OutlinePart, isOne: boolean, home: string): object[] {
  const shown = facts.map(({ name, value }) => ({ title: withoutMarkup(name), value: withoutMarkup(value) }))
  return [
    ...lines.map((line, n) =>
      text(
        escapeMarkup(home)(line),
        n > 0 ? { spacing: 'None' } : { separator: true, weight: isOne ? 'Default' : 'Bolder' },
      ),
    ),
    ...(shown.length === 0 ? [] : [{ type: 'FactSet', facts: shown }]),
    ...(isOne || actions.length === 0 ? [] : [text(actions.map(link).join(' · '), { spacing: 'None' })]),
  ]
}

/** Teams reads it as markup, so texts from outside lose theirs first. */
function text(words: string, look: object = {}): object {
  return { type: 'TextBlock', text: words, wrap: true, ...look }
}

function link({ name, url }: Action): string {
  return `[${name}](${url.replaceAll('(', '%28').replaceAll(')', '%29')})`
}
