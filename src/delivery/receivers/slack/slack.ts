import * as z from 'zod'
import type { AttemptOutcome } from '../../receiver.ts'
import { escapeMarkup } from '../../templates/own-links.ts'
import { createBodyReceiver } from '../body-receiver.ts'
import { messageSettings, postAddress, posted } from '../common-settings.ts'
import { createPost, goneFor, type PostAnswer, postWayOut, reachAddress } from '../http-post.ts'
import type { ReceiverKind, SettingsOf } from '../receiver-kind.ts'
import { escaped, MOST_TEXT, slackBody } from './slack-body.ts'

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
      ...{ type: 'slack', template, bodyOf: slackBody },
      post: createPost({ name: context.receiver, url }, readSlack),
      texts: { escapeField: (text) => escaped(escapeMarkup(context.home)(text)), mostBytes: MOST_TEXT },
    }),
  reach: reachAddress,
  wayOut: postWayOut,
} satisfies ReceiverKind<SettingsOf<typeof slackSettings>>

/** A hook that was taken away never comes back; its channel may. */
function readSlack(answer: PostAnswer): AttemptOutcome {
  const isRevoked = answer.status === 400 && answer.body.includes('invalid_token')
  return goneFor(404, 410, ...(isRevoked ? [400] : []))(answer)
}
