import * as z from 'zod'
import type { Message } from '../../../alerts/alert.ts'
import { outlineOf, outlineText } from '../../describe/outline.ts'
import { badgeOfMessage } from '../../describe/subject.ts'
import type { AttemptOutcome } from '../../receiver.ts'
import { messageTemplate, type TemplateTexts } from '../../templates/message-template.ts'
import { createBodyReceiver } from '../body-receiver.ts'
import { digest, insecureHttp, postAddress, posted, templates } from '../common-settings.ts'
import { createPost, type PostAnswer, postWayOut, reachAddress, readAnswer } from '../http-post.ts'
import { type BodyContext, linksOfChannel, type ReceiverKind, type SettingsOf } from '../receiver-kind.ts'

/** Some of the services behind it take far less, and split or cut it. */
const MOST_CHARACTERS = 4_000
const TYPES: Record<string, string> = { CRITICAL: 'failure', WARNING: 'warning', RESOLVED: 'success' }

const appriseSettings = posted(
  z.strictObject({
    type: z
      .literal('apprise')
      .describe('A notification per group of alerts, by an Apprise API, which reaches a hundred services.'),
    url: postAddress().describe(
      'The address with the key of its configuration: https://apprise.example.com/notify/KEY.',
    ),
    template: templates('title', 'body'),
    digest: digest().exactOptional(),
    insecure: insecureHttp(),
  }),
)

export const apprise = {
  settings: appriseSettings,
  create({ url, template }, context) {
    const { receiver: name } = context
    const shown = { ...context, links: linksOfChannel(context.links) }
    const textsOf = messageTemplate(template, { mostBytes: MOST_CHARACTERS })
    return createBodyReceiver({
      ...{ name, type: 'apprise', post: createPost({ name, url }, readApprise) },
      render(message) {
        const texts = textsOf(message, shown)
        return { body: appriseBody(message, shown, texts), fault: texts.fault }
      },
    })
  },
  reach: reachAddress,
  wayOut: (place, answer) =>
    answer === 204
      ? `check ${place}.url: Apprise has no configuration under this key`
      : answer === 424
        ? 'see the log of Apprise: it names the service that failed'
        : postWayOut(place, answer),
} satisfies ReceiverKind<SettingsOf<typeof appriseSettings>>

function appriseBody(message: Message, { home, links = {} }: BodyContext, texts: TemplateTexts): string {
  const outline = outlineOf(message, links)
  const body = texts.body ?? outlineText(outline, home, (words) => words.length <= MOST_CHARACTERS)
  return JSON.stringify({
    title: texts.title ?? outline.subject,
    body,
    type: TYPES[badgeOfMessage(message)] ?? 'info',
    format: 'text',
  })
}

/** Its 204 says that nothing was sent. A 424 may be all of its services: rather twice to some than never to all. */
function readApprise(answer: PostAnswer): AttemptOutcome {
  const { status } = answer
  if (status === 204)
    return {
      outcome: 'retry',
      answer: status,
      reason: 'answered 204: no configuration under this key, nothing was sent',
    }
  if (status === 424)
    return {
      outcome: 'retry',
      answer: status,
      reason: 'answered 424: a service behind Apprise failed, others may have it',
    }
  return readAnswer(answer)
}
