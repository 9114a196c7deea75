import * as z from 'zod'
import type { AttemptOutcome } from '../../receiver.ts'
import { messageTemplate } from '../../templates/message-template.ts'
import { escapeMarkup } from '../../templates/own-links.ts'
import { createBodyReceiver } from '../body-receiver.ts'
import { digest, insecureHttp, postAddress, posted, templates } from '../common-settings.ts'
import { createPost, goneFor, type PostAnswer, postWayOut, reachAddress } from '../http-post.ts'
import { linksOfChannel, type ReceiverKind, type SettingsOf } from '../receiver-kind.ts'
import { escaped, MOST_TEXT, slackBody } from './slack-body.ts'

const slackSettings = posted(
  z.strictObject({
    type: z.literal('slack').describe('A message per group of alerts, by an incoming webhook of Slack.'),
    url: postAddress().describe('The address of the incoming webhook.'),
    template: templates('title', 'body'),
    digest: digest().exactOptional(),
    insecure: insecureHttp(),
  }),
)

export const slack = {
  settings: slackSettings,
  create({ url, template }, context) {
    const { receiver: name } = context
    const shown = { ...context, links: linksOfChannel(context.links) }
    const withoutSigns = escapeMarkup(context.home)
    const escapeField = (text: string) => escaped(withoutSigns(text))
    const textsOf = messageTemplate(template, { escapeField, mostBytes: MOST_TEXT })
    return createBodyReceiver({
      ...{ name, type: 'slack', post: createPost({ name, url }, readSlack) },
      render(message) {
        const texts = textsOf(message, shown)
        return { body: slackBody(message, shown, texts), fault: texts.fault }
      },
    })
  },
  reach: reachAddress,
  wayOut: postWayOut,
} satisfies ReceiverKind<SettingsOf<typeof slackSettings>>

/** A hook that was taken away never comes back; its channel may. */
function readSlack(answer: PostAnswer): AttemptOutcome {
  const isRevoked = answer.status === 400 && answer.body.includes('invalid_token')
  return goneFor(404, 410, ...(isRevoked ? [400] : []))(answer)
}
