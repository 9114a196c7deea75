import * as z from 'zod'
import type { Message } from '../../../alerts/alert.ts'
import { outlineText } from '../../describe/outline.ts'
import { badgeOfMessage, subjectLine } from '../../describe/subject.ts'
import type { TemplateTexts } from '../../templates/message-template.ts'
import { createBodyReceiver } from '../body-receiver.ts'
import { messageSettings, postAddress, posted } from '../common-settings.ts'
import { createPost, postWayOut, readService } from '../http-post.ts'
import { reachAddress } from '../reach-address.ts'
import type { BodyContext, ReceiverKind, SettingsOf } from '../receiver-kind.ts'

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
    ...messageSettings(),
  }),
)

export const apprise = {
  settings: appriseSettings,
  create: ({ url, template }, context) =>
    createBodyReceiver(context, {
      type: 'apprise',
      template,
      bodyOf: appriseBody,
      texts: { mostBytes: MOST_CHARACTERS },
      post: createPost({ name: context.receiver, proxyFor: context.proxyFor, url }, readApprise),
    }),
  reach: reachAddress,
  wayOut: (place, answer) =>
    answer === 204
      ? `check ${place}.url: Apprise has no configuration under this key`
      : answer === 424
        ? 'see the log of Apprise: it names the service that failed'
        : postWayOut(place, answer),
} satisfies ReceiverKind<SettingsOf<typeof appriseSettings>>

function appriseBody(message: Message, { home, links = {} }: BodyContext, texts: TemplateTexts): string {
  const body = texts.body ?? outlineText(message, links, home, (words) => words.length <= MOST_CHARACTERS)
  return JSON.stringify({
    title: texts.title ?? subjectLine(message),
    body,
    type: TYPES[badgeOfMessage(message)] ?? 'info',
    format: 'text',
  })
}

/** A 424 may be all of its services: rather twice to some than never to all. */
const readApprise = readService(
  { status: 204, is: 'later', why: 'no configuration under this key, nothing was sent' },
  { status: 424, is: 'later', why: 'a service behind Apprise failed, others may have it' },
  { status: 413, is: 'message' },
)
