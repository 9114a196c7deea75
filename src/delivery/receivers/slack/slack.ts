import * as z from 'zod'
import type { AttemptOutcome } from '../../receiver.ts'
import { digest, insecureHttp, postAddress, posted } from '../common-settings.ts'
import { createPost, goneFor, type PostAnswer, postWayOut, reachAddress } from '../http-post.ts'
import { linksOfChannel, type ReceiverKind, type SettingsOf } from '../receiver-kind.ts'
import { slackBody } from './slack-body.ts'

const slackSettings = posted(
  z.strictObject({
    type: z.literal('slack').describe('A message per group of alerts, by an incoming webhook of Slack.'),
    url: postAddress().describe('The address of the incoming webhook.'),
    digest: digest().exactOptional(),
    insecure: insecureHttp(),
  }),
)

export const slack = {
  settings: slackSettings,
  create({ url }, context) {
    const { receiver: name } = context
    const { post, ...asIs } = createPost({ name, url }, readSlack)
    const shown = { ...context, links: linksOfChannel(context.links) }
    return {
      ...{ name, type: 'slack', ...asIs },
      send: ({ message, now }, signal) => post({ body: slackBody(message, shown), now, signal }),
    }
  },
  reach: reachAddress,
  wayOut: postWayOut,
} satisfies ReceiverKind<SettingsOf<typeof slackSettings>>

/** A hook that was taken away never comes back; its channel may. */
function readSlack(answer: PostAnswer): AttemptOutcome {
  const isRevoked = answer.status === 400 && answer.body.includes('invalid_token')
  return goneFor(404, 410, ...(isRevoked ? [400] : []))(answer)
}
