import * as z from 'zod'
import { secret, webAddress } from '../../../../config/secrets.ts'
import { plainText } from '../../../../config/values.ts'
import type { Message } from '../../../alerts/alert.ts'
import { Secret } from '../../../runtime/secret.ts'
import { outlineOf, outlineText } from '../../describe/outline.ts'
import { badgeOfMessage } from '../../describe/subject.ts'
import { markOf } from '../../receiver.ts'
import { messageTemplate, type TemplateTexts } from '../../templates/message-template.ts'
import { createBodyReceiver } from '../body-receiver.ts'
import { digest, insecureHttp, posted, templates } from '../common-settings.ts'
import { createPost, postWayOut, reachAddress } from '../http-post.ts'
import { type BodyContext, linksOfChannel, type ReceiverKind, type SettingsOf } from '../receiver-kind.ts'

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
    template: templates('title', 'body'),
    digest: digest().exactOptional(),
    insecure: insecureHttp(),
  }),
)

export const ntfy = {
  settings: ntfySettings,
  create({ url, topic, token, template }, context) {
    const { receiver: name } = context
    const post = { ...createPost({ name, url: new Secret(`${url}/`) }), address: markOf(`${url}/${topic}`) }
    const shown = { ...context, links: linksOfChannel(context.links) }
    const headers = token === undefined ? {} : { authorization: `Bearer ${token.reveal()}` }
    const textsOf = messageTemplate(template, { mostBytes: MOST_BYTES - 1 })
    return createBodyReceiver({
      ...{ name, type: 'ntfy', post, headers },
      render(message) {
        const texts = textsOf(message, shown)
        return { body: ntfyBody(message, topic, shown, texts), fault: texts.fault }
      },
    })
  },
  reach: ({ url }, how) => reachAddress({ url: new Secret(url) }, how),
  wayOut: (place, answer) => postWayOut(place, answer, 'token'),
} satisfies ReceiverKind<SettingsOf<typeof ntfySettings>>

/** Plain text: ntfy reads no markup of its own accord. */
function ntfyBody(message: Message, topic: string, { home, links = {} }: BodyContext, texts: TemplateTexts): string {
  const outline = outlineOf(message, links)
  const title = texts.title ?? outline.subject
  const words = texts.body ?? outlineText(outline, home, (body) => Buffer.byteLength(body) < MOST_BYTES)
  const [first] = message.data.alerts.length === 1 ? outline.parts.flatMap(({ actions }) => actions) : []
  const priority = PRIORITY[badgeOfMessage(message)] ?? 3
  return JSON.stringify({ topic, title, message: words, priority, click: first?.url ?? home })
}
