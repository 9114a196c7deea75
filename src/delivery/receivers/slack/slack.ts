import * as z from 'zod'
import type { Message } from '../../../alerts/alert.ts'
import { shorten } from '../../../text/clean-text.ts'
import { countOf } from '../../../text/format-number.ts'
import { formatTime } from '../../../text/format-time.ts'
import { fitAlerts } from '../../describe/fit-alerts.ts'
import { type OutlinePart, outlineOf, withoutMarkup } from '../../describe/outline.ts'
import { subjectLine } from '../../describe/subject.ts'
import type { TemplateTexts } from '../../templates/message-template.ts'
import { escapeMarkup } from '../../templates/own-links.ts'
import { createBodyReceiver } from '../body-receiver.ts'
import { messageSettings, postAddress, posted } from '../common-settings.ts'
import { createPost, postWayOut, readService } from '../http-post.ts'
import { reachAddress } from '../reach-address.ts'
import type { BodyContext, ReceiverKind, SettingsOf } from '../receiver-kind.ts'

/** Slack's own limits: a longer message is refused whole. */
const MOST_BLOCKS = 50
const MOST_HEADER = 150
const MOST_TEXT = 3_000
const MOST_FIELD = 2_000
const MOST_FIELDS = 10

const slackSettings = posted(
  z.strictObject({
    type: z.literal('slack').describe('A message per group of alerts, by an incoming webhook of Slack.'),
    url: postAddress().describe('The address of the incoming webhook.'),
    ...messageSettings(),
  }),
)

export const slack = {
  settings: slackSettings,
  create: ({ url, template }, context) =>
    createBodyReceiver(context, {
      type: 'slack',
      template,
      bodyOf: slackBody,
      post: createPost({ name: context.receiver, proxyFor: context.proxyFor, url }, readSlack),
      texts: { escapeField: (text) => escaped(escapeMarkup(context.home)(text)), mostBytes: MOST_TEXT },
    }),
  reach: reachAddress,
  wayOut: (place, answer) => postWayOut(place, answer),
} satisfies ReceiverKind<SettingsOf<typeof slackSettings>>

/** A hook that was taken away never comes back; its channel may. */
const GONE =
  /^(invalid_token|no_service(_id)?|no_active_hooks|no_team|team_disabled|action_prohibited|posting_to_general_channel_denied)$/

const readSlack = readService(
  { status: [400, 403], says: GONE, is: 'final' },
  { status: 404, is: 'final' },
  { status: 410, is: 'final' },
  { status: 400, says: /^[a-z]+(_[a-z]+)+$/, is: 'message' },
  { status: 413, is: 'message' },
)

/**
 * A message for an incoming webhook of Slack. Text from outside is `plain_text`, which Slack shows unchanged:
 * no label makes a link, calls a channel or puts on bold. Other services that take this shape show `text` alone,
 * so that is whole in itself.
 */
export function slackBody(
  message: Message,
  { home, links = {} }: BodyContext,
  { title, body }: TemplateTexts = {},
): string {
  const subject = title ?? subjectLine(message)
  const content = (shown: Message) => {
    const left = shown.data.truncated
    const more = footer(`${countOf(left, 'more alert')} not shown: ${link(home, 'status page')}`)
    return [...outlineOf(shown, links).flatMap(blocksOf), ...(left > 0 ? [more] : [])]
  }
  const blocks = (shown: Message) => [
    { type: 'header', text: plain(subject, MOST_HEADER) },
    ...(body === undefined ? content(shown) : [ownBody(body)]),
    footer(`Sent by Plimsoll, ${formatTime(message.timestamp)}.`),
  ]
  return JSON.stringify({
    text: escaped(withoutMarkup(subject)),
    blocks: fitAlerts(message, blocks, ({ length }) => length <= MOST_BLOCKS),
  })
}

/** By a template of the config: its signs are markup, and what its fields put in is escaped. */
function ownBody(body: string) {
  return { type: 'section', text: { type: 'mrkdwn', text: body, verbatim: true } }
}

function blocksOf({ lines, facts, actions }: OutlinePart): object[] {
  const fields = facts.slice(0, MOST_FIELDS).map(({ name, value }) => plain(`${name}\n${value}`, MOST_FIELD))
  const text = lines.length > 0 && { text: plain(lines.join('\n'), MOST_TEXT) }
  return [
    { type: 'section', ...text, ...(fields.length > 0 && { fields }) },
    ...(actions.length > 0 ? [footer(actions.map(({ name, url }) => link(url, name)).join(' · '))] : []),
  ]
}

function plain(text: string, most: number) {
  return { type: 'plain_text', text: shorten(text, most), emoji: false }
}

/** Only for text of our own: Slack reads its markup. */
function footer(markup: string) {
  return { type: 'context', elements: [{ type: 'mrkdwn', text: markup, verbatim: true }] }
}

function link(url: string, text: string): string {
  return `<${escaped(url.replaceAll('|', '%7C'))}|${text}>`
}

/** Slack's three escapes: without these characters nothing is a link or a mention. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
