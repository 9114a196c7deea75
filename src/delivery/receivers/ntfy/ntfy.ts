import * as z from 'zod'
import { secret, webAddress } from '../../../../config/schema/secrets.ts'
import { plainText } from '../../../../config/schema/values.ts'
import type { Message } from '../../../alerts/alert.ts'
import { outlineOf, outlineText } from '../../describe/outline.ts'
import { badgeOfMessage, subjectLine } from '../../describe/subject.ts'
import { markOf } from '../../receiver.ts'
import type { TemplateTexts } from '../../templates/message-template.ts'
import { createBodyReceiver } from '../body-receiver.ts'
import { messageSettings, posted } from '../common-settings.ts'
import { createPost, postWayOut, readService } from '../http-post.ts'
import { reachAddress } from '../reach-address.ts'
import type { BodyContext, ReceiverKind, SettingsOf } from '../receiver-kind.ts'

/** A longer message becomes an attached file. */
const MOST_BYTES = 4_096
const PRIORITY: Record<string, number> = { CRITICAL: 5, WARNING: 4, TEST: 2 }

const ntfySettings = posted(
  z.strictObject({
    type: z.literal('ntfy').describe('A notification per group of alerts, by ntfy.sh or your own ntfy.'),
    url: webAddress().describe('The server: https://ntfy.sh.'),
    topic: plainText(/^[-_A-Za-z0-9]{1,64}$/, 'must be a topic of letters, digits, _ and -').describe(
      'What phones subscribe to.',
    ),
    token: secret().exactOptional().describe('An access token, where the topic is protected.'),
    ...messageSettings(),
  }),
)

export const ntfy = {
  settings: ntfySettings,
  create: ({ url, topic, token, template }, context) =>
    createBodyReceiver(context, {
      type: 'ntfy',
      template,
      texts: { mostBytes: MOST_BYTES - 1 },
      post: {
        ...createPost(
          {
            name: context.receiver,
            proxyFor: context.proxyFor,
            url: `${url}/`,
            repeated: token === undefined ? [] : [token],
          },
          readNtfy,
        ),
        address: markOf(`${url}/${topic}`),
      },
      headers: token === undefined ? {} : { authorization: `Bearer ${token.reveal()}` },
      bodyOf: (...shown) => ntfyBody(topic, ...shown),
    }),
  reach: reachAddress,
  wayOut: (place, answer) => postWayOut(place, answer, 'token'),
} satisfies ReceiverKind<SettingsOf<typeof ntfySettings>>

/** The numbers are ntfy's own: a proxy in front of it has none. */
const readNtfy = readService(
  { status: 401, says: /^401\d\d\b/, is: 'final' },
  { status: 403, says: /^403\d\d\b/, is: 'final' },
  { status: 400, says: /^400\d\d\b/, is: 'message' },
  { status: 413, is: 'message' },
)

/** Plain text: ntfy reads no markup of its own accord. */
function ntfyBody(topic: string, message: Message, { home, links = {} }: BodyContext, texts: TemplateTexts): string {
  const title = texts.title ?? subjectLine(message)
  const words = texts.body ?? outlineText(message, links, home, (body) => Buffer.byteLength(body) < MOST_BYTES)
  const [first] = message.data.alerts.length === 1 ? outlineOf(message, links).flatMap(({ actions }) => actions) : []
  const priority = PRIORITY[badgeOfMessage(message)] ?? 3
  return JSON.stringify({ topic, title, message: words, priority, click: first?.url ?? home })
}
